"""The sender: one thread packs what is recorded, one delivers it in order, and neither is ever waited for."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rl_insight.record.recorder import Recorder
from rl_insight.ship.outbox import Outbox
from rl_insight.ship.packer import Packer
from rl_insight.ship.sink import Ack, Batch, Refused, Sink, TooLarge, Unavailable
from rl_insight.ship.spool import Spool, orphans

_FIRST_RETRY = 0.1
_LAST_RETRY = 5.0
_LONGEST_WAIT = 60.0
LOOK_FOR_ORPHANS = 30.0
_REFUSED_BYTES = 64 * 2**20


class Sender:
    """Owns the packing and the delivering thread of one process."""

    def __init__(
        self,
        recorder: Recorder,
        packer: Packer,
        outbox: Outbox,
        sink: Sink,
        *,
        interval: float,
        batch_bytes: int,
        spool_parent: Path | None,
        on_clock: Callable[[int], None] = lambda offset: None,
    ) -> None:
        self.sent = 0
        self.duplicates = 0
        self.last_error = ""
        self.look_for_orphans = LOOK_FOR_ORPHANS
        self._recorder = recorder
        self._packer = packer
        self._outbox = outbox
        self._sink = sink
        self._interval = interval
        self._batch_bytes = self._most = batch_bytes
        self._spool_parent = spool_parent
        self._on_clock = on_clock
        self._best_trip = float("inf")
        self._pack_now = threading.Event()
        self._send_now = threading.Event()
        self._packed = 0  # how often everything recorded was packed
        self._stopping = False
        self._give_up_at = float("inf")
        self._failures = 0
        self._retry_at = 0.0
        self._not_before = 0.0  # what the other side asked for, which no hurry of ours overrides
        self._orphans_at = 0.0
        self._orphans: Iterator[Spool] = iter(())
        self._orphans_done = 0  # how often everything found was delivered
        self._orphan: Spool | None = None
        self._threads = [
            threading.Thread(target=self._pack_forever, name="rl-insight-pack", daemon=True),
            threading.Thread(target=self._send_forever, name="rl-insight-send", daemon=True),
        ]

    @property
    def started(self) -> bool:
        """Whether it was ever started."""
        return self._threads[0].ident is not None

    def start(self) -> None:
        """Start both threads."""
        for thread in self._threads:
            thread.start()

    def flush(self, timeout: float) -> bool:
        """Wait until what was recorded before the call is delivered; False when time ran out."""
        if not self.started:
            return True
        deadline = time.monotonic() + timeout
        # One packing may be under way and have passed some records by: the one after it has not.
        wanted = self._packed + 2
        self._retry_at = self._not_before
        while self._packed < wanted or not self._all_delivered():
            if self._packed < wanted:
                self._pack_now.set()
            self._send_now.set()
            if time.monotonic() >= deadline or not self._threads[0].is_alive():
                return self._packed >= wanted and self._all_delivered()
            time.sleep(0.002)
        return True

    def deliver_orphans(self, timeout: float) -> bool:
        """Look now for what processes that are gone left on this node, and deliver it; False when time ran out."""
        deadline = time.monotonic() + timeout
        # The first round may have begun before the last of them was gone.
        for _ in range(2):
            self._orphans_at = 0.0
            wanted = self._orphans_done + 1
            while self._orphans_done < wanted:
                self._send_now.set()
                if time.monotonic() >= deadline or not self.started:
                    return False
                time.sleep(0.01)
        return True

    def stop(self, timeout: float) -> int:
        """Pack and deliver the rest within `timeout` seconds, put on disk what is left; returns lines lost."""
        if not self.started:
            return 0
        self._give_up_at = time.monotonic() + timeout
        self._stopping = True
        self._retry_at = self._not_before
        self._pack_now.set()
        for thread in self._threads:
            thread.join(max(0.1, self._give_up_at - time.monotonic() + 0.5))
        lost = self._packer.stuck_lines
        if not self._outbox.empty() and not self._outbox.spill(last=True):
            lost += self._outbox.waiting_lines
        self._outbox.close()
        self._sink.close()
        return lost

    def _all_delivered(self) -> bool:
        return self._outbox.empty() and not self._packer.stuck_lines

    def _pack_forever(self) -> None:
        while True:
            stopping = self._stopping
            self._pack_now.clear()
            try:
                if stopping:
                    self._packer.finish()
                else:
                    self._packer.pack()
            except Exception as error:
                self._recorder.problem("packing", f"lines could not be packed: {type(error).__name__}: {error}")
            self._packed += 1
            self._send_now.set()
            if stopping:
                return
            self._pack_now.wait(self._interval)

    def _send_forever(self) -> None:
        while True:
            # Asked before looking: what the last packing put in must be seen by one more look.
            last_look = not self._threads[0].is_alive()
            try:
                idle = not self._send_one() and not self._send_for_orphan()
            except Exception as error:  # a fault of ours must not end delivery for good
                self._failed(f"sending failed: {type(error).__name__}: {error}", 0.0)
                idle = False
            if self._stopping and last_look and idle and self._packer.has_untold:
                self._packer.finish()  # refused after the last packing: the packing thread is gone, so we may
                continue
            if idle and not (self._stopping and last_look):
                self._send_now.wait(0.01 if self._stopping else 1.0)
                self._send_now.clear()
            elif not idle:
                self._wait_for_retry()
            if self._stopping and ((idle and last_look) or time.monotonic() >= self._give_up_at):
                self._leave_orphan()
                return

    def _send_one(self) -> bool:
        """Send the oldest batch; False when there is none."""
        batch = self._outbox.peek(self._most)
        if batch is None:
            self._packer.tell_lost(self._outbox.take_vanished(), "removed from the spool by somebody else")
            return False
        try:
            ack = self._timed_send(batch)
        except Unavailable as failed:
            self._outbox.spill()
            self._failed(str(failed), failed.retry_after)
        except (TooLarge, Refused) as failed:
            self._cut_or_set_aside(batch, failed)
        else:
            self.sent += batch.lines
            self.duplicates += ack.duplicates
            self._succeeded()
            self._outbox.done(batch)  # last: whoever waits for it then finds the rest told
        return True

    def _succeeded(self) -> None:
        self._failures = 0
        self._retry_at = self._not_before = 0.0
        self.last_error = ""
        self._most = min(self._most * 2, self._batch_bytes)

    def _timed_send(self, batch: Batch) -> Ack:
        began = time.monotonic_ns()
        ack = self._sink.send(batch)
        trip = time.monotonic_ns() - began
        # The shorter the trip, the less the clocks can be off by it. Old estimates fade: clocks drift.
        self._best_trip *= 1.01
        if ack.clock is not None and trip <= self._best_trip:
            self._best_trip = trip
            self._on_clock(ack.clock - (self._recorder.base + began + trip // 2))
        return ack

    def _failed(self, message: str, retry_after: float) -> None:
        self.last_error = message
        self._failures += 1
        if self._failures == 3:
            self._recorder.problem("unavailable", f"{message}; lines are kept and sent later")
        pause = min(_LAST_RETRY, _FIRST_RETRY * 2 ** min(self._failures - 1, 10)) * random.uniform(0.5, 1.0)
        self._not_before = time.monotonic() + min(retry_after, _LONGEST_WAIT) if retry_after else 0.0
        self._retry_at = max(time.monotonic() + pause, self._not_before)

    def _wait_for_retry(self) -> None:
        while (now := time.monotonic()) < min(self._retry_at, self._give_up_at):
            self._send_now.wait(min(0.2, self._retry_at - now))
            self._send_now.clear()

    def _cut_or_set_aside(self, batch: Batch, failed: TooLarge | Refused) -> None:
        """Halve a batch until the one line is found that cannot be taken; keep that in a file."""
        if batch.lines > 1:
            self._cut(batch, failed)
            return
        self.last_error = str(failed)
        kept = self._set_aside(batch)
        self._recorder.problem("refused", f"{failed}; the line was {kept}")
        self._packer.tell_lost(1, f"refused by the collector and {kept}")
        self._outbox.done(batch)

    def _cut(self, batch: Batch, failed: TooLarge | Refused) -> None:
        self._most = max(1, len(batch.body) // 2)
        if isinstance(failed, TooLarge) and failed.limit:
            self._batch_bytes = max(1, min(self._batch_bytes, failed.limit))
            self._most = self._batch_bytes if self._batch_bytes < len(batch.body) else self._most

    def _set_aside(self, batch: Batch) -> str:
        if self._spool_parent is None:
            return "dropped"
        path = self._spool_parent / "refused.jsonl"
        try:
            self._spool_parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with path.open("ab") as file:
                if file.tell() + len(batch.body) > _REFUSED_BYTES:
                    return f"dropped, since {path} is full"
                file.write(batch.body)
        except OSError as error:
            return f"dropped, since {path} cannot be written: {error.strerror}"
        return f"kept in {path}"

    def _send_for_orphan(self) -> bool:
        """Send one batch of what processes that are gone left on this node; False when there is none.

        One batch a call: our own lines wait no longer than that. The spool stays open in between, since a reader
        that comes anew begins at the start.
        """
        if self._spool_parent is None or self._stopping:
            return False
        if self._orphan is None:
            if time.monotonic() >= self._orphans_at:
                self._orphans_at = time.monotonic() + self.look_for_orphans
                self._orphans = orphans(self._spool_parent)
            self._orphan = next(self._orphans, None)
            if self._orphan is None:
                self._orphans_done += 1
                return False
        try:
            body = self._orphan.peek(self._most)
        except OSError as error:
            self._recorder.problem("spool", f"{self._orphan.folder} cannot be read: {error.strerror}")
            body = b""
        if not body:
            self._leave_orphan()
            return True
        batch = Batch(body, body.count(b"\n"))
        try:
            self.duplicates += self._sink.send(batch).duplicates
        except Unavailable as failed:
            self._failed(str(failed), failed.retry_after)
            return True
        except (TooLarge, Refused) as failed:
            if batch.lines > 1:
                self._cut(batch, failed)
                return True
            kept = self._set_aside(batch)
            self._recorder.problem("refused", f"{failed}; the line, left by another process, was {kept}")
        else:
            self.sent += batch.lines
        self._orphan.advance(len(body))
        self._succeeded()
        return True

    def _leave_orphan(self) -> None:
        if self._orphan is not None:
            self._orphan.close()
            self._orphan = None
