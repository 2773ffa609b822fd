"""Every kind of OTLP metric becomes points, and totals become what was added to them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from rl_insight import config
from rl_insight.collect.otlp.cleaning import Cleaner
from rl_insight.collect.otlp.metrics import Sources, Totals
from rl_insight.schema import Count, Gauge, Log

DELTA, CUMULATIVE = 1, 2
STARTED = 1_000
Points = list[tuple[str, float, dict[str, str]]]


class Meter:
    """Hands metrics of one resource in, and adds up what comes out."""

    def __init__(self, stored: Any = None, *, known: bool = False) -> None:
        self._totals = Totals(Cleaner(config.Redact()), STARTED, lambda procs, since: stored)
        self._source = Sources("resource", ("otlp-1",) if known else ())

    def tell(self, metric: Metric) -> list[Any]:
        lines = list(self._totals.points(metric, self._source, "scope", 99))
        self._totals.series.commit()
        return lines

    def counts(self, metric: Metric) -> dict[str, float]:
        """What was added, by name and bound."""
        found: dict[str, float] = {}
        for line in self.tell(metric):
            assert isinstance(line, Count)
            found[line.name + "".join(f" {value}" for value in (line.labels or {}).values())] = line.value
        return found


def total(value: float, start: int, time: int, *, kind: int = CUMULATIVE, monotonic: bool = True) -> Metric:
    metric = Metric(name="n")
    metric.sum.aggregation_temporality, metric.sum.is_monotonic = kind, monotonic
    metric.sum.data_points.add(start_time_unix_nano=start, time_unix_nano=time, as_double=value)
    return metric


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1000)), min_size=1, max_size=30))
def test_what_was_added_is_what_there_is_whenever_a_counter_starts_anew(steps: list[tuple[bool, int]]) -> None:
    meter = Meter()
    added = value = start = time = 0
    told = 0.0
    for anew, amount in steps:
        time += 10
        if anew or not start:
            start, value = time - 1, 0
        value += amount
        added += amount
        told += sum(meter.counts(total(value, start, time)).values())
        # Told twice: adds nothing.
        assert not meter.counts(total(value, start, time))
    assert told == added


def test_a_total_that_shrinks_without_a_new_start_has_begun_anew() -> None:
    meter = Meter()
    told = [meter.counts(total(value, 5, 10 + place)) for place, value in enumerate((10, 15, 3, 3, 4))]
    assert told == [{"n": 10}, {"n": 5}, {"n": 3}, {}, {"n": 1}]


def test_a_total_whose_beginning_is_not_known_counts_from_when_it_is_seen() -> None:
    meter = Meter()
    assert [meter.counts(total(value, 0, 10 + value)) for value in (10, 15)] == [{"n": 0}, {"n": 5}]
    known = Meter(known=True)
    assert [known.counts(total(value, STARTED - 1, 10 + value)) for value in (10, 15)] == [{"n": 0}, {"n": 5}]
    assert Meter(known=True).counts(total(10, STARTED + 1, STARTED + 2)) == {"n": 10}


def test_after_a_restart_a_total_goes_on_from_what_is_stored() -> None:
    stored = {("n", frozenset()): 7.0}
    meter = Meter(stored, known=True)
    assert [meter.counts(total(value, STARTED - 1, STARTED + value)) for value in (10, 15)] == [{"n": 3}, {"n": 5}]
    # Less than is stored: something else is called by that name now.
    assert Meter({("n", frozenset()): 70.0}, known=True).counts(total(10, STARTED - 1, STARTED)) == {"n": 0}
    buckets = {("h_count", frozenset()): 2.0, ("h_bucket", frozenset({("le", "0.5")})): 1.0}
    told = Meter(buckets, known=True).counts(histogram([1, 2, 3], STARTED))
    assert told == {"h_count": 4, "h_sum": -6, "h_bucket 0.5": 0, "h_bucket 10": 3, "h_bucket +Inf": 6}


def test_deltas_are_counts_and_levels_add_up() -> None:
    meter = Meter()
    assert [meter.counts(total(value, 5, 10, kind=DELTA)) for value in (3, 3)] == [{"n": 3}, {"n": 3}]
    level = Meter()
    told = [level.tell(total(value, 5, 10, kind=DELTA, monotonic=False))[0] for value in (3, -1)]
    assert [(type(line), line.value) for line in told] == [(Gauge, 3), (Gauge, 2)]


def test_a_number_that_is_none_is_a_warning() -> None:
    (line,) = Meter().tell(total(math.nan, 5, 10))
    assert isinstance(line, Log)
    assert (line.level, line.attrs) == ("warning", {"metric": "n", "value": "nan"})
    metric = total(3, 5, 10)
    metric.sum.data_points[0].flags = 1  # says that there is no value
    assert not Meter().tell(metric)


def histogram(counts: list[int], time: int, bounds: tuple[float, ...] = (0.5, 10), start: int = 5) -> Metric:
    metric = Metric(name="h")
    metric.histogram.aggregation_temporality = CUMULATIVE
    point = metric.histogram.data_points.add(start_time_unix_nano=start, time_unix_nano=time)
    point.count, point.sum = sum(counts), float(-sum(counts))
    point.bucket_counts.extend(counts)
    point.explicit_bounds.extend(bounds)
    return metric


def test_histograms_have_buckets_with_all_below_them() -> None:
    meter = Meter()
    first = {"h_count": 6, "h_sum": -6, "h_bucket 0.5": 1, "h_bucket 10": 3, "h_bucket +Inf": 6}
    assert meter.counts(histogram([1, 2, 3], 10)) == first
    # The sum may go down; nothing else may.
    assert meter.counts(histogram([1, 3, 3], 11)) == {
        "h_count": 1, "h_sum": -1, "h_bucket 10": 1, "h_bucket +Inf": 1,
    }  # fmt: skip
    other = meter.counts(histogram([1, 1], 12, (7,)))
    assert other == {"h_count": 2, "h_sum": -2, "h_bucket 7": 1, "h_bucket +Inf": 2}
    assert meter.counts(histogram([2, 1, 0], 20, start=15))["h_count"] == 3


def exponential(scale: int, time: int, positive: dict[int, int], zero: int = 0, negative: int = 0) -> Metric:
    metric = Metric(name="e")
    metric.exponential_histogram.aggregation_temporality = CUMULATIVE
    point = metric.exponential_histogram.data_points.add(start_time_unix_nano=5, time_unix_nano=time, scale=scale)
    point.count = sum(positive.values()) + zero + negative
    point.zero_count = zero
    low = min(positive, default=0)
    point.positive.offset = low
    point.positive.bucket_counts.extend(positive.get(at, 0) for at in range(low, max(positive, default=low) + 1))
    if negative:
        point.negative.bucket_counts.append(negative)
    return metric


def test_exponential_histograms_have_the_bounds_of_their_buckets() -> None:
    meter = Meter()
    assert meter.counts(exponential(0, 10, {0: 1, 2: 2}, zero=3, negative=4)) == {
        "e_count": 10, "e_bucket -1": 4, "e_bucket 0": 7, "e_bucket 2": 8, "e_bucket 8": 10, "e_bucket +Inf": 10,
    }  # fmt: skip
    assert meter.counts(exponential(0, 11, {0: 1, 2: 2, 3: 1}, zero=3, negative=4)) == {
        "e_count": 1, "e_bucket 16": 1, "e_bucket +Inf": 1,
    }  # fmt: skip


def test_an_exponential_histogram_that_becomes_coarser_goes_on() -> None:
    meter = Meter()
    assert meter.counts(exponential(1, 10, {0: 1, 1: 1, 2: 1}))["e_count"] == 3
    # Buckets 0 and 1 are 0 now, and 2 is 1; one more came into the latter.
    assert meter.counts(exponential(0, 11, {0: 2, 1: 2})) == {"e_count": 1, "e_bucket 4": 1, "e_bucket +Inf": 1}


def test_a_summary_has_its_quantiles_as_gauges() -> None:
    metric = Metric(name="s")
    point = metric.summary.data_points.add(start_time_unix_nano=5, time_unix_nano=10, count=4, sum=8)
    point.quantile_values.add(quantile=0.99, value=3.5)
    lines = Meter().tell(metric)
    assert [(type(line), line.name, line.value, line.labels) for line in lines] == [
        (Gauge, "s", 3.5, {"quantile": "0.99"}),
        (Count, "s_count", 4, None),
        (Count, "s_sum", 8, None),
    ]


def test_what_could_not_be_stored_is_told_again_as_it_was() -> None:
    totals = Totals(Cleaner(config.Redact()), STARTED)
    for _ in range(3):
        (line,) = totals.points(total(10, 5, 10), Sources("r"), "", 99)
        assert line.value == 10  # type: ignore[union-attr]
        totals.series.forget()


@pytest.mark.parametrize("attributes", [{"a": "1"}, {"a": "2"}, {}])
def test_series_with_other_attributes_are_apart(attributes: dict[str, str]) -> None:
    meter = Meter()
    meter.counts(total(10, 5, 10))
    metric = total(7, 5, 10)
    metric.sum.data_points[0].attributes.add(key="b").value.int_value = 3
    for key, value in attributes.items():
        metric.sum.data_points[0].attributes.add(key=key).value.string_value = value
    assert sum(meter.counts(metric).values()) == 7
