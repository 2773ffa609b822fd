"""Histograms as engines show them, made whole again: buckets, sum and count are one metric, with quantiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

BUCKET, SUM, COUNT = "_bucket", "_sum", "_count"
QUANTILES = (0.1, 0.5, 0.9)


def histograms(labels_of: Mapping[str, Iterable[str]]) -> list[str]:
    """The names of histograms among metrics with these labels: those with a bucket by `le`, a sum and a count."""
    bases = [name.removesuffix(BUCKET) for name in labels_of if name.endswith(BUCKET) and "le" in labels_of[name]]
    return [one for one in bases if one + SUM in labels_of and one + COUNT in labels_of and one not in labels_of]


def quantiles(buckets: Mapping[str, float]) -> list[float] | None:
    """Values below which a tenth, half and nine tenths of the observations lie, as evenly spread within their bucket.

    What lies in the last bucket, which has no upper bound, is told as its lower one.
    """
    read = ((_bound(le), count) for le, count in buckets.items())
    bounds = sorted((bound, count) for bound, count in read if bound is not None)
    if not bounds or bounds[-1][1] <= 0:
        return None
    total = bounds[-1][1]
    return [_quantile(bounds, wanted * total) for wanted in QUANTILES]


def _quantile(bounds: list[tuple[float, float]], rank: float) -> float:
    low, below = 0.0, 0.0
    for place, (high, count) in enumerate(bounds):
        if count >= rank and count > below:
            if math.isinf(high):
                return low
            if place == 0 and high <= 0:
                return high
            return low + (high - low) * (rank - below) / (count - below)
        low, below = high if not math.isinf(high) else low, max(below, count)
    return low


def _bound(le: str | None) -> float | None:
    try:
        return float(le) if le is not None else None
    except ValueError:
        return None
