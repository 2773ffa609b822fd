"""`rl-insight tail`: lines as they arrive, from a server or from growing files."""

from __future__ import annotations

import enum
import fnmatch
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from rl_insight.cli.options import DataDir, Url, resolve
from rl_insight.cli.trouble import Trouble, note
from rl_insight.schema import KINDS


class Form(str, enum.Enum):
    """How a line is printed."""

    text = "text"
    json = "json"


def tail(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Follow the line files in this folder instead of a server.")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help=f"Only this kind, repeatable: {', '.join(KINDS)}.")] = None,
    name: Annotated[list[str] | None, typer.Option(help="Only names like this; * and ? match, repeatable.")] = None,
    run: Annotated[list[str] | None, typer.Option(help="Only this run, repeatable.")] = None,
    proc: Annotated[list[str] | None, typer.Option(help="Only processes like this; * and ? match, repeatable.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", help="Stop after so many lines; 0 goes on.", min=0)] = 0,
    output: Annotated[
        Form | None,
        typer.Option("--format", "-f", help="text, or the JSON as it is.", show_default="text on a terminal"),
    ] = None,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Show lines as they arrive: from the running server, or by following files where none runs."""
    for wanted in kind or ():
        if wanted not in KINDS:
            raise Trouble(f"there is no kind {wanted!r}", f"use one of {', '.join(KINDS)}")
    show = _as_text if (output or (Form.text if sys.stdout.isatty() else Form.json)) is Form.text else _as_json
    source, runs = _source(folder, resolve(data_dir), url)
    chosen = Chosen(kind or [], name or [], run or [], proc or [], runs)
    shown = 0
    for raw in source:
        line = _decode(raw)
        if line is None or not chosen.wants(line):
            continue
        try:
            print(show(raw, line), flush=True)
        except BrokenPipeError:
            # The reader (head, less) has had enough. Python would complain about stdout once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        shown += 1
        if count and shown >= count:
            return
    note("the server has ended the stream; it is stopping, or gone")


class Chosen:
    """Which lines to show. Knows the run of a process from its process line."""

    def __init__(
        self, kinds: list[str], names: list[str], runs: list[str], procs: list[str], run_of: dict[str, str]
    ) -> None:
        self.kinds = set(kinds)
        self.names = names
        self.runs = set(runs)
        self.procs = procs
        self.run_of = run_of

    def wants(self, line: dict[str, Any]) -> bool:
        kind, proc = line.get("kind"), str(line.get("proc", ""))
        if kind == "process":
            self.run_of[proc] = str(line.get("run", ""))
        if "skipped" in line and kind is None:
            return True
        return (
            (not self.kinds or kind in self.kinds)
            and (not self.names or _like(str(line.get("name", "")), self.names))
            and (not self.procs or _like(proc, self.procs))
            and (not self.runs or self.run_of.get(proc) in self.runs)
        )


def _like(text: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


def _decode(raw: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _as_json(raw: bytes, line: dict[str, Any]) -> str:
    return raw.decode("utf-8", "replace").rstrip("\n")


_HEAD = ("kind", "proc", "seq", "ts", "name", "v")


def _as_text(raw: bytes, line: dict[str, Any]) -> str:
    if "skipped" in line and "kind" not in line:
        return f"… {line['skipped']} lines skipped: they came faster than they could be shown"
    seconds, nanos = divmod(int(line.get("ts", 0)), 1_000_000_000)
    clock = time.strftime("%H:%M:%S", time.localtime(seconds)) + f".{nanos // 1_000_000:03d}"
    rest = " ".join(f"{key}={_brief(value)}" for key, value in line.items() if key not in _HEAD)
    head = f"{clock} {line.get('kind', '?'):7} {line.get('proc', '?')} #{line.get('seq', '?')}"
    return f"{head} {line.get('name', '')} {rest}"


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _source(folder: Path | None, data_dir: Path, url: str | None) -> tuple[Iterator[bytes], dict[str, str]]:
    from rl_insight.cli.client import Client, running

    if folder is not None:
        if not folder.exists():
            raise Trouble(f"there is no folder {folder}", "name the folder that RL_INSIGHT_DIR names for the recorders")
        return _follow(folder), _runs_of_files(folder)
    client = Client(url, os.environ.get("RL_INSIGHT_TOKEN", "")) if url else running(data_dir)
    if client is not None:
        rows = client.post("/api/v1/query", {"sql": "SELECT proc, run FROM process"})["rows"]
        return client.follow("/api/v1/tail"), {str(proc): str(run) for proc, run in rows}
    if not data_dir.is_dir():
        raise Trouble(
            f"no server runs on {data_dir}, and the folder does not exist",
            "start a server with 'rl-insight server start', or name a folder of line files",
        )
    note(f"no server runs on {data_dir}; following the files in it")
    return _follow(data_dir), _runs_of(data_dir)


def _runs_of(data_dir: Path) -> dict[str, str]:
    from rl_insight.cli.reader import reading

    try:
        with reading(data_dir) as store:
            return {str(proc): str(run) for proc, run in store.rows("SELECT proc, run FROM process").rows}
    except Trouble:
        return {}


def _follow(folder: Path) -> Iterator[bytes]:
    from rl_insight.serve.follow import follow_files

    for lines in follow_files(folder):
        yield from lines.split(b"\n")[:-1]


def _runs_of_files(folder: Path) -> dict[str, str]:
    """The run of each process, from the first line of each file, which is its process line."""
    from rl_insight.collect import line_files

    runs = {}
    for file in line_files(folder):
        if file.path.suffix == ".jsonl":
            with file.path.open("rb") as stream:
                line = _decode(stream.readline(2**20)) or {}
            if line.get("kind") == "process":
                runs[str(line.get("proc"))] = str(line.get("run"))
    return runs
