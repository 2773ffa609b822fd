"""Through which names does time flow, from the outermost span inwards?"""

from __future__ import annotations

from typing import Any

import msgspec

from rl_insight.read.about import LATEST, about
from rl_insight.read.compose import records
from rl_insight.read.rows import Rows
from rl_insight.read.selection import Selection, Spans, choose, pooled

# Beyond so many spans, the tree is that of a sample of whole traces.
SAMPLED_ABOVE = 100_000
PATHS = 20_000
OTHER = "(other)"


class Node(msgspec.Struct):
    """All spans that were reached through the same names."""

    name: str
    part: str | None = None
    count: int = 0
    total_s: float = 0.0
    self_s: float = 0.0
    errors: int = 0
    children: list[Node] = []


class Flame(msgspec.Struct):
    """A tree of names. `sampled` is the share of traces it was made from; the figures are scaled up."""

    run: str
    at: float
    scope: Spans
    spans: int
    sampled: float
    root: Node


def flame(
    source: Rows,
    run: str = LATEST,
    *,
    nodes: int = 500,
    now: int | None = None,
    sampled_above: int = SAMPLED_ABOVE,
    **selection: Any,
) -> Flame:
    """The tree of names in a `Selection`, with at most about `nodes` nodes. States are not part of it."""
    this = about(source, run, now)
    chosen = choose(source, this, Selection(**selection))
    fills = {"joined": chosen.joined, "where": chosen.where}
    params = {**this.params, **chosen.params}
    (size,) = records(source, "scope_size", params, fills)
    sample = -(-size["spans"] // sampled_above) or 1
    rows = records(source, "flame", {**params, "sample": sample, "most": PATHS}, {**fills, **pooled(sample)})
    return Flame(this.run, this.at_ms, chosen.spans, size["spans"], 1 / sample, tree(rows, nodes, sample))


def tree(rows: list[dict[str, Any]], nodes: int, scale: int = 1) -> Node:
    """Nest paths, largest first; those beyond `nodes` are added up as one child of the nearest node that is there."""
    root = Node("all", children=[])
    there: dict[tuple[str, ...], Node] = {(): root}
    # What runs beside its parent may take longer than that: a path weighs as much as the heaviest below it.
    weight: dict[tuple[str, ...], float] = {}
    for row in rows:
        for length in range(1, len(row["path"]) + 1):
            above = tuple(row["path"][:length])
            weight[above] = max(weight.get(above, 0.0), row["total_s"])
    for row in sorted(rows, key=lambda row: (-weight[tuple(row["path"])], len(row["path"]))):
        path = tuple(row["path"])
        above = path[:-1]
        while above not in there:
            above = above[:-1]
        if len(there) <= nodes and len(above) == len(path) - 1:
            part, _, name = path[-1].partition(" ")
            node = there[path] = Node(name, part, children=[])
            there[above].children.append(node)
        else:
            folded = (*above, OTHER)
            if folded not in there:
                there[folded] = Node(OTHER, children=[])
                there[above].children.append(there[folded])
            node = there[folded]
            # Only the outermost of what is folded away counts as time spent there.
            if len(path) - 1 > len(above):
                node.count += row["count"] * scale
                node.self_s += row["self_s"] * scale
                node.errors += row["errors"] * scale
                continue
        node.count += row["count"] * scale
        node.total_s += row["total_s"] * scale
        node.self_s += row["self_s"] * scale
        node.errors += row["errors"] * scale
    root.count = sum(child.count for child in root.children)
    root.total_s = sum(child.total_s for child in root.children)
    root.errors = sum(child.errors for child in root.children)
    _sort(root)
    return root


def _sort(node: Node) -> None:
    node.children.sort(key=lambda child: (child.name == OTHER, -child.total_s, child.name))
    for child in node.children:
        _sort(child)
