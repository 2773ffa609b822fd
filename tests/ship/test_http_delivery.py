"""Delivery over HTTP: in order, once, whatever the other side answers."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import rl_insight as insight
from listener import Behaviour, Listener, Request, accept, drop, drop_amid_the_answer, hang, status
from recorded import named, of_kind, wait_until

Send = Callable[..., None]


def gauges(listener: Listener) -> list[float]:
    return [line["value"] for line in named(listener.lines(), "x")]


def record(count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        insight.metric_gauge("x", number)


def all_in_order(listener: Listener) -> None:
    """Every number from 1, once, in order."""
    lines = listener.lines()
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))


def test_lines_arrive_in_order_with_the_token(listener: Listener, send_to: Send) -> None:
    send_to(token=" t0ken\n", batch_lines=100)
    record(1000)
    assert insight.flush()
    assert gauges(listener) == list(range(1000))
    all_in_order(listener)
    assert len(listener.requests) >= 10
    assert {request.headers["Authorization"] for request in listener.requests} == {"Bearer t0ken"}
    assert {request.path for request in listener.requests} == {"/v1/lines"}
    assert len({request.client for request in listener.requests}) == 1
    status = insight.status()
    assert (status.sent, status.lost, status.last_error, status.sink) == (1001, 0, "", listener.url)


@pytest.mark.parametrize(
    "behaviour",
    [
        status(401),
        status(403),
        status(404),
        status(429, Retry_After="0"),
        status(500),
        status(503, Retry_After="nonsense"),
        status(507),
        status(400, body=b"<html>plain HTTP sent to an HTTPS port</html>"),
        status(415),
        status(302, Location="http://elsewhere/"),
        status(200, body=b"<html>welcome to the hotel's network</html>"),
        status(200, body={"accepted": "yes"}),
        drop,
        drop_amid_the_answer,
    ],
    ids=["401", "403", "404", "429", "500", "503", "507", "proxy 400", "415", "302", "200", "200 too", "drop", "amid"],
)
def test_after_any_failure_the_same_lines_follow_in_order(
    listener: Listener, send_to: Send, behaviour: Behaviour
) -> None:
    listener.plan.extend([behaviour, status(500), behaviour] if behaviour is not drop_amid_the_answer else [behaviour])
    send_to(batch_lines=50)
    record(300)
    assert insight.flush(20)
    assert gauges(listener) == list(range(300))
    all_in_order(listener)
    assert insight.status().lost == 0
    assert insight.status().duplicates == listener.duplicates
    assert insight.status().last_error == ""


def test_a_server_that_hangs_is_given_up_and_tried_again(listener: Listener, send_to: Send) -> None:
    listener.plan.append(hang)
    send_to(timeout=0.2)
    record(10)
    assert insight.flush(20)
    assert gauges(listener) == list(range(10))


def test_flush_says_when_lines_were_not_delivered(listener: Listener, send_to: Send) -> None:
    listener.behaviour = status(500)
    send_to()
    record(10)
    assert not insight.flush(0.3)
    assert "500" in insight.status().last_error
    assert insight.status().buffered == 11
    listener.behaviour = accept
    assert insight.flush(20)
    assert insight.status().buffered == 0


def test_a_wait_that_the_server_asks_for_is_honoured_even_in_a_hurry(listener: Listener, send_to: Send) -> None:
    listener.plan.append(status(429, Retry_After="3600"))
    send_to()
    wait_until(lambda: insight.status().last_error, "the refusal")
    record(10)
    assert not insight.flush(0.5)
    insight.close(timeout=0.5)
    assert len(listener.requests) == 1


def test_after_the_wait_lines_are_sent(listener: Listener, send_to: Send) -> None:
    listener.plan.append(status(429, Retry_After="0.3"))
    send_to()
    record(10)
    assert insight.flush(20)
    assert gauges(listener) == list(range(10))


def test_while_the_server_is_away_it_is_not_hammered(listener: Listener, send_to: Send) -> None:
    listener.behaviour = status(500)
    send_to()
    record(10)
    assert not insight.flush(1.0)
    # 0.1, 0.2, 0.4, 0.8 s between tries, each shortened by chance to no less than its half.
    assert len(listener.requests) < 10


def test_a_batch_that_is_too_large_is_cut(listener: Listener, send_to: Send) -> None:
    def at_most(request: Request) -> None:
        accept(request) if len(request.body) <= 2000 else request.answer(413, body={"error": "large", "limit": 2000})

    listener.behaviour = at_most
    send_to(batch_lines=5000)
    record(500)
    assert insight.flush(20)
    assert gauges(listener) == list(range(500))
    all_in_order(listener)
    assert insight.status().lost == 0


def test_one_line_that_is_too_large_is_set_aside_alone(listener: Listener, send_to: Send, tmp_path: Path) -> None:
    def at_most(request: Request) -> None:
        accept(request) if len(request.body) <= 3000 else request.answer(413, body={"error": "large", "limit": 3000})

    listener.behaviour = at_most
    send_to()
    record(5)
    insight.log("info", "huge", note="y" * 4000)
    record(5, first=5)
    assert insight.flush(20)
    wait_until(lambda: of_kind(listener.lines(), "lost"), "the lost line")
    assert gauges(listener) == list(range(10))
    assert of_kind(listener.lines(), "lost")[0]["count"] == 1
    refused = next((tmp_path / "spool").rglob("refused.jsonl")).read_bytes()
    assert b"huge" in refused
    assert refused.count(b"\n") == 1


@pytest.mark.parametrize("bad", [1, 7, 100, 199])
def test_the_one_bad_line_is_isolated_kept_and_told(
    listener: Listener, send_to: Send, tmp_path: Path, bad: int
) -> None:
    wanted = f'"value":{bad}.0'.encode()

    def picky(request: Request) -> None:
        for number, line in enumerate(request.body.splitlines(), 1):
            if wanted in line and b'"name":"x"' in line:
                request.answer(400, body={"error": "no", "line": number, "path": "$.value"})
                return
        accept(request)

    listener.behaviour = picky
    send_to(batch_lines=200)
    record(200)
    assert insight.flush(20)
    wait_until(lambda: of_kind(listener.lines(), "lost"), "the lost line")
    assert gauges(listener) == [number for number in range(200) if number != bad]
    refused = next((tmp_path / "spool").rglob("refused.jsonl")).read_bytes()
    assert refused.count(b"\n") == 1
    assert wanted in refused
    assert [line["count"] for line in of_kind(listener.lines(), "lost")] == [1]
    assert insight.status().lost == 1
    assert insight.status().problems == {"refused": 1}


def test_a_line_refused_while_closing_is_told_too(listener: Listener, send_to: Send) -> None:
    def picky(request: Request) -> None:
        if b'"name":"bad"' in request.body:
            request.answer(400, body={"error": "no", "line": 1, "path": "$"})
        else:
            accept(request)

    listener.behaviour = picky
    send_to(flush_interval=60.0)
    insight.metric_gauge("bad", 1)
    record(5)
    insight.close()
    assert gauges(listener) == list(range(5))
    assert of_kind(listener.lines(), "lost")[0]["count"] == 1
    assert listener.lines()[-1]["state"] == "finished"


def test_a_connection_that_the_server_closed_meanwhile_is_no_failure(listener: Listener, send_to: Send) -> None:
    send_to()
    record(1)
    assert insight.flush(20)
    port = listener.requests[0].client
    listener.requests[0].connection.shutdown(2)
    record(1, first=1)
    assert insight.flush(20)
    assert listener.requests[-1].client != port
    assert insight.status().last_error == ""
    assert gauges(listener) == [0, 1]


def test_a_server_that_closes_after_each_answer_works(listener: Listener, send_to: Send) -> None:
    def close(request: Request) -> None:
        accept(request)
        request.close_connection = True

    listener.behaviour = close
    send_to(batch_lines=10)
    record(100)
    assert insight.flush(20)
    all_in_order(listener)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed_batches_are_the_same_lines(listener: Listener, send_to: Send, compression: str) -> None:
    send_to(compression=compression, batch_lines=1000)
    record(1000)
    assert insight.flush(20)
    assert gauges(listener) == list(range(1000))
    packed = [request for request in listener.requests if request.headers.get("Content-Encoding") == compression]
    assert packed
    assert all(len(request.raw) < len(request.body) / 3 for request in packed)


def test_a_server_that_knows_no_compression_gets_none(listener: Listener, send_to: Send) -> None:
    def plain_only(request: Request) -> None:
        request.answer(415) if request.headers.get("Content-Encoding") else accept(request)

    listener.behaviour = plain_only
    send_to(compression="gzip")
    record(1000)
    assert insight.flush(20)
    assert gauges(listener) == list(range(1000))
    assert insight.status().lost == 0


def test_the_clock_of_the_collector_is_compared(listener: Listener, send_to: Send) -> None:
    def ahead(request: Request) -> None:
        request.answer(200, body={"accepted": 1, "duplicates": 0, "clock": time.time_ns() + 3_000_000_000})

    def nonsense(request: Request) -> None:
        request.answer(200, body={"accepted": 1, "duplicates": "?", "clock": "noon"})

    listener.behaviour = ahead
    send_to(heartbeat=0.02)
    wait_until(lambda: len(listener.requests) > 3, "some heartbeats")
    listener.behaviour = nonsense
    seen = len(listener.requests)
    wait_until(lambda: len(listener.requests) > seen + 3, "some more")
    last = listener.requests[-1].body.decode()
    offset = int(last.split('"clock_offset":')[1].split(",")[0].rstrip("}\n"))
    assert abs(offset - 3_000_000_000) < 1_000_000_000


def test_the_link_that_a_server_prints_can_be_the_address(listener: Listener) -> None:
    insight.init(
        config={"server": {"url": f"{listener.url}/?token=fromlink"}, "resources": {"enabled": False}, "run": "r"}
    )
    record(1)
    insight.close()
    assert listener.requests[0].headers["Authorization"] == "Bearer fromlink"
    assert "fromlink" not in insight.status().sink


def test_a_child_process_sends_to_the_same_server(listener: Listener, send_to: Send) -> None:
    import subprocess
    import sys

    send_to(token="t0ken")
    code = "import rl_insight as i; i.init(); i.metric_gauge('x', 1)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert len(named(listener.lines(), "x")) == 1
    assert {line["run"] for line in of_kind(listener.lines(), "process")} == {"r1"}
    assert {request.headers["Authorization"] for request in listener.requests} == {"Bearer t0ken"}


def test_a_forked_child_has_a_connection_of_its_own(listener: Listener, send_to: Send) -> None:
    import os

    send_to()
    record(5)
    assert insight.flush()
    pid = os.fork()
    if pid == 0:
        try:
            record(5, first=100)
            os._exit(0 if insight.flush(10) else 1)
        finally:
            os._exit(2)
    record(5, first=5)
    assert insight.flush()
    assert os.waitpid(pid, 0)[1] == 0
    assert sorted(gauges(listener)) == [*range(10), *range(100, 105)]
    procs = {line["proc"] for line in listener.lines()}
    assert len(procs) == 2
    for proc in procs:
        seqs = [line["seq"] for line in listener.lines() if line["proc"] == proc]
        assert seqs == list(range(1, len(seqs) + 1))
