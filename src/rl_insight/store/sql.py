"""Finds the .sql files. Every statement of the store and of the read models lives in one."""

from functools import cache
from importlib.resources import files


@cache
def load(name: str, package: str = "rl_insight.store", folder: str = "statements") -> str:
    """The text of the statement `name`."""
    place = files(package)
    return (place / folder / f"{name}.sql" if folder else place / f"{name}.sql").read_text(encoding="utf-8")
