"""Makes batches of what was recorded: drains the recorder, composes lines, encodes them, puts them in the outbox."""

from __future__ import annotations

import threading
import time
from typing import Any

import msgspec

from rl_insight.record.compose import Composer
from rl_insight.record.recorder import Recorder, monotonic
from rl_insight.record.values import shown
from rl_insight.schema import Line, Lost, encode_lines
from rl_insight.ship.outbox import Outbox
from rl_insight.ship.sink import Batch


class Packer:
    """Called by one thread; `pack` once a flush interval."""

    def __init__(
        self,
        recorder: Recorder,
        composer: Composer,
        outbox: Outbox,
        *,
        batch_lines: int,
        open_after: float,
        heartbeat: float,
    ) -> None:
        self.lost = 0
        self._recorder = recorder
        self._composer = composer
        self._outbox = outbox
        self._batch_lines = batch_lines
        self._open_after = int(open_after * 1e9)
        self._heartbeat = heartbeat
        self._beat_at = 0.0
        self._stuck: Batch | None = None
        self._untold: dict[str, int] = {}
        self._lock = threading.Lock()

    def pack(self) -> None:
        """Move everything recorded so far into the outbox; what finds no room there is dropped, and counted."""
        if self._stuck is not None:
            self._offer(self._stuck)
        last = False
        while not last:
            records = self._recorder.take(self._batch_lines)
            last = len(records) < self._batch_lines
            if self._stuck is not None or not self._outbox.has_room():
                # Dropped here and not left to fill the buffer: records have no size until they are lines.
                self.tell_lost(len(records), self._outbox.spool_error or "no room: lines cannot be sent")
                continue
            seq = self._composer.seq
            try:
                batch = self._make(records, last)
            except Exception as error:
                self._composer.seq = seq
                self._recorder.problem("packing", f"lines could not be packed: {type(error).__name__}: {error}")
                self.tell_lost(len(records), f"not packed: {type(error).__name__}")
            else:
                if batch is not None:
                    self._offer(batch)

    def finish(self) -> None:
        """Pack the last lines and say that the process ended in order."""
        self.pack()
        if self._stuck is None or self._offer(self._stuck, last=True):
            self._offer(self._encode([*self._lost_lines(), self._composer.process("finished")]), last=True)

    def tell_lost(self, count: int, reason: str) -> None:
        """Have a `lost` line written for lines that went another way than to the sink."""
        if count:
            with self._lock:
                self.lost += count
                self._untold[reason] = self._untold.get(reason, 0) + count

    @property
    def stuck_lines(self) -> int:
        """Lines that are packed and found room nowhere."""
        stuck = self._stuck
        return stuck.lines if stuck is not None else 0

    @property
    def has_untold(self) -> bool:
        """Whether something was lost of which no line tells yet."""
        return bool(self._untold)

    def _offer(self, batch: Batch, *, last: bool = False) -> bool:
        self._stuck = None if self._outbox.put(batch, last=last) else batch
        return self._stuck is None

    def _make(self, records: list[Any], last: bool) -> Batch | None:
        lines: list[Line] = []
        now = time.monotonic()
        if now >= self._beat_at:
            self._beat_at = now + self._heartbeat
            lines.append(self._composer.process())
        lines += self._lost_lines()
        lines += self._composer.lines(records)
        if last:
            lines += self._composer.open_lines(self._newly_open())
        return self._encode(lines) if lines else None

    def _lost_lines(self) -> list[Line]:
        self.tell_lost(self._recorder.dropped(), "the buffer was full: recorded faster than packed")
        with self._lock:
            told, self._untold = self._untold, {}
        return [self._composer.lost(count, reason) for reason, count in told.items()]

    def _newly_open(self) -> list[Any]:
        """Intervals older than one flush that have not been announced yet."""
        recorder = self._recorder
        before = monotonic() - self._open_after
        found = []
        # A copy: calls add and remove all the time. The oldest stand first.
        for span in recorder.open.copy().values():
            if not span.start or span.start > before:
                break
            if not span.end:
                found.append(span)
            if recorder.open.pop(span.id, None) is not None and not span.end:
                recorder.announced[span.id] = span
                if span.end:  # it ended in between and looked for itself in `open`
                    recorder.announced.pop(span.id, None)
        return found

    def _encode(self, lines: list[Line]) -> Batch:
        try:
            return Batch(encode_lines(lines), len(lines))
        except Exception:  # one of them holds what JSON cannot: text that is not Unicode, for instance
            return Batch(b"".join(self._encode_alone(line) for line in lines), len(lines))

    def _encode_alone(self, line: Line) -> bytes:
        try:
            return encode_lines([line])
        except Exception as error:
            self._recorder.problem(
                "unserialisable", f"{shown(line.name)} had to be cleaned: {type(error).__name__}: {error}"
            )
        try:
            return msgspec.json.encode(_legal(msgspec.to_builtins(line))) + b"\n"
        except Exception as error:
            reason = f"not JSON: {type(error).__name__}"
            return encode_lines([Lost(line.proc, line.seq, line.ts, "lines", 1, reason)])


def _legal(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_legal(key): _legal(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_legal(item) for item in value]
    return value
