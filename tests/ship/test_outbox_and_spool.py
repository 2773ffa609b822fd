"""Outbox and spool against a plain list: first in, first out, nothing lost, nothing doubled, whatever fails."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rl_insight.ship import spool as spool_module
from rl_insight.ship.outbox import Outbox
from rl_insight.ship.sink import Batch
from rl_insight.ship.spool import Spool, SpoolFull, orphans

MEMORY, DISK = 200, 600
sizes = st.lists(st.integers(1, 40), min_size=1, max_size=5)


def batch_of(lines: list[bytes]) -> Batch:
    return Batch(b"".join(lines), len(lines))


class OutboxAgainstAList(RuleBasedStateMachine):
    """What was put and not yet done, oldest first, is what can be peeked."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        spool_module._append_whole = _APPEND
        self.file_bytes, spool_module._FILE_BYTES = spool_module._FILE_BYTES, 150
        self.spool = Spool(self.folder / "spool", DISK)
        self.outbox = Outbox(MEMORY, self.spool)
        self.waiting: list[bytes] = []
        self.peeked: Batch | None = None
        self.number = 0
        self.full = False

    def teardown(self) -> None:
        spool_module._FILE_BYTES = self.file_bytes
        self.outbox.close()
        shutil.rmtree(self.folder)

    def _lines(self, widths: list[int]) -> list[bytes]:
        made = []
        for width in widths:
            self.number += 1
            made.append(str(self.number).encode() * width + b"\n")
        return made

    @rule(widths=sizes, last=st.booleans())
    def put(self, widths: list[int], last: bool) -> None:
        lines = self._lines(widths)
        before = self.outbox.bytes
        if self.outbox.put(batch_of(lines), last=last):
            self.waiting += lines
        else:
            assert self.full or before + len(b"".join(lines)) > DISK or before > 0
            assert self.outbox.bytes == before

    @rule(most=st.integers(1, 300))
    def peek(self, most: int) -> None:
        self.peeked = self.outbox.peek(most)
        if self.peeked is None:
            assert self.waiting == []
        else:
            lines = self.peeked.body.splitlines(keepends=True)
            assert lines == self.waiting[: len(lines)]
            assert self.peeked.lines == len(lines)
            assert len(self.peeked.body) <= most or len(lines) == 1

    @precondition(lambda self: self.peeked is not None)
    @rule()
    def done(self) -> None:
        assert self.peeked is not None
        self.outbox.done(self.peeked)
        del self.waiting[: self.peeked.lines]
        self.peeked = None

    @rule(last=st.booleans())
    def spill(self, last: bool) -> None:
        before = self.outbox.bytes
        spilled = self.outbox.spill(last=last)
        assert self.outbox.bytes == before
        assert spilled or self.full or before > DISK

    @rule()
    def disk_fills_or_empties(self) -> None:
        self.full = not self.full
        spool_module._append_whole = _no_space if self.full else _APPEND

    @rule()
    def the_process_dies_and_another_takes_over(self) -> None:
        """What was in memory is gone; what was on disk is delivered by another, from the start of its oldest file."""
        on_disk = self.outbox.spooled_bytes > 0
        self.spool.abandon()
        heirs = list(orphans(self.folder))
        found = b""
        for heir in heirs:
            while piece := heir.peek(100):
                found += piece
                heir.advance(len(piece))
            heir.close()
        expected = b"".join(self.waiting) if on_disk else b""
        assert found.endswith(expected)
        self.spool = Spool(self.folder / f"spool-{self.number}", DISK)
        self.outbox = Outbox(MEMORY, self.spool)
        self.waiting, self.peeked = [], None

    @invariant()
    def counts_and_limits_hold(self) -> None:
        assert self.outbox.waiting_lines == len(self.waiting)
        assert self.outbox.empty() == (not self.waiting)
        assert self.outbox._memory_bytes <= max(MEMORY, 5 * 6 * 41)


_APPEND = spool_module._append_whole


