"""The targets of a server and the scraper that reads them, put together with the store that knows the runs."""

from __future__ import annotations

import time
from pathlib import Path

from rl_insight import config
from rl_insight.collect import Collector
from rl_insight.collect.engine import Orphan, Run
from rl_insight.collect.scrape import Cluster, Scraper
from rl_insight.collect.targets import Target, Targets
from rl_insight.read.rows import Rows, answers


class Scraping:
    """What a collecting server has to do with targets."""

    def __init__(self, data_dir: Path, settings: config.Collector, collector: Collector, store: Rows) -> None:
        self.data_dir = data_dir
        self.folder = Path(settings.targets_dir).expanduser() if settings.targets_dir else data_dir / "targets"
        self.targets = Targets(self.folder)
        self._store = store
        self.scraper = Scraper(collector.submit, self.targets, settings.scrape, self._look)

    def add(self, targets: list[Target]) -> list[Target]:
        """Register targets, and read them soon."""
        added = self.targets.add(targets)
        self.scraper.wake()
        return added

    def _look(self) -> Cluster:
        now = {"now": time.time_ns()}
        return Cluster(
            answers(self._store, "going_on", Run, now),
            answers(self._store, "orphans", Orphan, now),
        )
