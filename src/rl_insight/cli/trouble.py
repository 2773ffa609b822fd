"""Errors a user can do something about, and how they are shown."""

from __future__ import annotations

import sys


class Trouble(Exception):
    """Something expected went wrong: `what` happened, and what to `do` next."""

    def __init__(self, what: str, do: str = "", *, code: int = 1) -> None:
        super().__init__(what)
        self.what = what
        self.do = do
        self.code = code


def show(trouble: Trouble) -> None:
    """Print it to stderr, without Rich: it may be Rich that is missing."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stderr.isatty() else ("", "")
    note(f"{bold}error:{plain} {trouble.what}")
    if trouble.do:
        note(f"   {bold}do:{plain} {trouble.do}")


def note(text: str) -> None:
    """Say something beside the command's output."""
    print(text, file=sys.stderr, flush=True)
