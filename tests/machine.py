"""A collector with its store, in the test's own process."""

from pathlib import Path
from typing import Any

from rl_insight import config
from rl_insight.collect import Collector
from rl_insight.schema import Line, encode_lines
from rl_insight.store import Projector, Store


class Machine:
    """A collector with its store, without a server in front and without threads that project."""

    def __init__(self, data_dir: Path, **settings: Any) -> None:
        self.data_dir = data_dir
        self.settings = config.Collector(store_threads=1, **settings)
        self.open()

    def open(self) -> None:
        self.store = Store.open(self.data_dir, settings=self.settings)
        self.collector = Collector.open(
            self.data_dir, self.settings, marks=self.store.marks(), projected=self.store.position()
        )
        self.projector = Projector(self.store, self.collector.log)

    def close(self, *, catch_up: bool = True) -> None:
        self.projector.stop(catch_up=catch_up)
        self.collector.close()
        self.store.close()

    def take(self, lines: list[Line] | bytes) -> None:
        """Accept lines and project them."""
        self.collector.submit(lines if isinstance(lines, bytes) else encode_lines(lines)).result(60)
        self.projector.catch_up()

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self.store.rows(sql).rows

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything in the store but positions, in an order that does not depend on how it came about."""
        tables = self.ask("SELECT table_name FROM duckdb_tables() WHERE table_name <> 'position'")
        return {table: sorted(self.ask(f"SELECT * FROM {table}"), key=repr) for (table,) in sorted(tables)}
