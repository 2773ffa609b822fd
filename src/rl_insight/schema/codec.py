"""Bytes to lines and back. One compiled call a batch; a single line is looked at only to explain a refusal."""

from typing import Any

import msgspec

from rl_insight.schema.lines import KINDS, SCHEMA_MAJOR, Line

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_any_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

encode_line = _encoder.encode
encode_lines = _encoder.encode_lines
"""Turns lines into bytes, one JSON object and one newline each."""


class BadLine(ValueError):
    """A batch holds something that is not a line; says which one, where in it, and what to do."""

    def __init__(self, number: int, path: str, problem: str) -> None:
        super().__init__(f"line {number}: {problem}" + (f" (at {path})" if path else ""))
        self.number = number
        self.path = path
        self.problem = problem


def decode_lines(body: bytes) -> list[Line]:
    """Check a batch of lines and return them; raise `BadLine` for the first that is not one.

    The batch ends with a newline and has no blank line: what passes can go to the log as it is.
    """
    try:
        lines = _decoder.decode_lines(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise explain(body, error) from None
    # Two objects on a line, or one spread over two, decode as well; the log wants exactly one a line.
    # "}\\n{" occurs nowhere inside an object, so these counts leave no newline anywhere else.
    if lines and not (
        body[:1] == b"{"
        and body[-2:] == b"}\n"
        and body.count(b"\n") == len(lines)
        # The longer text is what our own lines begin with, and several times faster to look for.
        and (body.count(b'}\n{"kind":"') == len(lines) - 1 or body.count(b"}\n{") == len(lines) - 1)
    ):
        raise explain(body, ValueError("write one JSON object a line, each ended by a bare newline"))
    return lines


def explain(body: bytes, error: Exception) -> BadLine:
    """Find the first bad line of a refused batch and say what is wrong with it."""
    lines = body.split(b"\n")
    if lines.pop():
        return BadLine(len(lines) + 1, "", "the last line does not end with a newline; was the batch cut off?")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            return BadLine(number, "", "blank line; leave it out")
        try:
            _decoder.decode(raw)
        except msgspec.ValidationError as invalid:
            return _explain_invalid(number, raw, invalid)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as broken:
            return BadLine(number, "", f"not a JSON object: {broken}")
    return BadLine(0, "", f"the batch is not newline-delimited JSON: {error}")


def _explain_invalid(number: int, raw: bytes, invalid: msgspec.ValidationError) -> BadLine:
    problem, _, path = str(invalid).partition(" - at ")
    path = path.strip("`")
    try:
        line = _any_decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as broken:
        return BadLine(number, "", f"not a JSON object: {broken}")
    major = _major_of(line)
    if major not in (None, str(SCHEMA_MAJOR)):
        return BadLine(
            number,
            "$.schema" if isinstance(line, dict) and "schema" in line else "$.v",
            f"the line is of schema version {major}, this collector reads version {SCHEMA_MAJOR}; "
            "upgrade rl-insight on the collector's machine",
        )
    if path == "$.kind":
        problem = f"unknown kind {line['kind']!r}; known are {', '.join(KINDS)}"
    return BadLine(number, path, problem)


def _major_of(line: object) -> str | None:
    if not isinstance(line, dict):
        return None
    if "v" in line:
        return str(line["v"])
    schema = line.get("schema")
    return schema.partition(".")[0] if isinstance(schema, str) else None