def _no_space(path: Path, size: int, body: bytes) -> None:
    raise OSError(28, "No space left on device")


OutboxAgainstAList.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


class TestOutboxAgainstAList(OutboxAgainstAList.TestCase):  # type: ignore[misc,valid-type]
    def tearDown(self) -> None:
        spool_module._append_whole = _APPEND


@pytest.fixture(autouse=True)
def whole_writes() -> None:
    spool_module._append_whole = _APPEND


def test_a_batch_spilled_while_it_is_on_its_way_is_done_once(tmp_path: Path) -> None:
    outbox = Outbox(1000, Spool(tmp_path / "s", 1000))
    for text in ("a\n", "b\n", "c\n"):
        outbox.put(Batch(text.encode(), 1))
    first = outbox.peek(100)
    assert first is not None
    assert outbox.spill()
    outbox.put(Batch(b"d\n", 1))
    outbox.done(first)
    rest = outbox.peek(100)
    assert rest is not None
    assert rest.body == b"b\nc\nd\n"


def test_a_spool_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    mine = Spool(tmp_path / "s", 1000)
    mine.put(b"a\n")
    assert Spool.take_over(tmp_path / "s") is None
    with pytest.raises(SpoolFull, match="another process"):
        Spool(tmp_path / "s", 1000).put(b"b\n")
    mine.abandon()
    heir = Spool.take_over(tmp_path / "s")
    assert heir is not None
    assert heir.peek(10) == b"a\n"
    heir.advance(2)
    heir.close()
    assert not (tmp_path / "s").exists()


def test_a_folder_removed_while_it_was_being_taken_is_made_again(tmp_path: Path) -> None:
    mine = Spool(tmp_path / "s", 1000)
    (tmp_path / "s").mkdir()
    lock = os.open(tmp_path / "s" / "owner", os.O_RDWR | os.O_CREAT)
    opened = os.open
    try:

        def opens_what_is_removed_then(*arguments: object, **more: object) -> int:
            spool_module.os.open = opened  # type: ignore[assignment]
            shutil.rmtree(tmp_path / "s")
            return os.dup(lock)

        spool_module.os.open = opens_what_is_removed_then  # type: ignore[assignment]
        with pytest.raises(SpoolFull):
            mine.put(b"a\n")
    finally:
        spool_module.os.open = opened  # type: ignore[assignment]
        os.close(lock)
    mine.put(b"a\n")
    assert mine.peek(10) == b"a\n"
    mine.close()


def test_what_a_failed_write_left_is_not_read_and_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path / "s", 1000)
    spool.put(b"first\n")

    def leaves_more_than_it_should(path: Path, size: int, body: bytes) -> None:
        path.write_bytes(path.read_bytes() + body + b"and")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(spool_module, "_append_whole", leaves_more_than_it_should)
        with pytest.raises(SpoolFull, match="No space left"):
            spool.put(b"second\n")
    assert spool.peek(100) == b"first\n"
    spool.put(b"2\n")
    assert spool.peek(100) == b"first\n2\n"
    spool.advance(8)
    assert spool.peek(100) == b""
    assert not spool
    spool.close()


def test_the_limit_is_kept_but_for_last_words(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "s", 10)
    spool.put(b"123456\n")
    with pytest.raises(SpoolFull, match="limit of 10 bytes"):
        spool.put(b"123456\n")
    spool.put(b"123456\n", reserved=True)
    assert spool.bytes == 14
    spool.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=30).map(lambda raw: raw.hex().encode() + b"\n"), max_size=20), st.data())
def test_what_was_spooled_is_read_back_whatever_the_pieces(lines: list[bytes], data: st.DataObject) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        spool = Spool(folder / "s", 10**6)
        for line in lines:
            spool.put(line)
        read = b""
        while piece := spool.peek(data.draw(st.integers(1, 200))):
            read += piece
            spool.advance(len(piece))
        assert read == b"".join(lines)
        assert spool.bytes == 0
        spool.close()
        assert not (folder / "s").exists()
    finally:
        shutil.rmtree(folder)
