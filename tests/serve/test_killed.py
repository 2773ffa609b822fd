"""Nothing acknowledged is lost and nothing is stored twice, even when the collector is killed at any moment."""

import http.client
import random
import threading
import time
from pathlib import Path

from harness import Server, batch, command

KILLS = 22
PRODUCERS = 3


class Producer(threading.Thread):
    """Sends batches in order, and each again until it is acknowledged, as a recorder does."""

    def __init__(self, server: Server, proc: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.proc = proc
        self.random = random.Random(seed)
        self.acknowledged = 0
        self.retried = 0
        self.failure = ""
        self.enough = threading.Event()

    def run(self) -> None:
        connection = self.server.connect()
        first = 1
        while not self.enough.is_set() and not self.failure:
            count = self.random.choice([1, 10, 200, 1000])
            body = batch(self.proc, first, count)
            while not self.send(connection, body):
                self.retried += 1
                connection.close()
                connection = self.server.connect()
                time.sleep(0.01)
            first += count
            self.acknowledged = first - 1
        connection.close()

    def send(self, connection: http.client.HTTPConnection, body: bytes) -> bool:
        try:
            answer = self.server.post(body, connection=connection)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        if answer.status not in (200, 429, 503):
            self.failure = f"{answer.status}: {answer.body}"
            return True
        return answer.status == 200


def test_collector_killed_at_random_moments_under_load_loses_and_doubles_nothing(tmp_path: Path) -> None:
    moments = random.Random(20)
    # Small segments, so that kills also fall into rotation, compression and checkpoints.
    settings = {"segment_bytes": 500_000, "project_interval": 0.02}
    server = Server(tmp_path / "data", settings=settings).start()
    producers = [Producer(server, f"p{number}", number) for number in range(PRODUCERS)]
    for producer in producers:
        producer.start()
    for _ in range(KILLS):
        time.sleep(moments.uniform(0.0, 0.6))
        server.kill()
        server.start()
    for producer in producers:
        producer.enough.set()
    for producer in producers:
        producer.join(timeout=60)
        assert not producer.is_alive()
        assert not producer.failure
    server.kill()
    server.start()
    server.wait_stored()

    check_exactly_once(server, producers)
    assert sum(producer.retried for producer in producers) >= KILLS // 2
    assert server.stop() == 0

    data = str(server.data_dir)
    verified = command("verify", "--data-dir", data)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert command("rebuild", "--data-dir", data).returncode == 0
    server.start()
    server.wait_stored()
    check_exactly_once(server, producers)
    server.stop()


def check_exactly_once(server: Server, producers: list[Producer]) -> None:
    sql = "SELECT proc, count(*), count(DISTINCT seq), min(seq), max(seq), sum(value) FROM point GROUP BY proc"
    stored = {row[0]: row[1:] for row in server.query(sql)}
    for producer in producers:
        # The first line of each is its process line; all others are points with value = seq.
        last = producer.acknowledged
        assert last > 1000
        expected = [last - 1, last - 1, 2, last, float(last * (last + 1) // 2 - 1)]
        assert stored[producer.proc] == expected, f"{producer.proc}: {stored[producer.proc]} instead of {expected}"
