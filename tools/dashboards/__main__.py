"""`python -m tools.dashboards`: write every dashboard; `--check` only says whether a file is out of date."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.dashboards import collector, engines, fleet, overview, rollouts, timeline
from tools.dashboards.parts import as_json

FOLDER = Path(__file__).parents[2] / "src" / "rl_insight" / "stack" / "dashboards"
MAKERS = {
    "overview": overview.dashboard,
    "timeline": timeline.dashboard,
    "rollouts": rollouts.dashboard,
    "engines": engines.dashboard,
    "fleet": fleet.dashboard,
    "collector": collector.dashboard,
}


def texts() -> dict[str, str]:
    """What each file should say."""
    return {f"{name}.json": as_json(make()) for name, make in MAKERS.items()}


def main() -> int:
    stale = {
        name: text
        for name, text in texts().items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text() != text
    }
    if "--check" in sys.argv:
        for name in stale:
            print(f"{FOLDER / name} is not what tools/dashboards makes: run 'make dashboards'", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in stale.items():
        (FOLDER / name).write_text(text)
        print(f"wrote {FOLDER / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
