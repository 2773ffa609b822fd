"""Dashboards go into a running Grafana. None runs here: a server that checks what it is sent stands in for one."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness import command
from rl_insight.stack.grafana_api import Grafana, GrafanaRefused
from shown import DASHBOARDS

TOKEN = "glsa_secret"


class FakeGrafana(ThreadingHTTPServer):
    """Answers as Grafana's documents say: folders, dashboards, 401, 403, and dashboards that came from files."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folders: dict[str, str] = {}
        self.dashboards: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.refusal: tuple[int, str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeGrafana

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        assert self.headers["Content-Type"] == "application/json"
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Any) -> None:
        grafana = self.server
        grafana.asked.append(f"{self.command} {self.path}")
        basic = base64.b64encode(b"admin:pass word").decode()
        if self.headers.get("Authorization") not in (f"Bearer {TOKEN}", f"Basic {basic}"):
            return self._say(401, {"message": "Unauthorized"})
        path = self.path.removeprefix("/grafana")
        if body is not None and grafana.refusal is not None and path == "/api/dashboards/db":
            return self._say(grafana.refusal[0], {"message": grafana.refusal[1]})
        if self.command == "GET" and path.startswith("/api/folders/"):
            uid = path.rpartition("/")[2]
            known = uid in grafana.folders
            return self._say(200 if known else 404, {"uid": uid} if known else {"message": "folder not found"})
        if path == "/api/folders":
            assert set(body) == {"uid", "title"}
            if body["uid"] in grafana.folders:
                return self._say(409, {"message": "a folder with the same uid already exists"})
            grafana.folders[body["uid"]] = body["title"]
            return self._say(200, {"uid": body["uid"]})
        if path == "/api/dashboards/db":
            dashboard = body["dashboard"]
            assert body["overwrite"] is True
            assert body["folderUid"] in grafana.folders
            assert dashboard["id"] is None
            assert len(dashboard["uid"]) <= 40
            before = grafana.dashboards.get(dashboard["uid"], {"version": 0})
            grafana.dashboards[dashboard["uid"]] = {**dashboard, "version": before["version"] + 1}
            return self._say(200, {"status": "success", "url": f"/d/{dashboard['uid']}/x", "uid": dashboard["uid"]})
        return self._say(404, {"message": "Not found"})

    def _say(self, status: int, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def grafana() -> Iterator[FakeGrafana]:
    server = FakeGrafana()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_importing_makes_the_folder_and_puts_every_dashboard_there(grafana: FakeGrafana) -> None:
    done = command("dashboards", "import", "--grafana", grafana.url, GRAFANA_TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    assert grafana.folders == {"rl-insight": "RL-Insight"}
    assert set(grafana.dashboards) == {one["uid"] for one in DASHBOARDS.values()}
    assert f"{grafana.url}/d/rl-insight-overview/x" in done.stdout
    for dashboard in DASHBOARDS.values():
        there = grafana.dashboards[dashboard["uid"]]
        assert {**there, "version": 0, "id": None} == {**dashboard, "version": 0, "id": None}


def test_importing_again_changes_nothing_but_the_version(grafana: FakeGrafana) -> None:
    for _ in range(2):
        Grafana(grafana.url, token=TOKEN).put_all()
    assert len(grafana.folders) == 1
    assert len(grafana.dashboards) == len(DASHBOARDS)
    assert grafana.asked.count("POST /api/folders") == 1


def test_user_and_password_and_a_path_work_too(grafana: FakeGrafana) -> None:
    Grafana(f"{grafana.url}/grafana/", user="admin", password="pass word").put_all()
    assert all("/grafana/api/" in asked for asked in grafana.asked)


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        ((403, "Permissions needed: dashboards:write"), "needs the role Editor"),
        ((400, "Cannot save provisioned dashboard"), "it has them already"),
        ((500, "database is locked"), "500 database is locked"),
    ],
)
def test_what_grafana_refuses_is_explained(grafana: FakeGrafana, refusal: tuple[int, str], says: str) -> None:
    grafana.refusal = refusal
    with pytest.raises(GrafanaRefused, match=says):
        Grafana(grafana.url, token=TOKEN).put_all()


def test_a_wrong_token_a_wrong_address_and_nobody_there_are_told_apart(grafana: FakeGrafana) -> None:
    done = command("dashboards", "import", "--grafana", grafana.url, "--token", "guessed")
    assert done.returncode == 1
    assert "does not know who is asking (401 Unauthorized)" in done.stderr
    assert "do: give --token of a service account" in done.stderr
    assert "guessed" not in done.stderr
    with pytest.raises(GrafanaRefused, match="no answer from"):
        Grafana("127.0.0.1:1", token=TOKEN).put_all()
    with pytest.raises(GrafanaRefused, match="is no address of a Grafana"):
        Grafana("ftp://x")


def test_exporting_writes_dashboards_and_rules(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "rl-insight-gone.json").write_text("{}")
    (folder / "theirs.json").write_text("{}")
    done = command("dashboards", "export", str(folder))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir()} == {
        "theirs.json",
        "rl-insight-alerts.yaml",
        *(f"rl-insight-{name}" for name in DASHBOARDS),
    }
    assert json.loads((folder / "rl-insight-overview.json").read_text()) == DASHBOARDS["overview.json"]
