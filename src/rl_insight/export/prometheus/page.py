"""The families of one answer, as prometheus_client writes them down."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import Metric
from prometheus_client.samples import Exemplar, Sample
from prometheus_client.utils import floatToGoString

from rl_insight.export.metric_names import CATALOGUE
from rl_insight.export.prometheus.names import label_value
from rl_insight.export.prometheus.series import Histogram

_go_text: Callable[[float], str] = floatToGoString
# With its name and quotes an exemplar may have 128 characters.
_LONGEST_TRACE = 64


class Page:
    """The families of one answer; those of ours are from the catalogue."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}

    def own(self, name: str, labels: Iterable[str], value: float) -> None:
        """Add a series of ours; label values come in the order of the catalogue."""
        own = CATALOGUE[name]
        named = dict(zip(own.labels, map(label_value, labels), strict=True))
        self._own(name).samples.append(Sample(own.name, named, value))

    def own_histogram(self, name: str, labels: Iterable[str], histogram: Histogram) -> None:
        """Add a distribution of ours."""
        named = dict(zip(CATALOGUE[name].labels, map(label_value, labels), strict=True))
        self._own(name).samples.extend(histogram_samples(name, named, histogram))

    def add(self, metric: Metric) -> None:
        """Add a family that somebody recorded."""
        self._families[metric.name] = metric

    def collect(self) -> list[Metric]:
        """All families, by name; prometheus_client asks for them."""
        return [family for _, family in sorted(self._families.items())]

    def _own(self, name: str) -> Metric:
        own = CATALOGUE[name]
        metric = self._families.get(own.family)
        if metric is None:
            metric = self._families[own.family] = Metric(own.family, own.help, own.kind)
        return metric


def histogram_samples(name: str, labels: dict[str, str], histogram: Histogram) -> list[Sample]:
    """The samples of one distribution: buckets that hold all below them, count and sum."""
    found, below = [], 0
    for place, count in enumerate(histogram.counts):
        below += count
        bound = histogram.bounds[place] if place < len(histogram.bounds) else float("inf")
        example = histogram.examples.get(place)
        exemplar = None
        if example is not None and len(example.trace) <= _LONGEST_TRACE:
            exemplar = Exemplar({"trace_id": example.trace}, example.value, example.at)
        found.append(Sample(f"{name}_bucket", {**labels, "le": _go_text(bound)}, below, None, exemplar))
    found.append(Sample(f"{name}_count", labels, below))
    if histogram.bounds[0] >= 0:
        # Where negative observations are expected the sum may fall, and Prometheus takes `_sum` for what only grows.
        found.append(Sample(f"{name}_sum", labels, histogram.sum))
    return found
