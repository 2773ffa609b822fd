"""The line format as JSON Schema, for tools in other languages. `rl-insight schema` prints it."""

from typing import Any

import msgspec

from rl_insight.schema.lines import SCHEMA_VERSION, Line

SCHEMA_ID = f"urn:rl-insight:schema:lines:{SCHEMA_VERSION}"


def json_schema() -> dict[str, Any]:
    """One line of the format, in JSON Schema 2020-12."""
    (line,), components = msgspec.json.schema_components((Line,), ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "RL-Insight line",
        "version": SCHEMA_VERSION,
        "description": "One line of newline-delimited JSON. Fields are only ever added; ignore those you do not know.",
        **line,
        "$defs": components,
    }
