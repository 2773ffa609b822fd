"""A collector that is killed at any moment has everything it acknowledged, once."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from machine import Machine
from rl_insight.schema import Line, encode_lines

Mixed = Callable[..., list[Line]]

KILLED_BEFORE_COMMIT = """
import os, signal, sys
from pathlib import Path
from rl_insight.collect import LineLog
from rl_insight.store import Projection, Projector, Store
data = Path(sys.argv[1])
store = Store.open(data)
real = Projection._note
def note(self, position, source):
    real(self, position, source)
    if position.offset > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
Projection._note = note
Projector(store, LineLog(data / "log"), chunk_bytes=2000).catch_up()
"""

# Prints each seq once it is acknowledged; projects all the time; compresses and checkpoints often.
UNDER_LOAD = """
import sys
from pathlib import Path
from rl_insight import config
from rl_insight.collect import Collector
from rl_insight.schema import Fact, Process, Span, encode_lines
from rl_insight.store import Projector, Store
data, proc = Path(sys.argv[1]), sys.argv[2]
settings = config.Collector(segment_bytes=200_000, store_threads=1)
store = Store.open(data, settings=settings)
collector = Collector.open(data, settings, marks=store.marks(), projected=store.position())
projector = Projector(store, collector.log, interval=0.001)
projector.start()
seq = 0
while True:
    lines = [Process(proc=proc, seq=seq + 1, ts=1, name="process", run="r", schema="1.0")]
    lines += [Span(proc=proc, seq=seq + n, ts=n, name="s", dur=n, id=str(n)) for n in range(2, 150)]
    lines += [Fact(proc=proc, seq=seq + n, ts=n, name="f", tags={"task": "t"}) for n in range(150, 201)]
    body = encode_lines(lines)
    for _ in range(2):
        collector.submit(body).result()
    seq += 200
    if seq % 5000 == 0:
        projector.tidy()
        store.checkpoint()
    print(seq, flush=True)
"""


def test_a_kill_between_rows_and_commit_is_replayed_cleanly(tmp_path: Path, mixed: Mixed) -> None:
    machine = Machine(tmp_path / "data")
    machine.collector.submit(encode_lines(mixed(400))).result(60)
    machine.close(catch_up=False)
    for offset in (0, 9000, 20_000):
        command = [sys.executable, "-c", KILLED_BEFORE_COMMIT, str(machine.data_dir), str(offset)]
        ended = subprocess.run(command, capture_output=True, timeout=120)
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        machine.open()
        position, (done,) = machine.store.position(), machine.ask("SELECT coalesce(sum(lines), 0) FROM mark")[0]
        projected = b"".join(chunk.data for chunk in machine.collector.log.chunks())[: position.offset]
        assert projected.count(b"\n") == done
        assert position.offset <= offset + 2000
        machine.close(catch_up=False)
    machine.open()
    machine.projector.catch_up()
    assert machine.ask("SELECT lines FROM mark") == [(400,)]
    for table in ("point", "span", "log", "fact", "lost"):
        assert machine.ask(f"SELECT proc, seq FROM {table} GROUP BY ALL HAVING count(*) > 1") == []
    assert machine.ask("SELECT count(*) FROM point") == [(149,)]
    machine.close()


@pytest.mark.timeout(600)
def test_killed_at_random_moments_everything_acknowledged_is_there_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    chance = random.Random(7)
    acknowledged: dict[str, int] = {}
    for number in range(12):
        proc = f"p{number}"
        command = [sys.executable, "-c", UNDER_LOAD, str(data), proc]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first, process.stderr.read().decode() if process.stderr else ""
            time.sleep(chance.random() * 0.8)
            process.kill()
            acknowledged[proc] = int((first + process.stdout.read()).split(b"\n")[-2])
    machine = Machine(data)
    machine.projector.catch_up()
    for proc, seq in acknowledged.items():
        sql = f"""SELECT count(*), count(DISTINCT seq), count(*) FILTER (seq <= {seq}) FROM (
            SELECT seq FROM span WHERE proc = '{proc}' UNION ALL SELECT seq FROM fact WHERE proc = '{proc}')"""
        ((rows, distinct, kept),) = machine.ask(sql)
        assert rows == distinct, "stored twice"
        assert kept == seq // 200 * 199, "lost"
    assert machine.ask("SELECT * FROM hole") == []
    assert machine.ask("SELECT * FROM unreadable") == []
    machine.close()
