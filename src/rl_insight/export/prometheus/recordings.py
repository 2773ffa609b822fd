"""The metrics that people record: under which names and labels they are shown, and how they come together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client import Metric
from prometheus_client.samples import Sample

from rl_insight.export.metric_names import OTHER, PROCESS
from rl_insight.export.prometheus.ledger import Ledger
from rl_insight.export.prometheus.names import Family, LabelNames, Names, Recorded, label_value
from rl_insight.export.prometheus.page import Page, Told, histogram_samples
from rl_insight.export.prometheus.processes import Process, Who
from rl_insight.export.prometheus.series import Histogram, Last, Series, added
from rl_insight.export.prometheus.totals import Key


class Recordings:
    """The metrics that people record: their names, labels and help, kept from one answer to the next."""

    def __init__(self, namespace: str, engine_seconds: float = 300.0) -> None:
        self.names = Names(namespace)
        self.help: dict[str, str] = {}
        self._labels: dict[Recorded, LabelNames] = {}
        self._told: dict[Recorded, tuple[Any, Told]] = {}
        self._engine_ns = int(engine_seconds * 1e9)

    def tell(self, page: Page, ledger: Ledger, who: Mapping[str, Who]) -> None:
        """Put the recorded metrics of all runs on the page."""
        found: dict[Recorded, list[tuple[str, Series[Key, Any]]]] = {}
        first: dict[Recorded, int] = {}
        for run, totals in ledger.runs.items():
            for recorded, held in totals.metrics.items():
                found.setdefault(recorded, []).append((run, held))
                first[recorded] = min(totals.first[recorded], first.get(recorded, totals.first[recorded]))
        self.names.forget_all_but(found)
        self._labels = {recorded: names for recorded, names in self._labels.items() if recorded in found}
        self._told = {recorded: told for recorded, told in self._told.items() if recorded in found}
        alive = ledger.recent()
        runs = {one.run: who[one.proc] for one in ledger.processes}
        counted = _counted_elsewhere(found)
        everyone = hash((tuple(who.items()), tuple(alive)))
        for recorded, parts in sorted(found.items(), key=lambda one: (first[one[0]], one[0])):
            family = self.names.family(recorded, part=recorded in counted)
            said = self.help.get(recorded.name) or f"Recorded as {recorded.name}"
            # Few metrics change between two scrapes. What was written of the others is as good as new.
            state = (family, said, everyone, [(held, held.touched) for _, held in parts])
            known = self._told.get(recorded)
            if known is None or known[0] != state or recorded.engine:
                metric = Metric(family.name, said, family.type)
                metric.samples = self._samples(recorded, family, parts, who, runs, alive)
                known = self._told[recorded] = (state, Told(metric))
            if known[1].metric.samples:
                page.add(known[1])
        for recorded, family in self.names.renamed.items():
            page.own("rl_insight_collector_renamed_metric_info", (recorded.name, recorded.kind, family.shown), 1)

    def _samples(
        self,
        recorded: Recorded,
        family: Family,
        parts: list[tuple[str, Series[Key, Any]]],
        who: Mapping[str, Who],
        runs: Mapping[str, Who],
        alive: Mapping[str, Process],
    ) -> list[Sample]:
        names = self._labels.get(recorded)
        if names is None:
            bounds = family.type == "unknown" or (recorded.engine and recorded.kind != "sample")
            names = self._labels[recorded] = LabelNames(bounds=bounds)
        # Values under the labels that they will have: whatever becomes the same series is added up, or the newest wins.
        merged: dict[tuple[Who, tuple[tuple[str, str], ...]], Any] = {}
        newest: dict[Any, tuple[int, int]] = {}
        for run, held in parts:
            for (proc, labels), value in held.kept.items():
                named = tuple(sorted((names.of(label), label_value(said)) for label, said in labels if said))
                place = (who[proc], named)
                if recorded.kind == "gauge":
                    process = alive.get(proc)
                    if process is None or (recorded.engine and self._is_stale(value, process)):
                        continue
                    age = (process.began, value.ts)
                    if place not in newest or age >= newest[place]:
                        newest[place] = age
                        merged[place] = value
                else:
                    merged[place] = added(merged.get(place), value)
            if held.other is not None:
                other = runs[run]._replace(role=OTHER, rank=OTHER)
                place = (other, tuple(sorted((label, OTHER) for label in names.names)))
                merged[place] = held.other if recorded.kind == "gauge" else added(merged.get(place), held.other)
        everything = {*PROCESS, *names.names}
        empty = dict.fromkeys(sorted(everything), "")
        found: list[Sample] = []
        for (process_labels, own_labels), value in merged.items():
            process_named = zip(PROCESS, map(label_value, process_labels), strict=True)
            shown = {**empty, **dict(process_named), **dict(own_labels)}
            if isinstance(value, Histogram):
                found += histogram_samples(family.name, shown, value)
            else:
                found.append(Sample(family.shown, shown, value.value))
        return found

    def _is_stale(self, value: Last, process: Process) -> bool:
        return value.ts < process.last_ts - self._engine_ns


def _counted_elsewhere(found: Mapping[Recorded, list[tuple[str, Series[Key, Any]]]]) -> set[Recorded]:
    """The counters that are parts of histograms, which came already counted, as they do by OTLP."""
    buckets = [one for one, parts in found.items() if _has_bounds(one, parts)]
    ends = ("_bucket", "_count", "_sum")
    return {one._replace(name=one.name.removesuffix("_bucket") + end) for one in buckets for end in ends}


def _has_bounds(recorded: Recorded, parts: list[tuple[str, Series[Key, Any]]]) -> bool:
    if recorded.kind != "count" or not recorded.name.endswith("_bucket"):
        return False
    return all(any(label == "le" for label, _ in labels) for _, held in parts for _, labels in held.kept)
