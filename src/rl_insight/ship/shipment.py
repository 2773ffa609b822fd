"""Everything that runs while a process records, put together from its settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from rl_insight.config import Config
from rl_insight.record.compose import Composer
from rl_insight.record.identity import Identity, identify
from rl_insight.record.recorder import recorder
from rl_insight.record.redaction import Redactor
from rl_insight.record.resources import ResourceSampler
from rl_insight.ship.choose import choose_sink, spool_parent
from rl_insight.ship.outbox import Outbox
from rl_insight.ship.packer import Packer
from rl_insight.ship.sender import Sender
from rl_insight.ship.sink import Sink
from rl_insight.ship.spool import Spool


class Status(msgspec.Struct, frozen=True):
    """How recording goes in a process: `lost` is exact, `problems` counts calls that were cleaned or dropped."""

    active: bool = False
    run: str = ""
    proc: str = ""
    sink: str = ""
    buffered: int = 0
    sent: int = 0
    lost: int = 0
    duplicates: int = 0
    spooled_bytes: int = 0
    problems: dict[str, int] = {}
    last_error: str = ""


class Keeper(Protocol):
    """Looks after what a process started for the others of its run, for as long as it records itself."""

    def start(self) -> None:
        """Begin; the process records from now on."""
        ...

    def before_stop(self, timeout: float) -> None:
        """The process is about to deliver its last lines."""
        ...

    def after_stop(self, timeout: float) -> None:
        """It has delivered them."""
        ...


class Course(NamedTuple):
    """How a process records once that is known: its settings, what its children are told, what it looks after."""

    config: Config
    told: dict[str, str] = {}
    keeper: Keeper | None = None
    on_missing: Callable[[], None] | None = None  # to be called when the actor that collects is gone for good


class Shipment:
    """Everything that runs while a process records."""

    def __init__(
        self,
        config: Config,
        hook: Callable[[str, Any], Any] | None,
        parent: str | None = None,
        *,
        recording: bool = False,
    ) -> None:
        ship = config.ship
        self.config = config
        self.hook = hook
        self.pid = os.getpid()
        self.lost_at_close = 0
        if not recording:
            recorder.reset(ship.buffer_lines)
        self.keeper: Keeper | None = None
        self.rests = False
        self.identity: Identity = identify(config, recorder.now(), parent)
        config.run = self.identity.run
        self.sink: Sink = choose_sink(config, self.identity)
        spools = spool_parent(config, self.sink, self.identity)
        spool = None if spools is None else Spool(spools / self.identity.proc, ship.spool_bytes)
        self.outbox = Outbox(ship.memory_bytes, spool)
        redactor = Redactor(**msgspec.structs.asdict(config.redact), hook=hook, problem=recorder.problem)
        self.composer = Composer(recorder, self.identity, redactor, ship.heartbeat)
        self.packer = Packer(
            recorder,
            self.composer,
            self.outbox,
            batch_lines=ship.batch_lines,
            open_after=ship.flush_interval,
            heartbeat=ship.heartbeat,
        )
        self.sender = Sender(
            recorder,
            self.packer,
            self.outbox,
            self.sink,
            interval=ship.flush_interval,
            batch_bytes=ship.batch_bytes,
            spool_parent=spools,
            on_clock=self._note_clock,
        )
        self.sampler = ResourceSampler(self.identity, config.resources)

    def start(self) -> None:
        """Begin to record."""
        recorder.active = True
        self.sender.start()
        self.sampler.start()
        if self.keeper is not None:
            self.keeper.start()
        # Engines may have been registered before anything was recorded; verl does it in that order.
        registered = sys.modules.get("rl_insight.ship.targets")
        if registered is not None:
            registered.recording()

    def stop(self, timeout: float) -> None:
        """Deliver or spool everything, then record no more."""
        if self.keeper is not None:
            self.keeper.before_stop(timeout)
        self.sampler.stop()
        recorder.active = False
        self.lost_at_close = self.sender.stop(timeout)
        if self.keeper is not None:
            self.keeper.after_stop(timeout)
        if self.lost_at_close:
            recorder.warn(
                f"rl-insight: {self.lost_at_close} lines could be neither sent nor kept: {self.sender.last_error}"
            )

    def status(self) -> Status:
        """How it goes."""
        return Status(
            active=recorder.active,
            run=self.identity.run,
            proc=self.identity.proc,
            sink=self.sink.describe(),
            buffered=len(recorder.buffer) + self.outbox.waiting_lines + self.packer.stuck_lines,
            sent=self.sender.sent,
            lost=self.packer.lost + self.lost_at_close,
            duplicates=self.sender.duplicates,
            spooled_bytes=self.outbox.spooled_bytes,
            problems=dict(recorder.problems),
            last_error=self.sender.last_error or self.outbox.spool_error,
        )

    def _note_clock(self, offset: int) -> None:
        self.composer.clock_offset = offset
