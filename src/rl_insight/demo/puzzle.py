"""The task: work out a chain of sums with tools, one call a turn, then answer; and the verifier that scores it.

The numbers of a puzzle are called `a b c d`, the last tool result `r`. So `(7 + 12) * 3` is solved by three turns:
`add a b`, `multiply r c`, `answer r`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

TOOLS = ("add", "subtract", "multiply")
SLOTS = ("a", "b", "c", "d", "r")
VOCABULARY = (*TOOLS, "answer", *SLOTS)
MAX_TURNS = 5

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*"}


def calculate(tool: str, left: int, right: int) -> int:
    """What the tool of this name answers."""
    if tool == "add":
        return left + right
    return left - right if tool == "subtract" else left * right


@dataclass(frozen=True)
class Puzzle:
    """Numbers and the operations between them, to be worked out from left to right."""

    numbers: tuple[int, ...]
    operations: tuple[str, ...]

    def values(self) -> list[int]:
        """Every intermediate result on the way; the last one is the answer."""
        value, found = self.numbers[0], []
        for tool, number in zip(self.operations, self.numbers[1:], strict=True):
            value = calculate(tool, value, number)
            found.append(value)
        return found

    def __str__(self) -> str:
        text = str(self.numbers[0])
        for tool, number in zip(self.operations, self.numbers[1:], strict=True):
            text = f"({text} {_SIGNS[tool]} {number})"
        return text


def make_puzzle(rng: random.Random) -> Puzzle:
    """One to three operations on numbers that differ, so that a right value is hardly ever luck."""
    length = rng.choice((1, 2, 2, 3, 3))
    return Puzzle(tuple(rng.sample(range(2, 30), length + 1)), tuple(rng.choice(TOOLS) for _ in range(length)))


@dataclass(frozen=True)
class Call:
    """A tool call the agent asked for."""

    tool: str
    left: int
    right: int


@dataclass
class Attempt:
    """One try at a puzzle: what has been called, what came back, and the answer."""

    puzzle: Puzzle
    results: list[int] = field(default_factory=list)
    turns: int = 0
    malformed: int = 0
    right_tools: int = 0
    answer: int | None = None

    @property
    def over(self) -> bool:
        return self.answer is not None or self.turns >= MAX_TURNS

    @property
    def solved(self) -> bool:
        return self.answer == self.puzzle.values()[-1]

    def take(self, turn: list[str]) -> Call | None:
        """Take a written turn: a tool call to make, or None when it was an answer or made no sense."""
        self.turns += 1
        values = [self._value(token) for token in turn[1:]]
        if None not in values:
            if turn[0] in TOOLS:
                wanted = self.puzzle.operations[len(self.results) : len(self.results) + 1]
                self.right_tools += turn[0] in wanted
                return Call(turn[0], int(values[0] or 0), int(values[1] or 0))
            if turn[0] == "answer":
                self.answer = values[0]
                return None
        self.malformed += 1
        return None

    def _value(self, token: str) -> int | None:
        """The number under a name, or None when the puzzle has no such number or no tool has answered yet."""
        if token == "r":
            return self.results[-1] if self.results else None
        place = SLOTS.index(token) if token in SLOTS else len(SLOTS)
        return self.puzzle.numbers[place] if place < len(self.puzzle.numbers) else None


def complete(turn: list[str]) -> bool:
    """Whether a turn is over: a call has two arguments, an answer one, and anything else is one wrong token."""
    return len(turn) == (3 if turn[0] in TOOLS else 2 if turn[0] == "answer" else 1)


def score(attempt: Attempt) -> float:
    """1.0 for the right answer; else some credit for right steps, so that there is a slope to climb."""
    if attempt.solved:
        return 1.0
    wanted = attempt.puzzle.values()
    reached = 0
    for value in attempt.results:
        if reached < len(wanted) and value == wanted[reached]:
            reached += 1
    well_formed = 1 - attempt.malformed / max(attempt.turns, 1)
    credit = 0.1 * well_formed + (0.2 * min(attempt.right_tools, len(wanted)) + 0.4 * reached) / len(wanted)
    return credit if attempt.answer is not None else credit / 2
