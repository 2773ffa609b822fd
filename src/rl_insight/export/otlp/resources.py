"""A process of ours as a resource of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rl_insight.schema import SCHEMA_VERSION, Process
from rl_insight.schema import conventions as names
from rl_insight.version import __version__


def via(process: Process | None) -> list[str]:
    """The collectors that a process's lines have been through before they came here."""
    about = ((process.attrs if process else None) or {}).get("otlp")
    through = about.get("via") if isinstance(about, dict) else None
    return [str(one) for one in through] if isinstance(through, list) else []


def resource(proc: str, process: Process | None, collector_id: str, more: Mapping[str, str]) -> dict[str, Any]:
    """The attributes of a process's resource; `more` are those that the environment adds."""
    said: dict[str, Any] = {}
    received = ((process.attrs if process else None) or {}).get(names.RESOURCE_ATTRS)
    if isinstance(received, dict):
        said |= received
    else:
        said |= {"telemetry.sdk.name": "rl-insight", "telemetry.sdk.language": "python"}
        said["telemetry.sdk.version"] = __version__
        said["service.name"] = (process.role if process else None) or "rl-insight"
        said["service.instance.id"] = proc
        if process is not None and process.project:
            said["service.namespace"] = process.project
    for key, value in more.items():
        if key == "service.name" or key not in said:
            said[key] = value
    if process is not None:
        # What changes while a process runs (its state, its clock) is told by log records: a resource stays what it is.
        for row in names.RESOURCE:
            field = getattr(process, row.field)
            if field is not None:
                said[row.attribute] = field
    said |= {names.PROC: proc, names.VIA: [*via(process), collector_id]}
    said |= {names.SCHEMA: SCHEMA_VERSION, names.CONVENTIONS: names.VERSION}
    said.setdefault("rl.run", "unknown")
    return said
