"""The page in a real browser, on a real server that a real demo run has filled."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import Server, clean_environment

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CHROMIUM = [os.environ.get("CHROMIUM", ""), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]

missing = [
    what
    for what, there in {
        "Node (apt-get install nodejs npm)": shutil.which("node"),
        "the page's packages (make page)": (ROOT / "web" / "node_modules" / "playwright-core").is_dir(),
        "the built page (make page)": (ROOT / "src" / "rl_insight" / "serve" / "static" / "index.html").is_file(),
        "Chromium (make chromium)": any(place and Path(place).exists() for place in CHROMIUM),
    }.items()
    if not there
]
pytestmark = [
    pytest.mark.skipif(bool(missing), reason=f"THE PAGE IS NOT TESTED, because this is not here: {', '.join(missing)}"),
    pytest.mark.timeout(600),
]

NASTY = "<img src=x onerror=hacked()>"


def demo(server: Server, run: str, *options: str) -> subprocess.Popen[bytes]:
    """A demo run into the server."""
    environment = {**clean_environment(), "RL_INSIGHT_RUN": run, "RL_INSIGHT_SERVER_URL": server.url}
    command = [sys.executable, "-m", "rl_insight.demo", "--workers", "2", "--speed", "4", *options]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)


def nasty_lines(run: str, proc: str) -> bytes:
    """A run whose every text is markup."""
    ts = 1_794_000_000_000_000_000
    common = {"proc": proc, "name": "<script>alert(1)</script>"}
    bold = "<b onclick=hacked()>bold</b>"
    lines = [
        {
            "kind": "process",
            "run": run,
            "schema": "1.0",
            "role": NASTY,
            "node": NASTY,
            "project": bold,
            "state": "finished",
        },
        {"kind": "span", "dur": 10**9, "id": "1", "lane": NASTY, "part": "state", "attrs": {bold: bold}},
        {"kind": "span", "dur": 10**9, "id": "2", "task": NASTY, "session": NASTY, "part": "session", "reason": bold},
        {"kind": "fact", "tags": {"session": NASTY, "note": bold}, "peer": NASTY, "reason": bold, "attrs": {"a": bold}},
        {"kind": "gauge", "value": 1.0, "step": 1, "labels": {"worker": NASTY}},
        {"kind": "log", "level": "error", "attrs": {"a": bold}},
    ]
    return b"".join(
        json.dumps({**common, "seq": seq, "ts": ts + seq * 10**9, **line}).encode() + b"\n"
        for seq, line in enumerate(lines, 1)
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with runs of the demo, with a straggler, with none and with lost weights, and a run full of markup."""
    server = Server(tmp_path_factory.mktemp("page") / "data").start()
    runs = [
        demo(server, "main", "--workers", "3", "--steps", "12", "--fault", "straggler", "--fault-step", "4"),
        demo(server, "other", "--steps", "8"),
        demo(server, "team/lost", "--steps", "24", "--fault", "lost-weights", "--fault-step", "2"),
    ]
    assert [run.wait(300) for run in runs] == [0, 0, 0]
    assert server.request("POST", "/v1/lines", nasty_lines(NASTY, "nasty")).status == 200
    yield server
    server.stop()


def walk(server: Server, scenario: str, picture: Path, **does: Callable[[str], str]) -> None:
    """Run a scenario of walk.mjs; what it asks for is done here, and its answer told."""
    node = subprocess.Popen(
        ["node", str(HERE / "walk.mjs"), server.url, scenario],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PICTURE": str(picture)},
    )
    assert node.stdin
    assert node.stdout
    assert node.stderr
    for line in node.stdout:
        word, _, rest = line.strip().removeprefix("ask ").partition(" ")
        node.stdin.write(does[word](rest) + "\n")
        node.stdin.flush()
    trouble = node.stderr.read()
    assert node.wait(60) == 0, trouble


SCENARIOS = [
    "views",
    "timeline",
    "flows",
    "straggler",
    "session",
    "link",
    "keyboard",
    "compare",
    "metrics",
    "facts",
    "text",
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_page(filled: Server, scenario: str, tmp_path: Path) -> None:
    walk(filled, scenario, tmp_path / scenario)


def test_page_reconnects_after_the_server_was_restarted(filled: Server, tmp_path: Path) -> None:
    def stop(_: str) -> str:
        filled.stop()
        return "stopped"

    def start(_: str) -> str:
        filled.start()
        return "started"

    def record(run: str) -> str:
        line = {"kind": "process", "proc": "late", "seq": 1, "ts": 1_794_000_000_000_000_000, "name": "process"}
        body = json.dumps({**line, "run": run, "schema": "1.0"}).encode() + b"\n"
        return str(filled.request("POST", "/v1/lines", body).status)

    walk(filled, "reconnect", tmp_path / "reconnect", stop=stop, start=start, record=record)


@pytest.mark.parametrize("scenario", ["live", "hung"])
def test_page_shows_a_run_as_it_happens(filled: Server, scenario: str, tmp_path: Path) -> None:
    running: list[subprocess.Popen[bytes]] = []

    def begin(asked: str) -> str:
        run, *options = asked.split()
        running.append(demo(filled, run, "--steps", "1000", *options))
        return "started"

    def end(_: str) -> str:
        while running:
            # All its processes at once: told to stop, it would give one that hangs its time.
            os.killpg(running[-1].pid, signal.SIGKILL)
            running.pop().wait(60)
        return "ended"

    try:
        walk(filled, scenario, tmp_path / scenario, demo=begin, end=end)
    finally:
        end("")


def test_page_asks_for_the_token(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", settings={"token": "a-token-of-some-length"}).start()
    try:
        walk(server, "token", tmp_path / "token", token=lambda _: "a-token-of-some-length")
    finally:
        server.stop()


def test_page_without_a_run_says_what_to_do(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    try:
        walk(server, "empty", tmp_path / "empty")
    finally:
        server.stop()
