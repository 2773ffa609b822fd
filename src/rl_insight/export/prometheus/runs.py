"""What RL-Insight itself tells of runs, their processes, their work and the collector."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from rl_insight.export.metric_names import CATALOGUE, OTHER
from rl_insight.export.prometheus.ledger import Ledger
from rl_insight.export.prometheus.names import Names
from rl_insight.export.prometheus.page import Page
from rl_insight.export.prometheus.processes import Process, Who
from rl_insight.export.prometheus.series import Histogram, Series, Sum, added
from rl_insight.export.prometheus.totals import Totals
from rl_insight.export.prometheus.training import Training

K = TypeVar("K", bound=Hashable)
_MOST_REASONS = 50


def tell_runs(page: Page, ledger: Ledger, who: Mapping[str, Who], training: Training) -> None:
    """Put on the page what is known of runs and their processes."""
    members: dict[str, list[Process]] = {}
    for one in ledger.processes:
        members.setdefault(one.run, []).append(one)
    for run, processes in members.items():
        first = processes[0]
        labels = (run, first.project or "", first.experiment or "")
        live = any(one.live for one in processes)
        state = "live" if live else "finished" if all(one.finished for one in processes) else "lost"
        page.own("rl_insight_run_info", (*labels, state), 1)
        heard = max(one.heard for one in processes)
        page.own("rl_insight_run_last_event_timestamp_seconds", labels, heard / 1e9)
        page.own("rl_insight_lines_total", labels, sum(one.lines for one in processes))
        progress = training.progress(run)
        if progress is not None:
            for name, value in progress.gauges().items():
                if value is not None:
                    page.own(name, labels, value)
        _tell_losses(page, labels, ledger, {one.proc for one in processes})
        totals = ledger.runs.get(run)
        if totals is not None:
            _tell_work(page, labels, ledger, totals, who, {one.proc: one for one in processes})
    _tell_processes(page, ledger, who)


def _tell_processes(page: Page, ledger: Ledger, who: Mapping[str, Who]) -> None:
    # Of those that share labels, the newest is the one that lives; one that said farewell is not missed.
    newest = {who[one.proc]: one for one in sorted(ledger.processes, key=lambda one: one.began)}
    shown = ledger.recent()
    for labels, one in newest.items():
        if one.finished or one.proc not in shown:
            continue
        where = (*labels, one.node)
        page.own("rl_insight_process_up", where, 1 if one.live else 0)
        page.own("rl_insight_process_heartbeat_age_seconds", where, max(0.0, (ledger.now - one.heard) / 1e9))
        if one.clock_known:
            page.own("rl_insight_process_clock_offset_seconds", where, one.clock_offset / 1e9)


def _tell_losses(page: Page, labels: tuple[str, ...], ledger: Ledger, procs: set[str]) -> None:
    lost: dict[str, int] = {}
    missing = 0
    for loss in ledger.losses:
        if loss.proc in procs:
            if loss.reason is None:
                missing += loss.lines
            else:
                lost[loss.reason] = lost.get(loss.reason, 0) + loss.lines
    page.own("rl_insight_hole_lines", labels, missing)
    most = sorted(lost.items(), key=lambda one: (-one[1], one[0]))
    shown = dict(most[:_MOST_REASONS])
    if most[_MOST_REASONS:]:
        shown[OTHER] = shown.get(OTHER, 0) + sum(lines for _, lines in most[_MOST_REASONS:])
    for reason, lines in shown.items():
        page.own("rl_insight_lost_lines_total", (*labels, reason), lines)


def _tell_work(
    page: Page,
    run: tuple[str, ...],
    ledger: Ledger,
    totals: Totals,
    who: Mapping[str, Who],
    processes: Mapping[str, Process],
) -> None:
    other = (*run, OTHER, OTHER)
    sums: list[tuple[str, Series[Any, Sum], int]] = [
        ("rl_insight_spans_total", totals.spans, 3),
        ("rl_insight_sessions_total", totals.sessions, 1),
    ]
    for name, held, more in sums:
        added = _grouped(held, lambda key: (*who[key[0]], *key[1:]), (*other, *[OTHER] * more))
        for labels, value in added.items():
            page.own(name, labels, value.value)
    by_process: list[tuple[str, Series[Any, Histogram], Callable[[Any], tuple[str, ...]], tuple[str, ...]]] = [
        ("rl_insight_span_seconds", totals.span_seconds, lambda key: (*run, *key), (*run, OTHER, OTHER)),
        ("rl_insight_session_seconds", totals.session_seconds, lambda key: who[key], other),
        ("rl_insight_phase_seconds", totals.phase_seconds, lambda key: (*who[key[0]], key[1]), (*other, OTHER)),
    ]
    for name, spread, labels_of, beyond in by_process:
        for labels, histogram in _grouped(spread, labels_of, beyond).items():
            page.own_histogram(name, labels, histogram)
    for labels, depth in _grouped(totals.queues, lambda queue: (*run, queue), (*run, OTHER)).items():
        page.own("rl_insight_queue_depth", labels, depth.value)
    for (name, node, gpu), value in totals.nodes.kept.items():
        page.own(name, (*run, node, gpu) if "gpu" in CATALOGUE[name].labels else (*run, node), value.value)
    _tell_states(page, other, ledger, totals, who, processes)
    _tell_open(page, ledger, totals, who, processes)


def _tell_states(
    page: Page,
    other: tuple[str, ...],
    ledger: Ledger,
    totals: Totals,
    who: Mapping[str, Who],
    processes: Mapping[str, Process],
) -> None:
    running: dict[tuple[str, str], float] = {}
    for one in ledger.open:
        process = processes.get(one.proc)
        if one.state is not None and process is not None:
            # Time goes on for who is alive; for who fell silent it stands still.
            until = ledger.now - process.clock_offset if process.live else process.last_ts
            totals.states.at((one.proc, one.state))
            running[one.proc, one.state] = max(0, until * one.number - one.began) / 1e9
    spent: dict[tuple[str, ...], float] = {}
    for key, closed in totals.states.kept.items():
        peak = totals.state_peaks.get(key, 0.0)
        seconds = totals.state_peaks[key] = max(peak, closed.value / 1e9 + running.get(key, 0.0))
        labels: tuple[str, ...] = (*who[key[0]], key[1])
        spent[labels] = spent.get(labels, 0.0) + seconds
    if totals.states.other is not None:
        labels = (*other, OTHER)
        spent[labels] = spent.get(labels, 0.0) + totals.states.other.value / 1e9
    for labels, seconds in spent.items():
        page.own("rl_insight_lane_state_seconds_total", labels, seconds)


def _tell_open(
    page: Page, ledger: Ledger, totals: Totals, who: Mapping[str, Who], processes: Mapping[str, Process]
) -> None:
    for name, part, ever in (
        ("rl_insight_sessions_open", "session", totals.session_seconds.kept),
        ("rl_insight_tasks_open", "task", totals.tasks),
    ):
        # Who has had some before has none now; who never had any is not spoken of.
        count = {who[proc]: 0 for proc in ever if processes[proc].live}
        for one in ledger.open:
            process = processes.get(one.proc)
            if one.part == part and process is not None and process.live:
                count[who[one.proc]] = count.get(who[one.proc], 0) + one.number
        for labels, number in count.items():
            page.own(name, labels, number)


def tell_folded(page: Page, ledger: Ledger, names: Names) -> None:
    """Put on the page which series have been folded."""
    for run, metric, series in folded(ledger, names):
        page.own("rl_insight_collector_cardinality_folded_series", (run, metric), series)


def folded(ledger: Ledger, names: Names) -> list[tuple[str, str, int]]:
    """Run, metric and number of the series that are folded; `other` stands for metrics that are left out."""
    found = []
    for run, totals in ledger.runs.items():
        for what, series in totals.folded().items():
            found.append((run, what if isinstance(what, str) else names.family(what).shown, series))
        if totals.left_out.folded:
            found.append((run, OTHER, totals.left_out.folded))
    return found


def tell_collector(page: Page, status: Mapping[str, Any]) -> None:
    """Put on the page how the collector is, as far as it says so."""
    collector, store = status.get("collector", {}), status.get("store", {})
    for name, section, field in (
        ("accepted_lines_total", collector, "accepted"),
        ("duplicate_lines_total", collector, "duplicates"),
        ("refused_batches_total", collector, "refused"),
        ("pending_bytes", collector, "pending_bytes"),
        ("log_bytes", collector, "log_bytes"),
        ("free_bytes", collector, "free_bytes"),
        ("store_lag_bytes", store, "lag_bytes"),
        ("store_lag_seconds", store, "lag_seconds"),
    ):
        if section.get(field) is not None:
            page.own(f"rl_insight_collector_{name}", (), section[field])
    for one in status.get("exporters") or ():
        page.own("rl_insight_collector_exporter_lag_bytes", (one["name"],), one["lag_bytes"])
        page.own("rl_insight_collector_exporter_dropped_total", (one["name"],), one["dropped"])


def _grouped(
    held: Series[K, Any],
    labels_of: Callable[[K], tuple[str, ...]],
    other: tuple[str, ...],
) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for key, value in held.kept.items():
        labels = tuple(labels_of(key))
        found[labels] = added(found.get(labels), value)
    if held.other is not None:
        found[other] = added(found.get(other), held.other)
    return found
