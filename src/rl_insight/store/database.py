"""The store's file: opening it, setting it aside when it is damaged, and asking it questions without changing it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from rl_insight import config
from rl_insight.collect import START, Position
from rl_insight.store.sql import load

logger = logging.getLogger(__name__)

FILE = "store.duckdb"
LOG = "log"
VERSION = "1"
_ZONED = "TIMESTAMP WITH TIME ZONE"
TABLES = ("span", "open_span", "point", "log", "fact", "fact_tag", "lost")
# Small row groups: a transaction that fills one is written to the file at once, compressed, and not to the
# write-ahead log first. That halves the cost of a line under load.
ROW_GROUP = 16384
# The log has every line already, so the write-ahead log may grow: each checkpoint has a price of its own.
CHECKPOINT = "256MB"


class StoreDamaged(RuntimeError):
    """The store's file cannot be read, or is of another version. `rl-insight rebuild` makes it anew."""


class NotReadOnly(ValueError):
    """Someone asked for more than to look."""


class Table(msgspec.Struct):
    """The answer to a question."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool = False

    def dicts(self) -> list[dict[str, Any]]:
        """The rows by column name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Snapshot:
    """A store as it was at one moment. For questions of our own; those of others go through `Store.rows`."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor

    def rows(
        self,
        sql: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Table:
        """As `Store.rows`; `timeout` is not kept."""
        self._cursor.execute(sql, params)
        about = self._cursor.description or []
        rows = self._cursor.fetchall() if limit is None else self._cursor.fetchmany(limit + 1)
        truncated = limit is not None and len(rows) > limit
        return Table([one[0] for one in about], [str(one[1]) for one in about], rows[:limit], truncated)


class Store:
    """A DuckDB file with the tables of `schema.sql`. One thread writes; any number may ask."""

    def __init__(self, path: Path, tmp: Path, settings: config.Collector, *, read_only: bool = False) -> None:
        self.path = path
        self.tmp = tmp
        self.read_only = read_only
        self._settings = settings
        self._lock = threading.Lock()
        self._connection = self._connect()

    @classmethod
    def open(
        cls,
        data_dir: Path,
        *,
        read_only: bool = False,
        settings: config.Collector | None = None,
        file: str = FILE,
    ) -> Store:
        """Open or make the store of `data_dir`.

        A file that is damaged or of another version is set aside with a message; the projection then fills a new
        one from the log. Read only, `StoreDamaged` is raised instead.
        """
        settings = settings or config.Collector()
        path = data_dir / file
        tmp = data_dir / "tmp"
        if not read_only:
            tmp.mkdir(parents=True, exist_ok=True)
            for leftover in tmp.glob("*.jsonl"):
                leftover.unlink()
        return cls(path, tmp, settings, read_only=read_only)

    def reopen(self, *, anew: bool = False) -> None:
        """Open the file again after DuckDB has given up on it; `anew` sets it aside and begins an empty one."""
        with self._lock:
            self._connection.close()
            if anew:
                logger.warning("store: moved to %s and made anew from the log", set_aside(self.path).name)
            self._connection = self._connect()

    def _connect(self) -> duckdb.DuckDBPyConnection:
        try:
            return _connect(self.path, self.tmp, self._settings, self.read_only)
        except StoreDamaged as damage:
            if self.read_only:
                raise
            logger.warning("store: %s; moved to %s and made anew from the log", damage, set_aside(self.path).name)
            return _connect(self.path, self.tmp, self._settings, self.read_only)

    def close(self) -> None:
        """Let go of the file; what is in the write-ahead log goes into it."""
        with self._lock:
            self._connection.close()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own for the calling thread. It can write; questions go through `rows`."""
        with self._lock:
            cursor = self._connection.cursor()
        cursor.execute("USE store")
        return cursor

    def rows(
        self,
        sql: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Table:
        """Ask one question: SELECT, EXPLAIN, SHOW, DESCRIBE. Anything else is refused with `NotReadOnly`.

        At most `limit` rows come back. After `timeout` seconds the question is given up with `TimeoutError`.
        """
        cursor = self.cursor()
        alarm = threading.Timer(timeout, cursor.interrupt) if timeout else None
        try:
            sql = _one_question(cursor, sql)
            if alarm:
                alarm.start()
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            cursor.execute(sql, params)
            about = cursor.description or []
            if any(str(one[1]) == _ZONED for one in about):
                # DuckDB hands these out with pytz only, which nobody else here needs; text does as well.
                picks = [f"#{i}::VARCHAR" if str(one[1]) == _ZONED else f"#{i}" for i, one in enumerate(about, 1)]
                cursor.execute(f"SELECT {', '.join(picks)} FROM ({sql}\n)", params)
            rows = cursor.fetchall() if limit is None else cursor.fetchmany(limit + 1)
            truncated = limit is not None and len(rows) > limit
            return Table([one[0] for one in about], [str(one[1]) for one in about], rows[:limit], truncated)
        except duckdb.InterruptException:
            raise TimeoutError(f"the query took longer than {timeout} s and was stopped") from None
        finally:
            if alarm:
                alarm.cancel()
            cursor.close()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Ask several questions of the store as it is now, whatever is written meanwhile."""
        cursor = self.cursor()
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            yield Snapshot(cursor)
        finally:
            cursor.close()

    def named(self, name: str, *, package: str = "rl_insight.store", folder: str = "queries", **params: Any) -> Table:
        """Ask the question in `<package>/<folder>/<name>.sql`; `$x` in it is the parameter `x`."""
        return self.rows(load(name, package, folder), params or None)

    def marks(self) -> dict[str, int]:
        """The highest seq that has been projected, of each process."""
        return dict(self.rows("SELECT proc, seq FROM mark").rows)

    def position(self, source: str = LOG) -> Position:
        """How far a source has been projected."""
        found = self.rows('SELECT segment, "offset" FROM position WHERE source = $source', {"source": source}).rows
        return Position(*found[0]) if found else START

    def positions(self) -> dict[str, Position]:
        """How far every source has been projected."""
        found = self.rows('SELECT source, segment, "offset" FROM position').rows
        return {source: Position(segment, offset) for source, segment, offset in found}

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the file."""
        cursor = self.cursor()
        try:
            cursor.execute("CHECKPOINT store")
        finally:
            cursor.close()


def set_aside(path: Path) -> Path:
    """Move a store's file, and its write-ahead log, out of the way. Only the latest such file is kept."""
    aside = path.with_name(path.name + ".aside")
    wal = path.with_name(path.name + ".wal")
    aside.with_name(aside.name + ".wal").unlink(missing_ok=True)
    if wal.exists():
        wal.replace(aside.with_name(aside.name + ".wal"))
    path.replace(aside)
    return aside


def _connect(path: Path, tmp: Path, settings: config.Collector, read_only: bool) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": settings.store_threads,
            "memory_limit": settings.store_memory,
            "temp_directory": str(tmp / "spill"),
            "preserve_insertion_order": False,
            "checkpoint_threshold": CHECKPOINT,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    try:
        if read_only and not path.exists():
            raise FileNotFoundError(f"there is no store at {path}; has a server recorded anything in this data dir?")
        options = "READ_ONLY" if read_only else f"ROW_GROUP_SIZE {ROW_GROUP}"
        escaped = str(path).replace("'", "''")
        try:
            connection.execute(f"ATTACH '{escaped}' AS store ({options})")
            connection.execute("USE store")
            _check_version(connection, path, read_only)
        except duckdb.Error as error:
            if _damages_nothing(error):
                raise
            raise StoreDamaged(f"{path.name} cannot be read ({str(error).splitlines()[0]})") from error
        # From here on no SQL, whoever wrote it, reaches a file other than the chunks we put into tmp.
        connection.execute(f"SET allowed_directories = ['{str(tmp).replace(chr(39), chr(39) * 2)}']")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


_ELSEWHERE = ("ResourceInUseException", "OutOfMemoryException", "PermissionException", "InterruptException")
_SAYING = ("Could not set lock", "Cannot open file", "Permission denied", "No space left", "Too many open files")


def _damages_nothing(error: duckdb.Error) -> bool:
    """Whether the trouble is around the file and not in it: it must not be set aside then."""
    return type(error).__name__ in _ELSEWHERE or any(words in str(error) for words in _SAYING)


def _check_version(connection: duckdb.DuckDBPyConnection, path: Path, read_only: bool) -> None:
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables and not read_only:
        connection.execute("BEGIN")
        connection.execute(load("schema", folder=""))
        connection.execute("INSERT INTO meta VALUES ('version', ?)", [VERSION])
        connection.execute("COMMIT")
        return
    found = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone() if "meta" in tables else None
    if found != (VERSION,):
        raise StoreDamaged(f"{path.name} is of version {found[0] if found else '?'}, this is version {VERSION}")
    # Damage in the small tables shows here rather than in the middle of work.
    connection.execute("SELECT * FROM position").fetchall()
    connection.execute("SELECT count(*), max(seq) FROM mark").fetchall()


_LOOKING = {"SELECT", "EXPLAIN"}


def _one_question(cursor: duckdb.DuckDBPyConnection, sql: str) -> str:
    statements = cursor.extract_statements(sql)
    if len(statements) != 1:
        raise NotReadOnly(f"one statement at a time, not {len(statements)}")
    kind = statements[0].type.name
    if kind not in _LOOKING:
        raise NotReadOnly(f"{kind} is refused: only SELECT, EXPLAIN, SHOW and DESCRIBE; the log is the truth")
    return statements[0].query.strip().rstrip(";")
