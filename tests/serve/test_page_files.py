"""The page's own files: what protects them, what caches them, and what is said when they are not there."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette

from harness import Server, wait_until
from rl_insight.serve import page
from rl_insight.serve.problems import Problem, answer_problem
from rl_insight.serve.server import bind

HTML = {"Accept": "text/html"}


class Answer:
    """What the server said; header names are as in the response."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.content = response.read()


class Client:
    """Asks for paths exactly as they are written."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=dict(headers or {}))
        return Answer(connection.getresponse())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A server of the page alone, with a build of two files."""
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>")
    (assets / "app-1a2b.js").write_text("let x = 1;")
    (assets / "app-1a2b.js.gz").write_bytes(gzip.compress(b"let x = 1;"))
    (tmp_path / "secret.json").write_text("private")
    monkeypatch.setattr(page, "STATIC", tmp_path)
    app = Starlette(routes=page.ROUTES, exception_handlers={Problem: answer_problem})
    listener = bind("127.0.0.1", 0, auto_port=False)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield Client(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def test_nothing_but_our_own_files_may_run(client: Client) -> None:
    policy = client.get("/", headers=HTML).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_assets_are_cached_for_ever_and_the_page_is_not(client: Client) -> None:
    assert "immutable" in client.get("/assets/app-1a2b.js").headers["cache-control"]
    first = client.get("/", headers=HTML)
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/", headers={**HTML, "If-None-Match": first.headers["etag"]})
    assert (again.status, again.content) == (304, b"")


def test_a_rebuilt_page_has_another_tag(client: Client) -> None:
    before = client.get("/", headers=HTML).headers["etag"]
    (page.STATIC / "index.html").write_text("<!doctype html><p>new")
    assert client.get("/", headers=HTML).headers["etag"] != before


def test_files_come_compressed_to_those_who_take_it(client: Client) -> None:
    packed = client.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.content) == b"let x = 1;"
    plain = client.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == b"let x = 1;"


@pytest.mark.parametrize(
    "name", ["../secret.json", "%2e%2e/secret.json", "..%2fsecret.json", "nothing.js", "", "app-1a2b.js.gz"]
)
def test_nothing_else_is_served(client: Client, name: str) -> None:
    answer = client.get(f"/assets/{name}")
    assert answer.status == 404
    assert b"private" not in answer.content


def test_without_a_build_the_server_says_how_to_get_the_page(client: Client) -> None:
    (page.STATIC / "index.html").unlink()
    answer = client.get("/", headers=HTML)
    assert answer.status == 503
    assert b"make page" in answer.content


def test_programs_get_the_list_of_routes_where_browsers_get_the_page(client: Client) -> None:
    assert json.loads(client.get("/", headers={"Accept": "application/json"}).content)["name"] == "rl-insight"


def test_page_loads_without_the_token_and_its_data_does_not(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", settings={"token": "a-token-of-some-length"}).start()
    try:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        connection.request("GET", "/", headers=HTML)
        assert connection.getresponse().read() is not None
        for path in ("/api/v1/runs", "/api/v1/live", "/api/v1/health", "/api/v1/questions/runs", "/v1/lines"):
            assert server.request("GET", path, headers={"Accept": "text/html"}).status == 401, path
    finally:
        server.stop()
