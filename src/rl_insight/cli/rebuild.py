"""`rl-insight rebuild`: make the store anew from the log."""

from __future__ import annotations

from rl_insight.cli.options import DataDir, resolve
from rl_insight.cli.trouble import Trouble, note


def rebuild(data_dir: DataDir = None) -> None:
    """Make the store anew from the log. The log is not changed; the old store goes when the new one is done."""
    from rl_insight.cli.progress import progress
    from rl_insight.collect.segments import numbered
    from rl_insight.serve import address
    from rl_insight.store import rebuild as rebuild_store

    folder = resolve(data_dir)
    if not (folder / "log").is_dir():
        raise Trouble(f"there is no log in {folder}", "name the collector's data folder with --data-dir")
    try:
        with address.locked(folder), progress("rebuilding the store") as show:
            first = min(numbered(folder / "log"), default=1)
            rebuilt = rebuild_store(folder, show)
    except address.InUse as error:
        what, _, do = str(error).partition("; ")
        raise Trouble(what, do) from None
    note(f"rebuilt the store of {folder}: {rebuilt.lines:,} lines in {rebuilt.seconds:.1f} s")
    if rebuilt.unreadable:
        note(f"{rebuilt.unreadable:,} lines could not be read; 'rl-insight verify' names them")
    if first > 1:
        note(
            f"the log begins with segment {first}: older ones were removed by collector.retain_bytes or retain_days, "
            "and their lines are not in the store"
        )
