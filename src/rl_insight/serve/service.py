"""What the application serves: a collector with its store, or a store made from files."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

import msgspec

from rl_insight import config
from rl_insight.collect import Accepted, Collector, Stopping, Subscription
from rl_insight.collect.collector import TAIL_BYTES
from rl_insight.collect.otlp import Receiver
from rl_insight.export.otlp import Exporters, destinations
from rl_insight.export.prometheus import Exporter, bounds
from rl_insight.serve import address
from rl_insight.serve.follow import follow_files
from rl_insight.serve.otlp_service import open_exporters, open_receiver
from rl_insight.serve.scraping import Scraping
from rl_insight.store import FileProjector, Projector, Store
from rl_insight.version import __version__


class ReadOnly(Exception):
    """This server shows files; it takes no lines and deletes nothing."""


class Service(Protocol):
    """One data folder, as the application sees it."""

    store: Store
    max_body_bytes: int
    max_pending_bytes: int
    stopping: bool
    scraping: Scraping | None
    receiver: Receiver | None
    exporters: Exporters
    otlp_port: int
    metrics: Exporter

    def submit(self, body: bytes) -> Future[Accepted]: ...
    def subscribe(self, notify: Callable[[], None]) -> Subscription: ...
    def status(self) -> dict[str, Any]: ...
    def delete_run(self, run: str) -> int | None: ...
    def begin_stop(self) -> None: ...
    def close(self) -> None: ...


class CollectorService:
    """A collector, the store that follows its log, and how they are opened and closed together."""

    def __init__(
        self,
        store: Store,
        collector: Collector,
        projector: Projector,
        settings: config.Collector,
        scraping: Scraping | None = None,
        receiver: Receiver | None = None,
        exporters: Exporters | None = None,
    ) -> None:
        self.store = store
        self.receiver = receiver
        self.otlp_port = 0
        self.exporters = exporters or Exporters()
        self.scraping = scraping
        self.collector = collector
        self.projector = projector
        self.max_body_bytes = settings.max_body_bytes
        self.max_pending_bytes = settings.max_pending_bytes
        self.stopping = False
        # An engine that has not answered a few times is not what it was.
        self.metrics = Exporter(
            store, settings.prometheus, self.status, engine_seconds=30 + 3 * settings.scrape.interval
        )

    @classmethod
    def open(cls, data_dir: Path, settings: config.Collector, *, follow: bool = True) -> CollectorService:
        """Open a data folder. The caller owns its lock."""
        bounds(settings.prometheus)  # refused before anything is begun
        wanted = destinations(settings.otlp_export, os.environ) if follow else []
        store = Store.open(data_dir, settings=settings)
        try:
            collector = Collector.open(data_dir, settings, marks=store.marks(), projected=store.position())
            projector = Projector(store, collector.log, interval=settings.project_interval)
        except BaseException:
            store.close()
            raise
        scraping = receiver = exporters = None
        if follow:
            receiver = open_receiver(data_dir, settings, collector, store, projector)
            exporters = open_exporters(data_dir, wanted, collector, store, projector)
            projector.start()
            exporters.start()
            scraping = Scraping(data_dir, settings, collector, store)
            scraping.scraper.start()
        return cls(store, collector, projector, settings, scraping, receiver, exporters)

    def submit(self, body: bytes) -> Future[Accepted]:
        if self.stopping:
            raise Stopping("the collector is stopping; send the batch again when it is back")
        return self.collector.submit(body)

    def subscribe(self, notify: Callable[[], None]) -> Subscription:
        return self.collector.subscribe(notify)

    def status(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "clock": time.time_ns(),
            "collector": msgspec.to_builtins(self.collector.status()),
            "store": msgspec.to_builtins(self.projector.status()),
            "otlp": msgspec.to_builtins(self.receiver.status()) if self.receiver is not None else None,
            "exporters": msgspec.to_builtins(self.exporters.status()),
        }

    def delete_run(self, run: str) -> int | None:
        """Delete a run and return how many lines it had; None where there is no such run."""
        if self.scraping is not None:
            self.scraping.scraper.forget_run(run)
        return self.projector.delete_run(run).lines or None

    def begin_stop(self) -> None:
        """Take no more batches. Safe to call from a signal handler."""
        self.stopping = True

    def close(self) -> None:
        """Store what was accepted, and let go of everything."""
        self.stopping = True
        if self.scraping is not None:
            self.scraping.scraper.stop()
        if self.receiver is not None:
            self.receiver.stop()
        self.exporters.stop()
        self.collector.stop()
        self.projector.stop()
        self.collector.close()
        self.store.close()


class FolderService:
    """Line files and the store made from them, followed as they grow. Nothing can be sent or deleted."""

    max_body_bytes = 2**20
    max_pending_bytes = 2**24
    scraping: Scraping | None = None
    receiver: Receiver | None = None
    exporters = Exporters()
    otlp_port = 0

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.files = FileProjector(store, folder)
        self.metrics = Exporter(store, status=self.status)
        self.stopping = False
        self._lock = threading.Lock()
        self._subscriptions: list[Subscription] = []
        self._follower: threading.Thread | None = None

    @classmethod
    def open(cls, folder: Path, data_dir: Path) -> FolderService:
        """Open `folder`, with its store in `data_dir`. The caller owns the lock of `data_dir`."""
        return cls(Store.open(data_dir), folder)

    def submit(self, body: bytes) -> Future[Accepted]:
        raise ReadOnly(
            f"this server only shows the files in {self.folder}; start one that collects with 'rl-insight server start'"
        )

    def subscribe(self, notify: Callable[[], None]) -> Subscription:
        subscription = Subscription(TAIL_BYTES, notify, self._unsubscribe)
        with self._lock:
            self._subscriptions = [*self._subscriptions, subscription]
            if self._follower is None:
                self._follower = threading.Thread(target=self._follow, name="rl-insight-tail", daemon=True)
                self._follower.start()
        return subscription

    def status(self) -> dict[str, Any]:
        files = self.files
        return {
            "version": __version__,
            "clock": time.time_ns(),
            "folder": str(self.folder),
            "store": {"lines": files.lines, "unreadable": files.bad_lines, "last_error": files.last_error},
        }

    def delete_run(self, run: str) -> int | None:
        raise ReadOnly(f"this server only shows the files in {self.folder}; delete the files themselves")

    def begin_stop(self) -> None:
        self.stopping = True

    def close(self) -> None:
        self.stopping = True
        self.files.stop()
        if self._follower is not None:
            self._follower.join()
        self.store.close()

    def _unsubscribe(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = [one for one in self._subscriptions if one is not subscription]

    def _follow(self) -> None:
        for lines in follow_files(self.folder, lambda: self.stopping):
            for subscription in self._subscriptions:
                subscription.put(lines, lines.count(b"\n"))


@contextlib.contextmanager
def offline(data_dir: Path, settings: config.Collector | None = None) -> Iterator[CollectorService]:
    """The collector's data without its server: owns the folder for a while, with all of the log in the store."""
    with address.locked(data_dir):
        service = CollectorService.open(data_dir, settings or config.Collector(), follow=False)
        try:
            service.projector.catch_up()
            yield service
        finally:
            service.close()
