"""Lines of schema v1 that were once written stay readable for ever. Never edit a fixture; add new ones."""

import json
from pathlib import Path

import pytest

from rl_insight.schema import KINDS, decode_lines, encode_lines
from rl_insight.schema.jsonschema import json_schema

FIXTURES = sorted((Path(__file__).parent.parent / "fixtures" / "schema-v1").glob("*.jsonl"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_golden_lines_of_version_1_are_read(path: Path) -> None:
    body = path.read_bytes()
    lines = decode_lines(body)
    assert len(lines) == body.count(b"\n")


@pytest.mark.parametrize("path", [p for p in FIXTURES if p.stem != "later-minor"], ids=lambda path: path.stem)
def test_golden_lines_keep_every_value_through_decode_and_encode(path: Path) -> None:
    body = path.read_bytes()
    again = encode_lines(decode_lines(body))
    for before, after in zip(body.splitlines(), again.splitlines(), strict=True):
        was, now = json.loads(before), json.loads(after)
        # A default may be left out, and nothing else may.
        assert {**now, "v": 1, "state": now.get("state", "running")} == {
            **was,
            "v": 1,
            "state": was.get("state", "running"),
        }


@pytest.mark.parametrize("name", ["minimal", "full"])
def test_there_is_a_golden_line_of_every_kind(name: str) -> None:
    path = next(path for path in FIXTURES if path.stem == name)
    assert {json.loads(raw)["kind"] for raw in path.read_bytes().splitlines()} == set(KINDS)


def test_full_golden_lines_use_every_field_of_the_schema() -> None:
    used: dict[str, set[str]] = {}
    for raw in b"".join(path.read_bytes() for path in FIXTURES if path.stem.startswith("full")).splitlines():
        line = json.loads(raw)
        used.setdefault(line["kind"], set()).update(line)
    for definition in json_schema()["$defs"].values():
        (kind,) = definition["properties"]["kind"]["enum"]
        assert set(definition["properties"]) <= used[kind], f"a field of {kind} is in no golden line"


def test_schema_is_published_with_an_id_and_its_version() -> None:
    schema = json_schema()
    assert schema["version"] == "1.0"
    assert schema["$id"].endswith("1.0")
    assert len(schema["$defs"]) == len(KINDS)
