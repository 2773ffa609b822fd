"""Checks a batch and leaves out what is stored already. No line is looked at in Python: maps and sorts do it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, compress
from operator import attrgetter, gt
from typing import NamedTuple

from rl_insight.collect.marks import Marks
from rl_insight.schema import BadLine, Line, decode_lines

# A body is decoded piece by piece: this bounds the memory of the decoded lines and the time one call keeps the
# interpreter to itself, and a piece's lines fit into the processor's cache, which makes them a third cheaper.
PIECE_BYTES = 128 * 2**10

_proc = attrgetter("proc")
_seq = attrgetter("seq")


class Checked(NamedTuple):
    """The new lines of a batch, as they go to the log, and the marks once it has them."""

    data: bytes
    accepted: int
    duplicates: int
    marks: dict[str, int]


def check(body: bytes, marks: Marks) -> Checked:
    """Check every line of a batch and keep the new ones; raise `BadLine` when one is bad, and keep none.

    New is a line whose `seq` is above its process's mark. Of lines with the same `proc` and `seq` in one batch the
    first counts. Lines of a process come out with growing `seq`, whatever order they came in.
    """
    distinct: set[str] = set()
    seqs: list[int] = []
    for piece in _split(body):
        lines = _decode(piece, len(seqs))
        distinct.update(map(_proc, lines))
        seqs.extend(map(_seq, lines))
    if not seqs:
        return Checked(b"", 0, 0, {})
    floors = marks.of(distinct)
    if len(distinct) > 1:
        # Only now worth keeping a name for each line.
        return _pick(body, list(chain.from_iterable(map(_procs, _split(body)))), seqs, floors)
    (proc,) = distinct
    if seqs[0] > floors[proc] and seqs == list(range(seqs[0], seqs[0] + len(seqs))):
        return Checked(body, len(seqs), 0, {proc: seqs[-1]})
    return _pick(body, [proc] * len(seqs), seqs, floors)


def _decode(piece: bytes, before: int) -> list[Line]:
    try:
        return decode_lines(piece)
    except BadLine as bad:
        raise BadLine(bad.number + before, bad.path, bad.problem) from None


def _procs(piece: bytes) -> list[str]:
    return list(map(_proc, decode_lines(piece)))


def _pick(body: bytes, procs: list[str], seqs: list[int], floors: dict[str, int]) -> Checked:
    """The way of any batch that is not one process's next lines in order."""
    fresh = list(compress(range(len(seqs)), map(gt, seqs, map(floors.__getitem__, procs))))
    fresh.reverse()  # so that of two equal lines the first is the one that stays
    kept_procs = list(map(procs.__getitem__, fresh))
    kept_seqs = list(map(seqs.__getitem__, fresh))
    by_key = dict(zip(zip(kept_procs, kept_seqs, strict=True), fresh, strict=True))
    keys = sorted(by_key)
    if not keys:
        return Checked(b"", 0, len(seqs), {})
    raw = body.split(b"\n")
    chosen = map(raw.__getitem__, map(by_key.__getitem__, keys))
    return Checked(b"\n".join(chosen) + b"\n", len(keys), len(seqs) - len(keys), dict(keys))


def _split(body: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(body):
        end = body.rfind(b"\n", start, start + PIECE_BYTES) + 1
        if not end:  # one line longer than a piece
            end = body.find(b"\n", start) + 1 or len(body)
        yield body[start:end]
        start = end
