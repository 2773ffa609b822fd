"""The command line, `rl-insight`. One file a command; heavy imports happen inside the command that needs them."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; every expected error is a sentence and an exit code, never a traceback."""
    try:
        from rl_insight.cli.app import app
        from rl_insight.cli.trouble import Trouble, show
    except ModuleNotFoundError as missing:
        _explain_missing(missing)
    try:
        app()
    except Trouble as trouble:
        show(trouble)
        sys.exit(trouble.code)
    except ModuleNotFoundError as missing:
        _explain_missing(missing)


def _explain_missing(missing: ModuleNotFoundError) -> None:
    if (missing.name or "").partition(".")[0] == "rl_insight":
        raise missing
    print(
        f"The command line needs {missing.name}, which is not installed: this installation can record, not collect.\n"
        'Install the rest with:  pip install "rl-insight[server]"',
        file=sys.stderr,
    )
    sys.exit(1)
