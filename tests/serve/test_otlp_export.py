"""What is recorded here can be seen elsewhere: export over OTLP, to a sink that keeps it and to a collector of ours."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import TS, Server, batch, command, running_server, wait_until
from odd_lines import odd_lines
from otlp_sink import Sink
from small_run import small_run

GOLDEN = Path(__file__).parent.parent / "fixtures" / "schema-v1" / "full.jsonl"
TABLES = {
    "span": "run, ts, name, dur, id, parent, trace, lane, task, session, step, status, reason, part, attrs",
    "point": "run, kind, ts, name, value, labels, step, task, session",
    "log": "run, ts, name, level, logger, trace, parent, task, session, step, attrs",
    "fact": 'run, ts, name, tags, op, "try", peer, outcome, reason, trace, parent, task, session, step, attrs',
    "fact_tag": "run, ts, name, tag, value",
    "lost": "run, ts, name, count, reason",
    "process": "run, name, schema, project, experiment, role, rank, node, host, pid, parent, started, heartbeat, "
    "state, clock_offset, versions, config_hash, aliases, labels, attrs",
}


@pytest.fixture
def sink() -> Iterator[Sink]:
    sink = Sink()
    yield sink
    sink.stop()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """A collector that exports to another one."""
    folder = tmp_path_factory.mktemp("pair")
    with (
        running_server(folder / "b") as there,
        running_server(folder / "a", settings={"otlp_export": [{"endpoint": there.url}]}) as here,
    ):
        yield here, there


def exported(server: Server, name: str = "") -> dict[str, Any]:
    """How the export is doing."""
    found: list[dict[str, Any]] = server.request("GET", "/api/v1/status").body["exporters"]
    return next(one for one in found if name in one["name"])


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on just now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_exported(server: Server) -> None:
    wait_until(lambda: all(not one["lag_bytes"] for one in server.request("GET", "/api/v1/status").body["exporters"]))


def rows(server: Server, table: str, prefix: str = "") -> list[str]:
    """The rows of a table as text that does not depend on their order, or on what a collector calls a process."""
    server.wait_stored()
    columns = TABLES[table].split(", ")
    found = []
    for proc, *row in server.query(f"SELECT proc, {TABLES[table]} FROM {table}"):
        said = dict(zip(columns, row, strict=True))
        for key in ("attrs", "labels", "tags", "versions", "aliases"):
            if said.get(key) is not None:
                said[key] = json.loads(said[key])
        if table == "process" and said["attrs"]:
            said["attrs"].pop("otlp", None)
            said["attrs"] = said["attrs"] or None
        assert proc.startswith(prefix)
        found.append(json.dumps([proc.removeprefix(prefix), said], sort_keys=True))
    return sorted(found)


def test_another_collector_of_ours_has_the_same_rows_afterwards(pair: tuple[Server, Server]) -> None:
    here, there = pair
    for body in (*small_run(), odd_lines(), GOLDEN.read_bytes()):
        assert here.post(body).status == 200
    wait_exported(here)
    for table in TABLES:
        ours = rows(here, table)
        assert ours, table
        assert rows(there, table, "otlp-") == ours, table
    status = exported(here)
    assert (status["state"], status["dropped"], status["returned"]) == ("ok", 0, 0)
    assert there.query("SELECT count(*) FROM hole") == [[0]]
    place = """SELECT segment, "offset" FROM position WHERE source LIKE 'otlp:%'"""
    wait_until(lambda: here.query(place) == [[exported(here)["segment"], exported(here)["offset"]]])


def test_a_destination_that_is_away_gets_everything_when_it_is_back(tmp_path: Path, sink: Sink) -> None:
    sink.stop()
    settings = {"otlp_export": [{"endpoint": sink.url, "headers": {"x-key": "k"}}], "segment_bytes": 20_000}
    with running_server(tmp_path / "data", settings=settings) as server:
        for first in range(1, 1000, 100):
            assert server.post(batch("p", first, 100)).status == 200  # nobody here waits for it
        wait_until(lambda: exported(server)["retries"] > 0)
        status = exported(server)
        assert (status["state"], status["sent"]) == ("retrying", 0)
        assert status["lag_bytes"] > 0
        assert "not reachable" in status["last_error"]
        assert server.request("GET", "/api/v1/health").body["exporters"][0]["state"] == "retrying"
        told = command("server", "status", "--data-dir", str(server.data_dir)).stdout
        assert "retrying: 0 records sent" in told
        server.stop()  # it does not hold up the end either
        server.start()
        sink.start()
        wait_exported(server)
        values = [point.as_double for metric in sink.metrics() for point in metric.gauge.data_points]
        assert values == [float(seq) for seq in range(2, 1001)]
        stamps = [point.time_unix_nano for metric in sink.metrics() for point in metric.gauge.data_points]
        assert stamps == [TS + seq for seq in range(2, 1001)]
        assert all(taken.headers["x-key"] == "k" for taken in sink.accepted)
        assert sink.accepted[0].headers["Content-Encoding"] == "gzip"


def test_both_may_be_killed_and_every_line_arrives_once(pair: tuple[Server, Server]) -> None:
    here, there = pair
    for turn in range(2):
        for part in range(5):
            first = 1 + (turn * 5 + part) * 100
            assert here.post(batch("killed", first, 100, run="killed-run")).status == 200
        (here, there)[turn].kill()
        (here, there)[turn].start()
    wait_exported(here)
    there.wait_stored()
    found = there.query("SELECT count(*), count(DISTINCT value), max(value) FROM point WHERE run = 'killed-run'")
    assert found == [[999, 999, 1000.0]]
    assert there.request("GET", "/api/v1/verify?run=killed-run").body["clean"]


def test_two_collectors_that_export_to_each_other_or_to_themselves_do_not_go_round(tmp_path: Path) -> None:
    ports = free_ports(2)
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    servers = []
    for place, name in enumerate("ab"):
        wanted = [{"endpoint": urls[1 - place], "name": "other"}, {"endpoint": urls[place], "name": "itself"}]
        servers.append(Server(tmp_path / name, settings={"otlp_export": wanted}))
        servers[-1].port = ports[place]
    try:
        for server, proc in zip(servers, "pq", strict=True):
            server.start()
            assert server.post(batch(proc, 1, 50)).status == 200
        for server in servers:
            # Each has its own and the other's, and nothing comes back.
            wait_until(lambda server=server: server.query("SELECT count(*) FROM point") == [[98]])
            wait_until(lambda server=server: exported(server, "itself")["state"] == "loop")
            assert "is this collector itself" in exported(server, "itself")["last_error"]
        for server in servers:
            wait_until(lambda server=server: not exported(server, "other")["lag_bytes"])
            server.wait_stored()
            assert server.query("SELECT count(*) FROM point") == [[98]]
            assert server.request("GET", "/api/v1/verify").body["clean"]
    finally:
        for server in servers:
            if server.alive():
                server.kill()
