"""What tests of `/metrics` share: the page parsed back, and processes that record what a test tells them to."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from harness import Server
from recorded import clean_environment
from rl_insight.export.prometheus import Exporter

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
RUN_LABELS = ("run", "project", "experiment", "role", "rank")


class Exposed:
    """A page of metrics, as a parser that is not ours reads it."""

    def __init__(self, families: list[Metric]) -> None:
        self.families = {family.name: family for family in families}
        assert len(self.families) == len(families), "a family twice"
        self.samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for family in families:
            for sample in family.samples:
                # Prometheus does not tell an empty label from none.
                key = (sample.name, frozenset((name, value) for name, value in sample.labels.items() if value))
                assert key not in self.samples, f"twice: {key}"
                self.samples[key] = sample.value

    def series(self, metric: str, /, *without: str, **labels: str) -> dict[tuple[tuple[str, str], ...], float]:
        """The values of a name by their labels, of those with these labels, and without these names."""
        wanted = set(labels.items())
        return {
            tuple(sorted(pair for pair in pairs if pair[0] not in without)): value
            for (found, pairs), value in self.samples.items()
            if found == metric and wanted <= pairs
        }

    def value(self, metric: str, /, **labels: str) -> float:
        """The one value of a name with these labels."""
        found = self.series(metric, **labels)
        assert len(found) == 1, f"{metric} {labels}: {found}"
        return next(iter(found.values()))


def parsed(body: bytes, content_type: str) -> Exposed:
    text = body.decode()
    if content_type.startswith("application/openmetrics-text"):
        assert text.endswith("# EOF\n")
        return Exposed(list(openmetrics.text_string_to_metric_families(text)))
    return Exposed(list(text_string_to_metric_families(text)))


def exposed(exporter: Exporter, now: int | None = None) -> Exposed:
    """The page of an exporter, written in both formats, which must say the same."""
    page = exporter.page(now)
    one = parsed(page.text(in_openmetrics=True), OPENMETRICS)
    assert one.samples == parsed(page.text(in_openmetrics=False), "text/plain").samples
    return one


class Scraped(NamedTuple):
    """What the server answered to a scrape."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def page(self) -> Exposed:
        assert self.status == 200, self.body
        return parsed(self.body, self.headers["content-type"])


def scrape(server: Server, accept: str = OPENMETRICS, **headers: str) -> Scraped:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept, **headers})
        answer = connection.getresponse()
        return Scraped(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


_WORKER = """
import json, sys
import rl_insight as insight
insight.init(config=json.loads(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    for name, args, labels in json.loads(line):
        getattr(insight, name)(*args, **labels)
    print(insight.flush(30), flush=True)
insight.close()
"""


class Worker:
    """A real process that records what it is told; it lives until `end` or `kill`."""

    def __init__(self, home: Path, server: Server, **settings: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(home, RL_INSIGHT_SERVER_URL=server.url),
        )
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self.pid = self._process.pid
        self._expect("ready")

    def record(self, *calls: tuple[str, list[Any], dict[str, Any]]) -> None:
        """Make these calls, and return when they are stored."""
        print(json.dumps(calls), file=self._in, flush=True)
        self._expect("True")

    def end(self) -> None:
        self._process.communicate(timeout=60)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=60)

    def _expect(self, said: str) -> None:
        line = self._out.readline().strip()
        if line != said:
            self._process.kill()
            raise AssertionError(f"the worker said {line!r}: {self._process.communicate()[1]}")
