"""Makes batches of what was recorded: drains the recorder, composes lines, encodes them, puts them in the outbox."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from rl_insight.record.compose import Composer
from rl_insight.record.recorder import Recorder, monotonic
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
        self._to_tell: list[tuple[int, str]] = []

    def pack(self) -> None:
        """Move everything recorded so far into the outbox, as far as there is room."""
        if self._stuck is not None and not self._offer(self._stuck):
            return
        while self._outbox.has_room():
            records = self._recorder.take(self._batch_lines)
            lines = self._first_lines()
            if records:
                lines += self._composer.lines(records)
            last = len(records) < self._batch_lines
            if last:
                lines += self._composer.open_lines(self._newly_open())
            if (lines and not self._offer(self._encode(lines))) or last:
                return

    def finish(self) -> None:
        """Pack the last lines and say that the process ended in order."""
        self.pack()
        if self._stuck is None:
            self._offer(self._encode([*self._lost_lines(), self._composer.process("finished", self._about())]))

    def tell_lost(self, count: int, reason: str) -> None:
        """Have a `lost` line written for lines that left the outbox another way than by delivery."""
        self.lost += count
        self._to_tell.append((count, reason))

    @property
    def stuck_lines(self) -> int:
        """Lines that are packed and found room nowhere."""
        return self._stuck.lines if self._stuck is not None else 0

    def _offer(self, batch: Batch) -> bool:
        self._stuck = None if self._outbox.put(batch) else batch
        return self._stuck is None

    def _first_lines(self) -> list[Line]:
        lines: list[Line] = []
        now = time.monotonic()
        if now >= self._beat_at:
            self._beat_at = now + self._heartbeat
            lines.append(self._composer.process("running", self._about()))
        return lines + self._lost_lines()

    def _lost_lines(self) -> list[Line]:
        dropped = self._recorder.dropped()
        if dropped:
            reason = self._outbox.spool_error or "the buffer was full: recorded faster than sent"
            self.tell_lost(dropped, reason)
        told, self._to_tell = self._to_tell, []
        return [self._composer.lost(count, reason) for count, reason in told]

    def _newly_open(self) -> list[Any]:
        """Intervals older than one flush that have not been announced yet."""
        recorder = self._recorder
        before = monotonic() - self._open_after
        found = []
        # A copy: calls add and remove all the time. The oldest stand first.
        for span in list(recorder.open.values()):
            if not span.start or span.start > before:
                break
            if not span.end:
                found.append(span)
            if recorder.open.pop(span.id, None) is not None and not span.end:
                recorder.announced[span.id] = span
                if span.end:  # it ended in between and looked for itself in `open`
                    recorder.announced.pop(span.id, None)
        return found

    def _about(self) -> dict[str, Any] | None:
        about: dict[str, Any] = {}
        if self._recorder.problems:
            about["problems"] = dict(self._recorder.problems)
        if self._recorder.docs:
            about["help"] = dict(self._recorder.docs)
        return about or None

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
                "unserialisable", f"{line.name!r} had to be cleaned: {type(error).__name__}: {error}"
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
