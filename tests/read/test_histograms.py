"""Histograms of engines: three metrics of buckets, sum and count are shown as one, with quantiles from the buckets."""

from __future__ import annotations

import bisect
import math

from hypothesis import given
from hypothesis import strategies as st

from rl_insight.read.buckets import QUANTILES, histograms, quantiles

BOUNDS = [0.1, 0.5, 1.0, 5.0]


def bucketed(values: list[float]) -> dict[str, float]:
    """As Prometheus counts: each bucket holds the ones below it, too."""
    counted = {str(bound): float(sum(value <= bound for value in values)) for bound in BOUNDS}
    return {**counted, "+Inf": float(len(values))}


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=200))
def test_a_quantile_lies_in_the_bucket_of_the_value_it_stands_for(values: list[float]) -> None:
    made = quantiles(bucketed(values))
    assert made is not None
    assert made == sorted(made)
    for wanted, found in zip(QUANTILES, made, strict=True):
        exact = sorted(values)[max(0, math.ceil(wanted * len(values) - 1e-9) - 1)]
        place = bisect.bisect_left(BOUNDS, exact)
        low = BOUNDS[place - 1] if place else 0.0
        high = BOUNDS[place] if place < len(BOUNDS) else BOUNDS[-1]
        assert low - 1e-9 <= found <= high + 1e-9


def test_buckets_without_observations_or_bounds_have_no_quantiles() -> None:
    assert quantiles({}) is None
    assert quantiles({"0.1": 0.0, "+Inf": 0.0}) is None
    assert quantiles({"wide": 3.0}) is None
    assert quantiles({"+Inf": 3.0}) == [0.0, 0.0, 0.0]


def test_only_what_is_whole_and_nobody_elses_name_is_a_histogram() -> None:
    whole = {"a_bucket": ["le"], "a_sum": [], "a_count": []}
    assert histograms(whole) == ["a"]
    assert histograms({**whole, "a": []}) == []
    assert histograms({"a_bucket": ["le"], "a_sum": []}) == []
    assert histograms({"a_bucket": ["size"], "a_sum": [], "a_count": []}) == []
