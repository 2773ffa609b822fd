"""`/metrics`: what a Prometheus reads of the runs in the store, and of the collector."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.openmetrics import exposition as openmetrics

from rl_insight import config
from rl_insight.export.prometheus.ledger import Ledger
from rl_insight.export.prometheus.page import Page
from rl_insight.export.prometheus.processes import who_is_who
from rl_insight.export.prometheus.recordings import Recordings
from rl_insight.export.prometheus.runs import folded, tell_collector, tell_folded, tell_runs
from rl_insight.export.prometheus.totals import Bounds
from rl_insight.export.prometheus.training import Training
from rl_insight.read.rows import Rows
from rl_insight.store import Store
from rl_insight.store.sql import load

# A distribution may be of milliseconds, tokens or rewards; these span what is usual, coarsely.
BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1e3, 5e3, 1e4, 5e4)
# Our own are of seconds.
SECONDS = (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
DEFAULT = "default"

OPENMETRICS = openmetrics.CONTENT_TYPE_LATEST
PLAIN = CONTENT_TYPE_PLAIN_0_0_4
# What is said of a metric comes with a heartbeat, so a little later than its first point; nobody looks for it for ever.
_HELP_LOOKS = 5
_HELP_SECONDS = 3.0
_HELP_PROCESSES = 50


class Folded(msgspec.Struct):
    """A metric of a run with more series than are shown apart."""

    run: str
    metric: str
    series: int


class Renamed(msgspec.Struct):
    """A recorded metric that shows under another name than it would have alone."""

    recorded: str
    kind: str
    metric: str


class Answer(msgspec.Struct):
    """A page of metrics in the format that was asked for."""

    body: bytes
    content_type: str


class Exporter:
    """Answers scrapes of one store. Any thread may ask; one at a time is answered.

    `folded` (most series first) and `renamed` are as of the last scrape.
    """

    def __init__(
        self,
        store: Store,
        settings: config.Exposition | None = None,
        status: Callable[[], Mapping[str, Any]] = dict,
        *,
        engine_seconds: float = 300.0,
    ) -> None:
        settings = settings or config.Exposition()
        self._store = store
        self._status = status
        self._lock = threading.Lock()
        self._ledger = Ledger(settings, bounds(settings))
        self._training = Training()
        self._recordings = Recordings(settings.namespace, engine_seconds)
        self._unexplained: dict[str, int] = {}
        self._explained_at = 0.0
        self.folded: list[Folded] = []
        self.renamed: list[Renamed] = []

    def answer(self, accept: str = "", now: int | None = None) -> Answer:
        """The page, in OpenMetrics where that is wanted, else in Prometheus' own text."""
        page = self.page(now)
        asked = wants_openmetrics(accept)
        return Answer(page.text(asked), OPENMETRICS if asked else PLAIN)

    def page(self, now: int | None = None) -> Page:
        """All families, as of now."""
        status = self._status()
        page = Page()
        with self._lock:
            with self._store.snapshot() as source:
                self._ledger.refresh(source, now)
                self._explain(source)
                self._training.refresh(source, self._ledger)
            who = who_is_who(self._ledger.processes)
            self._recordings.tell(page, self._ledger, who)
            tell_runs(page, self._ledger, who, self._training)
            tell_folded(page, self._ledger, self._recordings.names)
            self._report()
        tell_collector(page, status)
        return page

    def _report(self) -> None:
        """Write down what could not be shown as it was recorded; who asks for that does not wait for a scrape."""
        found = [Folded(*one) for one in folded(self._ledger, self._recordings.names)]
        self.folded = sorted(found, key=lambda one: (-one.series, one.run, one.metric))
        renamed = self._recordings.names.renamed.items()
        self.renamed = [Renamed(recorded.name, recorded.kind, family.shown) for recorded, family in renamed]

    def _explain(self, source: Rows) -> None:
        """Learn what people say of their metrics."""
        help, looks = self._recordings.help, self._unexplained
        names = {one.name for totals in self._ledger.runs.values() for one in totals.metrics}
        for gone in [name for name in help if name not in names]:
            del help[gone]
        self._unexplained = looks = {name: looks.get(name, 0) for name in names if name not in help}
        wanted = [name for name, count in looks.items() if count < _HELP_LOOKS]
        now = time.monotonic()
        if not wanted or (now - self._explained_at < _HELP_SECONDS and not any(looks[name] == 0 for name in wanted)):
            return
        self._explained_at = now
        newest = [one.proc for one in self._ledger.processes[-_HELP_PROCESSES:]]
        for (said,) in source.rows(load("help", __name__, ""), {"procs": newest}).rows:
            found = msgspec.json.decode(said, type=dict[str, Any])
            help.update({name: str(found[name]) for name in wanted if name in found})
        for name in wanted:
            looks[name] += 1


def bounds(settings: config.Exposition) -> Bounds:
    """The bounds of buckets that are in force. Raises `ConfigError` for such as are none."""
    for name, given in settings.buckets.items():
        rising = all(low < high for low, high in pairwise(given))
        if not rising or not all(map(math.isfinite, given)):
            raise config.ConfigError(
                f"setting collector.prometheus.buckets.{name}: give finite upper bounds in rising order, not {given}; "
                "the last bucket, for all above them, is always there"
            )
    chosen = {name: tuple(given) for name, given in settings.buckets.items()}
    otherwise = chosen.get(DEFAULT, BUCKETS)
    return Bounds(
        of=lambda name: chosen.get(name, otherwise),
        spans=chosen.get("rl_insight_span_seconds", SECONDS),
        sessions=chosen.get("rl_insight_session_seconds", SECONDS),
        phases=chosen.get("rl_insight_phase_seconds", SECONDS),
    )


def wants_openmetrics(accept: str) -> bool:
    """Whether OpenMetrics 1.0 is accepted, and nothing that we can write is liked better."""
    best = {"open": 0.0, "plain": 0.0}
    for one in accept.split(","):
        kind, *more = (part.strip() for part in one.split(";"))
        said = dict(part.partition("=")[::2] for part in more)
        try:
            quality = float(said.get("q", "1"))
        except ValueError:
            quality = 0.0
        if kind == "application/openmetrics-text" and said.get("version", "1.0.0") in ("1.0.0", "1.0"):
            best["open"] = max(best["open"], quality)
        elif kind == "text/plain" and said.get("version", "0.0.4") == "0.0.4":
            best["plain"] = max(best["plain"], quality)
    return best["open"] > 0 and best["open"] >= best["plain"]
