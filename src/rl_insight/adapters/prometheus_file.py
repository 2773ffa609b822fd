"""Edits a Prometheus' config: the targets of one job, with every other line and comment of the file left alone."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml


class BadConfig(ValueError):
    """The config, or what was asked of it, is not as it should be; says what to do."""


def with_targets(text: str, job: str, addresses: list[str]) -> str:
    """The text of a config in which `job` scrapes these addresses and no others."""
    try:
        before = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadConfig(f"it is not YAML: {error}") from None
    wanted = _changed(before, job, addresses)
    # Comments are worth keeping; but what counts is that it says what it should.
    for made in (_edited(text, job, addresses), yaml.safe_dump(wanted, sort_keys=False)):
        if made is not None and _loads_as(made, wanted):
            return made
    raise BadConfig("it could not be edited")  # not reached: what is dumped loads


def _changed(before: Any, job: str, addresses: list[str]) -> dict[str, Any]:
    if before is None:
        before = {}
    if not isinstance(before, dict) or not isinstance(before.get("scrape_configs") or [], list):
        raise BadConfig("it is not a Prometheus config; a mapping with scrape_configs is wanted")
    static = [{"targets": addresses}]
    jobs = list(before.get("scrape_configs") or [])
    for place, one in enumerate(jobs):
        if isinstance(one, dict) and one.get("job_name") == job:
            jobs[place] = {**one, "static_configs": static}
            break
    else:
        jobs.append({"job_name": job, "static_configs": static})
    return {**before, "scrape_configs": jobs}


def _loads_as(text: str, wanted: Any) -> bool:
    try:
        return bool(yaml.safe_load(text) == wanted)
    except yaml.YAMLError:
        return False


def _edited(text: str, job: str, addresses: list[str]) -> str | None:
    """The text with only the places of the targets changed; None when that place is not found."""
    static = json.dumps([{"targets": addresses}])
    named = f"job_name: {json.dumps(job)}"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    jobs = _value(root, "scrape_configs")
    if jobs is None:
        return _joined(text, f"scrape_configs:\n  - {named}\n    static_configs: {static}\n")
    if not isinstance(jobs, yaml.SequenceNode):
        return None
    for one in jobs.value:
        name, there = _value(one, "job_name"), _value(one, "static_configs")
        if name is None or name.value != job:
            continue
        if there is not None:
            return text[: there.start_mark.index] + static + text[_end(there) :]
        lead = " " * one.start_mark.column
        return _inserted(text, _end(one), f"{lead}static_configs: {static}")
    if not jobs.value or jobs.flow_style:
        return None
    lead = " " * jobs.start_mark.column
    return _inserted(text, _end(jobs), f"{lead}- {named}\n{lead}  static_configs: {static}")


def _inserted(text: str, place: int, lines: str) -> str:
    """With lines put below the one in which `place` is, whose comment stays with it."""
    end = text.find("\n", place)
    return f"{text}\n{lines}\n" if end < 0 else f"{text[:end]}\n{lines}{text[end:]}"


def _joined(text: str, more: str) -> str:
    return (text if not text or text.endswith("\n") else text + "\n") + more


def _value(node: Any, key: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _end(node: Any) -> int:
    """Where a node's own text ends; the mark of a block is behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def write(path: Path, text: str) -> None:
    """Replace a file in one step, with the rights it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.resolve()
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o644
    descriptor, fresh = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(fresh).chmod(mode)
        Path(fresh).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(fresh).unlink()
        raise
