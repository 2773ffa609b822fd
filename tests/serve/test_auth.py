"""Private by default: loopback without a token, a token everywhere else."""

import socket
from pathlib import Path

import pytest

from harness import Server, batch, running_server


def test_loopback_needs_no_token_and_makes_none(server: Server) -> None:
    assert server.post(batch("p", 1, 1)).status == 200
    assert not (server.data_dir / "token").exists()


@pytest.fixture
def public(tmp_path: Path):  # type: ignore[no-untyped-def]
    with running_server(tmp_path / "data", "--host", "0.0.0.0") as server:
        yield server


def test_any_other_bind_makes_a_token_only_its_owner_can_read(public: Server) -> None:
    path = public.data_dir / "token"
    assert path.stat().st_mode & 0o777 == 0o600
    token = path.read_text().strip()
    assert len(token) >= 24
    assert f"/?token={token}" in public.output()


def test_without_the_token_only_healthz_answers(public: Server) -> None:
    for method, path in [("POST", "/v1/lines"), ("GET", "/"), ("GET", "/api/v1/status"), ("GET", "/api/v1/tail")]:
        answer = public.request(method, path, b"" if method == "POST" else None)
        assert answer.status == 401
        assert "RL_INSIGHT_TOKEN" in answer.body["error"]
    assert public.request("POST", "/api/v1/query", b'{"sql":"SELECT 1"}').status == 401
    assert public.request("DELETE", "/api/v1/runs/x").status == 401
    assert public.request("GET", "/healthz").body == {"status": "ok"}


@pytest.mark.parametrize("given", ["Bearer wrong", "Bearer ", "Basic abc", "Bearer \xff\xfe", "bearer"])
def test_a_wrong_token_is_refused(public: Server, given: str) -> None:
    assert public.request("GET", "/api/v1/status", headers={"Authorization": given}).status == 401


def test_the_token_opens_the_door_as_header_link_or_cookie(public: Server) -> None:
    token = (public.data_dir / "token").read_text().strip()
    assert public.request("GET", "/api/v1/status", headers={"Authorization": f"Bearer {token}"}).status == 200
    linked = public.request("GET", f"/?token={token}")
    assert linked.status == 200
    cookie = linked.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert public.request("GET", "/api/v1/status", headers={"Cookie": cookie.partition(";")[0]}).status == 200
    assert public.request("GET", "/?token=wrong").status == 401


def test_the_token_stays_the_same_over_restarts(tmp_path: Path) -> None:
    tokens = set()
    for _ in range(2):
        with running_server(tmp_path / "data", "--host", "0.0.0.0") as server:
            tokens.add((server.data_dir / "token").read_text())
    assert len(tokens) == 1


def test_a_configured_token_is_wanted_on_loopback_too(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", settings={"token": "chosen-by-me"}) as server:
        assert server.post(batch("p", 1, 1)).status == 401
        server.token = "chosen-by-me"
        assert server.post(batch("p", 1, 1)).status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:18080", "127.0.0.1.evil.example", "10.0.0.1", ""])
def test_a_rebound_name_is_refused_where_no_token_is_needed(server: Server, host: str) -> None:
    assert server.request("GET", "/api/v1/status", headers={"Host": host}).status == 403


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:18080", "LOCALHOST"])
def test_loopback_names_are_answered(server: Server, host: str) -> None:
    assert server.request("GET", "/api/v1/status", headers={"Host": host}).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://["])
def test_pages_of_other_sites_cannot_post(server: Server, origin: str) -> None:
    assert server.post(batch("p", 1, 1), {"Origin": origin}).status == 403


def test_our_own_page_can_post(server: Server) -> None:
    assert server.post(batch("p", 1, 1), {"Origin": f"http://127.0.0.1:{server.port}"}).status == 200


def test_a_request_without_a_host_is_answered(server: Server) -> None:
    with socket.create_connection((server.host, server.port)) as stream:
        stream.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200 OK" in stream.recv(4096)
