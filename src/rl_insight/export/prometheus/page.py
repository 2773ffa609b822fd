"""The families of one answer, as prometheus_client writes them down."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.samples import Exemplar, Sample
from prometheus_client.utils import floatToGoString

from rl_insight.export.metric_names import CATALOGUE
from rl_insight.export.prometheus.names import label_value
from rl_insight.export.prometheus.series import Histogram

_END = b"# EOF\n"
_go_text: Callable[[float], str] = floatToGoString
# With its name and quotes an exemplar may have 128 characters.
_LONGEST_TRACE = 64


class Told:
    """A family that somebody recorded, and its text once it has been written."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._texts: dict[bool, bytes] = {}

    def text(self, in_openmetrics: bool) -> bytes:
        """The family in a format."""
        text = self._texts.get(in_openmetrics)
        if text is None:
            text = self._texts[in_openmetrics] = _written([self.metric], in_openmetrics)
        return text


class Page:
    """The families of one answer; those of ours are from the catalogue."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}
        self._told: list[Told] = []

    def own(self, name: str, labels: Iterable[str], value: float) -> None:
        """Add a series of ours; label values come in the order of the catalogue."""
        own = CATALOGUE[name]
        named = dict(zip(own.labels, map(label_value, labels), strict=True))
        self._own(name).samples.append(Sample(own.name, named, value))

    def own_histogram(self, name: str, labels: Iterable[str], histogram: Histogram) -> None:
        """Add a distribution of ours."""
        named = dict(zip(CATALOGUE[name].labels, map(label_value, labels), strict=True))
        self._own(name).samples.extend(histogram_samples(name, named, histogram))

    def add(self, told: Told) -> None:
        """Add a family that somebody recorded."""
        self._told.append(told)

    def text(self, in_openmetrics: bool) -> bytes:
        """The whole page in a format."""
        ours = [family for _, family in sorted(self._families.items())]
        parts = [_written(ours, in_openmetrics), *(told.text(in_openmetrics) for told in self._told)]
        return b"".join(parts) + (_END if in_openmetrics else b"")

    def _own(self, name: str) -> Metric:
        own = CATALOGUE[name]
        metric = self._families.get(own.family)
        if metric is None:
            metric = self._families[own.family] = Metric(own.family, own.help, own.kind)
        return metric


class _Families:
    """Looks like a registry to prometheus_client."""

    def __init__(self, families: list[Metric]) -> None:
        self.families = families

    def collect(self) -> list[Metric]:
        """What there is to write."""
        return self.families


def _written(families: list[Metric], in_openmetrics: bool) -> bytes:
    write: Callable[..., bytes] = openmetrics.generate_latest if in_openmetrics else generate_latest
    # All names are legal as they are; escaping them once more would spoil the colons of engines.
    return write(_Families(families), escaping=openmetrics.ALLOWUTF8).removesuffix(_END)


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
