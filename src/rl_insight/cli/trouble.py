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
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(Text.assemble(("error: ", "bold red"), trouble.what))
    if trouble.do:
        console.print(Text.assemble(("  do: ", "bold"), trouble.do))


def note(text: str) -> None:
    """Say something beside the command's output."""
    print(text, file=sys.stderr, flush=True)
