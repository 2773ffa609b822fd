"""Where a command reads from: the server of a data folder while one runs, else the store itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_insight.cli.client import Client, running
from rl_insight.cli.trouble import Trouble

if TYPE_CHECKING:
    from rl_insight.read.rows import Rows
    from rl_insight.store import Table

MAX_ROWS = 1_000_000
# Counting a billion lines takes a while.
PATIENCE = 3600.0


class ServerRows:
    """Reads through a running server's query API."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.client.timeout = PATIENCE + 10

    def rows(self, sql: str, params: Any = None, limit: int | None = None, timeout: float | None = None) -> Table:
        from rl_insight.store import Table

        question = {"sql": sql, "params": params, "limit": limit or MAX_ROWS, "timeout": timeout or PATIENCE}
        answer = self.client.post("/api/v1/query", question)
        rows = [tuple(row) for row in answer["rows"]]
        return Table(answer["columns"], answer["types"], rows, answer["truncated"])


@contextmanager
def reading(data_dir: Path, url: str | None = None) -> Iterator[Rows]:
    """Something to read the data folder's store with, whether or not its server runs."""
    client = Client(url, os.environ.get("RL_INSIGHT_TOKEN", "")) if url else running(data_dir)
    if client is not None:
        yield ServerRows(client)
        return
    from duckdb import Error

    from rl_insight.store import Store, StoreDamaged

    try:
        store = Store.open(data_dir, read_only=True)
    except FileNotFoundError:
        raise Trouble(
            f"there is no store in {data_dir}",
            "start a server with 'rl-insight server start', look at files with 'rl-insight open DIR', "
            "or name the folder with --data-dir",
            code=2,
        ) from None
    except StoreDamaged as damage:
        raise Trouble(
            f"the store in {data_dir} cannot be used: {damage}",
            f"'rl-insight rebuild --data-dir {data_dir}' makes it anew from the log",
            code=2,
        ) from None
    except Error as error:
        raise Trouble(
            f"the store in {data_dir} cannot be opened: {str(error).splitlines()[0]}",
            "another program may have it open; try again when it has ended",
            code=2,
        ) from None
    try:
        yield store
    finally:
        store.close()


@contextmanager
def up_to_date(data_dir: Path) -> Iterator[Rows]:
    """The store with all lines of the log in it: what a killed server left over is projected first."""
    from rl_insight.serve.address import InUse
    from rl_insight.serve.service import offline

    if not (data_dir / "log").is_dir():
        with reading(data_dir) as rows:
            yield rows
        return
    try:
        with offline(data_dir) as service:
            yield service.store
    except InUse as error:
        what, _, do = str(error).partition("; ")
        raise Trouble(what, do, code=2) from None
