"""Batches on their way out: in memory while the sink keeps up, on disk as soon as it does not."""

import threading
from collections import deque

from rl_insight.ship.sink import Batch
from rl_insight.ship.spool import Spool, SpoolFull


class Outbox:
    """A first-in, first-out queue between the packer, who puts, and the sender, who peeks and is done.

    Either all of it is in memory or all of it is on disk, which keeps it in order. It goes to disk when the sink
    fails, so that a killed process loses only what it had not packed yet, and when memory is full.
    """

    def __init__(self, memory_bytes: int, spool: Spool | None) -> None:
        self.put_lines = 0
        self.done_lines = 0
        self.spool_error = ""
        self._memory: deque[Batch] = deque()
        self._memory_bytes = 0
        self._memory_limit = memory_bytes
        self._spool = spool
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """How much waits."""
        return self._memory_bytes + self.spooled_bytes

    @property
    def spooled_bytes(self) -> int:
        """How much of it waits on disk."""
        return self._spool.bytes if self._spool is not None else 0

    @property
    def waiting_lines(self) -> int:
        """How many lines wait."""
        return self.put_lines - self.done_lines

    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._memory and not self._spool

    def has_room(self) -> bool:
        """Whether another batch would be taken; when not, nothing should be packed."""
        with self._lock:
            if self._memory_bytes < self._memory_limit and not self._spool:
                return True
            return self._spool is not None and self._spool.has_room()

    def put(self, batch: Batch, *, last: bool = False) -> bool:
        """Take a batch; False when there is no room for it anywhere. The `last` one may go over the spool's limit."""
        with self._lock:
            # A batch is taken whatever its size when nothing else waits: small limits must not stop delivery.
            fits = not self._memory or self._memory_bytes + len(batch.body) <= self._memory_limit
            if not self._spool and fits:
                self._memory.append(batch)
                self._memory_bytes += len(batch.body)
            elif not self._put_on_disk(batch, last):
                return False
            self.put_lines += batch.lines
            return True

    def peek(self, most: int) -> Batch | None:
        """The oldest lines, at most `most` bytes of them (one line at least), or None."""
        with self._lock:
            if self._memory:
                if len(self._memory[0].body) > most and self._memory[0].lines > 1:
                    self._split_first(most)
                return self._memory[0]
            if self._spool:
                body = self._spool.peek(most)
                return Batch(body, body.count(b"\n")) if body else None
            return None

    def done(self, batch: Batch) -> None:
        """Forget a batch that `peek` returned."""
        with self._lock:
            self.done_lines += batch.lines  # first: whoever sees that nothing waits finds it counted
            if self._memory and self._memory[0] is batch:
                self._memory.popleft()
                self._memory_bytes -= len(batch.body)
            elif self._spool:
                # It was in memory when it was peeked and has been spilled since: it is the first on disk.
                self._spool.advance(len(batch.body))

    def spill(self, *, last: bool = False) -> bool:
        """Put everything on disk; False, with all of it still in memory, when that cannot be done."""
        with self._lock:
            return self._spill(last)

    def take_vanished(self) -> int:
        """How many lines were gone from the disk when they were looked for, since the last call."""
        with self._lock:
            if self._spool or self._memory:
                return 0
            # All that is left of what was put and not done is nowhere.
            gone, self.done_lines = self.put_lines - self.done_lines, self.put_lines
            return gone

    def close(self) -> None:
        """Let go of the spool."""
        if self._spool is not None:
            self._spool.close()

    def abandon(self) -> None:
        """In a forked child: leave everything to the parent."""
        if self._spool is not None:
            self._spool.abandon()

    def _put_on_disk(self, batch: Batch, last: bool) -> bool:
        if self._spool is None or not self._spill(last):
            return False
        try:
            self._spool.put(batch.body, reserved=last)
        except SpoolFull as full:
            self.spool_error = str(full)
            return False
        return True

    def _spill(self, last: bool) -> bool:
        if not self._memory:
            return True
        if self._spool is None:
            return False
        try:
            self._spool.put(b"".join(batch.body for batch in self._memory), reserved=last)
        except SpoolFull as full:
            self.spool_error = str(full)
            return False
        self._memory.clear()
        self._memory_bytes = 0
        return True

    def _split_first(self, most: int) -> None:
        body = self._memory.popleft().body
        pieces = []
        while body:
            end = body.rfind(b"\n", 0, most) + 1 or body.index(b"\n") + 1
            pieces.append(Batch(body[:end], body.count(b"\n", 0, end)))
            body = body[end:]
        self._memory.extendleft(reversed(pieces))
