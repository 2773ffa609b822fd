"""The store: DuckDB tables made from the log, kept up with it, and made anew from it when need be."""

from rl_insight.store.database import NotReadOnly, Store, StoreDamaged, Table
from rl_insight.store.delete import Deleted
from rl_insight.store.follow import FileProjector
from rl_insight.store.projection import Projection
from rl_insight.store.projector import Projector, ProjectorStatus
from rl_insight.store.rebuild import Rebuilt, rebuild

__all__ = [
    "Deleted",
    "FileProjector",
    "NotReadOnly",
    "Projection",
    "Projector",
    "ProjectorStatus",
    "Rebuilt",
    "Store",
    "StoreDamaged",
    "Table",
    "rebuild",
]
