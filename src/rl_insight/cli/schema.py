"""`rl-insight schema`: the line format as JSON Schema."""

from __future__ import annotations

import json


def schema() -> None:
    """Print the JSON Schema of a line, for tools in other languages."""
    from rl_insight.schema.jsonschema import json_schema

    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
