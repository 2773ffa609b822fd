"""Identities stay apart where many sessions run at once, and come together where a carrier leads."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from recorded import run_python, start_python
from rl_insight.read.session import session
from rl_insight.read.sessions import sessions
from stored import project

PROCESSES, SESSIONS = 4, 50

MANY = """
    import asyncio, random, sys
    import rl_insight as insight

    rank, count = int(sys.argv[1]), int(sys.argv[2])
    insight.init(config={"run": "many"}, role="rollout", rank=rank)
    luck = random.Random(rank)

    async def one(number):
        name = f"{rank}-{number}"
        with insight.task(f"task-{rank}-{number % 10}"):
            async with insight.session(name):
                for turn in range(2):
                    with insight.turn(turn):
                        await asyncio.gather(inner(name, "a"), inner(name, "b"))
                        await asyncio.to_thread(insight.log, "info", f"log of {name}")
            insight.finish_session(name, "accepted", reward=float(number))

    async def inner(name, which):
        async with insight.phase(f"own {name}"):
            await asyncio.sleep(luck.random() / 50)
            with insight.trace_span(f"span of {name}"):
                insight.fact("tool.call.started", {"session": name})
                await asyncio.sleep(luck.random() / 50)

    async def main():
        await asyncio.gather(*(one(number) for number in range(count)))

    asyncio.run(main())
    insight.close()
"""


def test_two_hundred_sessions_at_once_in_four_processes_keep_their_identities(tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    running = [
        start_python(MANY, tmp_path, str(rank), str(SESSIONS), RL_INSIGHT_SINK="file", RL_INSIGHT_DIR=str(folder))
        for rank in range(PROCESSES)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    store = project(folder, tmp_path / "data")
    try:
        page = sessions(store, "many", limit=1000)
        assert page.total == PROCESSES * SESSIONS
        for one in page.sessions:
            rank, _, number = one.session.partition("-")
            assert one.worker == f"rollout-{rank}"
            assert one.task == f"task-{rank}-{int(number) % 10}"
            assert [(phase.name, phase.count) for phase in one.phases] == [(f"own {one.session}", 4)]
            assert (one.turns, one.status, one.reward) == (2, "accepted", float(number))
        strays = """
            SELECT count(*) FROM (
                SELECT session, name FROM span WHERE part = 'phase' OR part IS NULL
                UNION ALL SELECT session, name FROM log
            ) WHERE session IS NULL OR NOT contains(name, session)
        """
        assert store.rows(strays).rows == [(0,)]
        mistagged = """
            SELECT count(*) FROM fact_tag JOIN fact USING (proc, seq)
            WHERE tag = 'session' AND fact.name = 'tool.call.started' AND fact.session <> value
        """
        assert store.rows(mistagged).rows == [(0,)]
        crossed = "SELECT count(*) FROM span AS c JOIN span AS p ON c.parent = p.id WHERE c.session <> p.session"
        assert store.rows(crossed).rows == [(0,)]
    finally:
        store.close()


CARRIED = """
    import multiprocessing, threading, urllib.request
    from http.server import BaseHTTPRequestHandler, HTTPServer
    import rl_insight as insight

    def child(carrier, answer):
        insight.init(role="reward", rank=0)
        with insight.extract(carrier), insight.phase("reward"):
            insight.fact("reward.score.answered", {"reward": "r"})
        insight.close()
        answer.send("done")

    def server(pipe):
        insight.init(role="tool", rank=0)

        class Tool(BaseHTTPRequestHandler):
            def do_GET(self):
                with insight.extract(self.headers), insight.phase("tool", tool="search"):
                    insight.log("info", "looking it up")
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        listening = HTTPServer(("127.0.0.1", 0), Tool)
        pipe.send(listening.server_port)
        listening.handle_request()
        insight.close()

    if __name__ == "__main__":
        insight.init(config={"run": "carried"}, role="rollout", rank=0)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        tool = context.Process(target=server, args=(theirs,))
        tool.start()
        port = ours.recv()
        with insight.task("t"), insight.session("s"), insight.turn(1):
            with insight.trace_span("http call"):
                request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers=dict(insight.inject()))
                urllib.request.urlopen(request, timeout=30).read()
            answer, other = context.Pipe()
            judge = context.Process(target=child, args=(dict(insight.inject()), other))
            judge.start()
            answer.recv()
        judge.join()
        tool.join()
        insight.close()
"""


def test_a_carrier_joins_parent_and_child_through_multiprocessing_and_http(tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    script = tmp_path / "carried.py"
    script.write_text(textwrap.dedent(CARRIED))
    runner = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    run_python(runner, tmp_path, str(script), RL_INSIGHT_SINK="file", RL_INSIGHT_DIR=str(folder))
    store = project(folder, tmp_path / "data")
    try:
        story = session(store, "s", "carried")
    finally:
        store.close()
    shown = [(span.depth, span.kind, span.name, span.worker) for span in story.spans]
    assert shown == [
        (0, "session", "session", "rollout-0"),
        (1, "turn", "turn", "rollout-0"),
        (2, "span", "http call", "rollout-0"),
        (3, "phase", "tool", "tool-0"),
        (2, "phase", "reward", "reward-0"),
    ]
    assert [(log.message, log.worker) for log in story.logs] == [("looking it up", "tool-0")]
    assert [(fact.name, fact.worker) for fact in story.facts] == [("reward.score.answered", "reward-0")]
    assert {phase.name: phase.count for phase in story.session.phases} == {"tool": 1, "reward": 1}
    assert story.session.tool_s > 0
    assert story.session.reward_s > 0
    assert json.dumps(story.spans[3].attrs) == '{"tool": "search"}'
