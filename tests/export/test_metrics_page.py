"""What the page of metrics says of what was recorded, and of the run by itself."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exposed import exposed
from harness import encode, process_line
from machine import Machine
from rl_insight import config
from rl_insight.export.metric_names import CATALOGUE, RUN
from rl_insight.export.prometheus import SECONDS, Exporter, bounds, wants_openmetrics
from rl_insight.read.steps import steps

DOCS = Path(__file__).parent.parent.parent / "docs"
S = 1_000_000_000


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "data")
    yield made
    made.close()


class Lines:
    """Lines of one live process; moments are seconds after its start, a minute ago."""

    def __init__(self, proc: str, run: str = "run-1", *, began: float = 0.0, **more: Any) -> None:
        self.proc = proc
        self.zero = time.time_ns() - 60 * S
        self.lines: list[dict[str, Any]] = []
        self.identity = {"run": run, "started": self.zero + int(began * S), "heartbeat": 100.0, "node": "n", **more}
        self.sent = 0
        self.hello(began)

    def add(self, kind: str, name: str, at: float = 1.0, **fields: Any) -> Lines:
        given = {key: value for key, value in fields.items() if value is not None}
        seq, ts = len(self.lines) + 1, self.zero + round(at * S)
        self.lines.append({"kind": kind, "proc": self.proc, "seq": seq, "ts": ts, "name": name, **given})
        return self

    def hello(self, at: float = 1.0, **more: Any) -> Lines:
        seq, ts = len(self.lines) + 1, self.zero + round(at * S)
        self.lines.append(process_line(self.proc, seq, ts=ts, **{**self.identity, **more}))
        return self

    def span(self, name: str, start: float, end: float, **fields: Any) -> Lines:
        return self.add("span", name, start, dur=round((end - start) * S), id=f"{self.proc}{len(self.lines)}", **fields)

    def new(self) -> bytes:
        fresh, self.sent = self.lines[self.sent :], len(self.lines)
        return encode(*fresh)


def test_a_counter_is_poisoned_by_nothing(machine: Machine) -> None:
    # Recorders do not write these; others might.
    lines = Lines("p", role="trainer")
    lines.add("count", "n", value=2).add("count", "n", value=-1.5).add("count", "n", value=1e308)
    lines.add("count", "m", value=0.1).add("count", "m", value=0.2).add("gauge", "g", value=-0.0)
    machine.take(lines.new())
    page = exposed(Exporter(machine.store))
    assert page.value("rl_insight_monitor_n_total") == 1e308
    assert page.value("rl_insight_monitor_m_total") == pytest.approx(0.3)
    machine.take(lines.add("count", "m", value=1).new())
    assert exposed(Exporter(machine.store)).value("rl_insight_monitor_m_total") == pytest.approx(1.3)


def test_labels_and_kinds_that_do_not_agree_lose_nothing_and_are_told_of(machine: Machine) -> None:
    lines = Lines("p", role="trainer", rank=0)
    lines.add("gauge", "x", 1, value=1, labels={"a": "1"}).add(
        "gauge", "x", 2, value=2, labels={"b": "2", "run": "mine"}
    )
    lines.add("count", "x", 3, value=3).add("sample", "x", 4, value=4).add("gauge", "x.", 5, value=5)
    machine.take(lines.new())
    exporter = Exporter(machine.store)
    page = exposed(exporter)
    shown = page.series("rl_insight_monitor_x", *RUN, "role", "rank")
    assert shown == {(("a", "1"),): 1, (("b", "2"), ("label_run", "mine")): 2}
    assert page.value("rl_insight_monitor_x_counter_total") == 3
    assert page.value("rl_insight_monitor_x_histogram_sum") == 4
    assert page.value("rl_insight_monitor_x_") == 5
    assert {(one.recorded, one.kind, one.metric) for one in exporter.renamed} == {
        ("x", "count", "rl_insight_monitor_x_counter_total"),
        ("x", "sample", "rl_insight_monitor_x_histogram"),
    }
    assert page.value("rl_insight_collector_renamed_metric_info", recorded="x", kind="count") == 1


def test_a_histogram_that_came_counted_is_one_and_counters_called_alike_are_counters(machine: Machine) -> None:
    lines = Lines("otel", role="gateway")
    for name, value, labels in (
        ("latency_bucket", 1, {"le": "0.1"}), ("latency_bucket", 2, {"le": "+Inf"}), ("latency_count", 2, None),
        ("latency_sum", 0.55, None), ("coal_bucket", 7, None), ("coal_count", 7, None),
    ):  # fmt: skip
        lines.add("count", name, value=value, labels=labels)
    machine.take(lines.new())
    page = exposed(Exporter(machine.store))
    assert page.series("rl_insight_monitor_latency_bucket", *RUN, "role", "rank") == {
        (("le", "0.1"),): 1,
        (("le", "+Inf"),): 2,
    }
    assert page.value("rl_insight_monitor_latency_count") == 2
    assert page.value("rl_insight_monitor_latency_sum") == 0.55
    assert page.value("rl_insight_monitor_coal_bucket_total") == 7
    assert page.value("rl_insight_monitor_coal_count_total") == 7


def test_help_is_what_was_said_of_a_metric(machine: Machine) -> None:
    lines = Lines("p", role="trainer")
    lines.add("gauge", "a/b", value=1).hello(2, attrs={"help": {"a/b": 'How "b"\nis'}}).add("gauge", "c", value=1)
    machine.take(lines.new())
    page = exposed(Exporter(machine.store))
    assert page.families["rl_insight_monitor_a_b"].documentation == 'How "b"\nis'
    assert page.families["rl_insight_monitor_c"].documentation == "Recorded as c"


@pytest.mark.parametrize("at_once", [True, False])
def test_series_beyond_the_limit_are_folded_and_told_of(machine: Machine, at_once: bool) -> None:
    exporter = Exporter(machine.store, config.Exposition(max_series=3, max_metrics=4, buckets={"s": [1.0, 10.0]}))
    lines = Lines("p", role="trainer", rank=0)
    for number in range(10):
        labels = {"id": str(number)}
        lines.add("count", "n", number, value=number, labels=labels).add(
            "gauge", "g", number, value=number, labels=labels
        )
        lines.add("sample", "s", number, value=number, labels=labels)
        lines.span(f"task {number}", number, number + 1)
        if not at_once:
            machine.take(lines.new())
            exporter.answer()
    for number in range(3):
        lines.add("count", f"more-{number}", value=1)
    machine.take(lines.new())
    page = exposed(exporter)
    plain = (*RUN, "role", "rank")
    kept = {(("id", str(number)),): float(number) for number in range(3)}
    assert page.series("rl_insight_monitor_n_total", *plain) == {**kept, (("id", "other"),): sum(range(3, 10))}
    assert page.value("rl_insight_monitor_n_total", id="other", rank="other", role="other") == sum(range(3, 10))
    # The mean of those that were set since the scrape before.
    assert page.series("rl_insight_monitor_g", *plain) == {**kept, (("id", "other"),): 6.0 if at_once else 9.0}
    assert page.value("rl_insight_monitor_s_count", id="other") == 7
    assert page.value("rl_insight_monitor_s_sum", id="other") == sum(range(3, 10))
    assert sum(page.series("rl_insight_spans_total").values()) == 10
    assert page.value("rl_insight_spans_total", name="other") == 7
    assert page.value("rl_insight_span_seconds_count", name="other") == 7
    told = {one.metric: one.series for one in exporter.folded}
    assert told == {
        "rl_insight_monitor_n_total": 7,
        "rl_insight_monitor_g": 7,
        "rl_insight_monitor_s": 7,
        "rl_insight_spans_total": 7,
        "rl_insight_span_seconds": 7,
        "other": 2,
    }
    assert page.value("rl_insight_collector_cardinality_folded_series", metric="rl_insight_monitor_n_total") == 7
    assert page.value("rl_insight_monitor_more_0_total") == 1
    # What is folded on the page is all there in the store.
    assert machine.ask("SELECT count(DISTINCT labels) FROM point WHERE name = 'n'") == [(10,)]


def test_two_processes_set_one_gauge_and_after_a_restart_the_newest_counts(machine: Machine) -> None:
    for rank, value in ((0, 1.0), (1, 2.0), (None, 3.0)):
        machine.take(Lines(f"p{rank}", role="a", rank=rank, pid=5).add("gauge", "g", 50, value=value).new())
    # Its value was set earlier, but it is the process that came later.
    machine.take(Lines("q", began=51, role="a", rank=0).add("gauge", "g", 52, value=4.0).new())
    for proc, pid in (("v", 7), ("w", 8)):
        machine.take(Lines(proc, role="b", pid=pid).add("gauge", "g", 3 + pid, value=pid).new())
    page = exposed(Exporter(machine.store))
    found = {
        (dict(labels)["role"], dict(labels).get("rank", "")): value
        for labels, value in page.series("rl_insight_monitor_g").items()
    }
    assert found == {("a", "0"): 4.0, ("a", "1"): 2.0, ("a", ""): 3.0, ("b", "n:7"): 7.0, ("b", "n:8"): 8.0}


def test_a_gauge_of_a_process_that_is_long_gone_is_not_shown_but_its_counter_is(machine: Machine) -> None:
    exporter = Exporter(machine.store, config.Exposition(keep=30))
    gone = Lines("gone", role="worker", pid=1).add("gauge", "g", 1, value=1).add("count", "n", 1, value=1)
    machine.take(gone.hello(2, state="finished").new())
    machine.take(
        Lines("here", role="worker", pid=2).add("gauge", "g", 59, value=2).add("count", "n", 59, value=2).new()
    )
    page = exposed(exporter)
    assert set(page.series("rl_insight_monitor_g").values()) == {2}
    assert sum(page.series("rl_insight_monitor_n_total").values()) == 3


def test_a_run_tells_of_itself(machine: Machine) -> None:
    trainer = Lines("t", role="trainer", rank=0, project="pro", experiment="exp", clock_offset=2_000_000)
    trainer.span("wait_batch", 0, 2, part="state", lane="l", step=1).span("train", 2, 8, part="state", lane="l", step=1)
    trainer.span("wait_batch", 8, 9, part="state", lane="l", step=2).span(
        "train", 9, 13, part="state", lane="l", step=2
    )
    trainer.add("open", "wait_batch", 13, id="o", part="state", lane="l", step=3)
    trainer.add("lost", "lines", 14, count=5, reason="spool full")
    worker = Lines("w", role="rollout", rank=3)
    for number, status in enumerate(["accepted", "accepted", "dropped"]):
        task = {"task": f"t{number}", "session": f"s{number}"}
        worker.span("session", number, number + 2, part="session", trace="ab" * 16, **task)
        worker.span("generate", number, number + 1.5, part="phase", **task)
        worker.add("fact", "session.sample.finished", number + 2, tags=task, attrs={"status": status})
    worker.add("open", "session", 20, id="s", part="session", session="s9", task="t9")
    worker.add("open", "task", 20, id="k", part="task", task="t9")
    for verb in ("put", "put", "put", "taken", "evicted"):
        worker.add("fact", f"queue.sample.{verb}", 21, tags={"queue": "replay"})
    for name, value in (("node_cpu_ratio", 0.5), ("node_network_sent_bytes_total", 1e9)):
        worker.add("gauge", name, 30, value=value, labels={"node": "n1"})
    worker.add("gauge", "gpu_utilization_ratio", 30, value=0.9, labels={"node": "n1", "gpu": "0"})
    machine.take(trainer.new())
    machine.take(worker.new())
    silent = Lines("x", role="rollout", rank=4, heartbeat=5.0)
    machine.take(silent.new())
    hole = process_line("y", 3, run="run-1", ts=time.time_ns(), role="reward", heartbeat=100.0)
    machine.take(encode(hole))
    now = trainer.zero + 60 * S
    page = exposed(Exporter(machine.store, status=lambda: {"store": {"lag_bytes": 7}, "exporters": []}), now)
    run = {"run": "run-1", "project": "pro", "experiment": "exp"}

    assert page.value("rl_insight_run_info", state="live", **run) == 1
    assert page.value("rl_insight_run_step", **run) == 3
    assert page.value("rl_insight_run_last_step_timestamp_seconds") == pytest.approx(trainer.zero / 1e9 + 13.002)
    told = steps(machine.store, "run-1", now=now).steps
    assert [one.step for one in told if not one.open] == [1, 2]
    assert page.value("rl_insight_step_duration_seconds") == told[1].step_s == 5
    assert page.value("rl_insight_trainer_wait_ratio") == told[1].wait_ratio == 0.2
    assert page.value("rl_insight_lines_total", **run) == len(trainer.lines) + len(worker.lines) + 2
    assert page.value("rl_insight_lost_lines_total", reason="spool full") == 5
    assert page.value("rl_insight_hole_lines", **run) == 2

    up = {
        (dict(key)["role"], dict(key).get("rank", "")): value
        for key, value in page.series("rl_insight_process_up").items()
    }
    assert up == {("trainer", "0"): 1, ("rollout", "3"): 1, ("rollout", "4"): 0, ("reward", ""): 1}
    assert page.value("rl_insight_process_clock_offset_seconds") == 0.002
    assert page.value("rl_insight_process_heartbeat_age_seconds", rank="4") == pytest.approx(60, abs=1)

    state = {"role": "trainer", "rank": "0", **run}
    assert page.value("rl_insight_lane_state_seconds_total", state="train", **state) == 10
    # 3 s that have ended, and from the 13th second till now by the clock of the trainer.
    assert page.value("rl_insight_lane_state_seconds_total", state="wait_batch", **state) == pytest.approx(
        3 + 47 - 0.002
    )
    assert page.value("rl_insight_spans_total", name="train", part="state", status="ok", **state) == 2
    who = {"role": "rollout", "rank": "3", **run}
    assert page.value("rl_insight_sessions_total", status="accepted", **who) == 2
    assert page.value("rl_insight_sessions_total", status="dropped", **who) == 1
    assert page.value("rl_insight_sessions_open", **who) == 1
    assert page.value("rl_insight_tasks_open", **who) == 1
    assert page.value("rl_insight_session_seconds_count", **who) == 3
    assert page.value("rl_insight_session_seconds_sum", **who) == 6
    assert page.value("rl_insight_session_seconds_bucket", le="1.0", **who) == 0
    assert page.value("rl_insight_session_seconds_bucket", le="2.5", **who) == 3
    assert page.value("rl_insight_phase_seconds_sum", phase="generate", **who) == 4.5
    assert page.value("rl_insight_span_seconds_sum", name="session", part="session", **run) == 6
    assert page.value("rl_insight_queue_depth", queue="replay", **run) == 1
    assert page.value("rl_insight_node_cpu_ratio", node="n1", **run) == 0.5
    assert page.families["rl_insight_node_network_sent_bytes"].type == "counter"
    assert page.value("rl_insight_gpu_utilization_ratio", node="n1", gpu="0") == 0.9
    assert not [name for name, _ in page.samples if name.startswith("rl_insight_monitor_node")]
    assert page.value("rl_insight_collector_store_lag_bytes") == 7
    buckets = [one for one in page.families["rl_insight_span_seconds"].samples if one.exemplar]
    assert buckets[0].exemplar.labels == {"trace_id": "ab" * 16}  # type: ignore[union-attr]
    assert buckets[0].exemplar.value == 2  # type: ignore[union-attr]
    for family in page.families.values():
        for sample in family.samples:
            own = CATALOGUE.get(re.sub("_(bucket|sum|count)$", "", sample.name))
            assert own is None or {*sample.labels} - {"le"} == {*own.labels}, sample


def test_what_is_called_other_is_not_shown_twice(machine: Machine) -> None:
    lines = Lines("p", role="other", rank=None)
    for number in range(60):
        lines.add("lost", "lines", count=1 + number, reason="other" if number == 59 else f"reason {number}")
        lines.add("count", "n", number, value=1, labels={"id": "other" if number == 0 else str(number)})
        lines.span("other" if number == 0 else f"span {number}", number, number + 1, part="state")
        lines.add("fact", "queue.x.put", tags={"queue": "other" if number == 0 else f"queue {number}"})
    machine.take(lines.new())
    page = exposed(Exporter(machine.store, config.Exposition(max_series=5)))
    assert sum(page.series("rl_insight_lost_lines_total").values()) == sum(range(1, 61))
    assert sum(page.series("rl_insight_monitor_n_total").values()) == 60
    assert sum(page.series("rl_insight_lane_state_seconds_total").values()) == 60
    assert sum(page.series("rl_insight_span_seconds_count").values()) == 60
    assert sum(page.series("rl_insight_queue_depth").values()) == 60


def test_time_in_a_state_goes_on_while_it_lasts_and_never_back(machine: Machine) -> None:
    exporter = Exporter(machine.store)
    lines = Lines("p", role="trainer")
    machine.take(lines.add("open", "train", 10, id="o", part="state", lane="l").new())

    def spent(at: float) -> float:
        return exposed(exporter, lines.zero + round(at * S)).value("rl_insight_lane_state_seconds_total", state="train")

    assert [spent(at) for at in (20, 30, 25)] == [10, 20, 20]
    # Its own clock says it took a little less.
    machine.take(lines.add("span", "train", 10, dur=round(19.5 * S), id="o", part="state", lane="l").new())
    assert [spent(31), spent(40)] == [20, 20]
    machine.take(lines.add("open", "train", 41, id="o2", part="state", lane="l").new())
    assert spent(51) == 29.5
    # Who has fallen silent does nothing any more.
    assert spent(500) == spent(600) <= 30


def test_a_session_of_which_nothing_was_said_ended_as_its_task_did(machine: Machine) -> None:
    exporter = Exporter(machine.store)
    worker, controller = Lines("w", role="rollout"), Lines("c", role="controller")

    def ended(session: str, task: str, status: str | None = None) -> None:
        tags = {"session": session, "task": task}
        worker.span("session", 1, 2, part="session", **tags)
        if status:
            worker.add("fact", "session.sample.finished", 2, tags=tags, attrs={"status": status})

    def said() -> dict[tuple[str, str], float]:
        found = exposed(exporter).series("rl_insight_sessions_total").items()
        return {(dict(labels)["role"], dict(labels)["status"]): value for labels, value in found}

    for session, status in (("a", None), ("b", "failed"), ("c", None)):
        ended(session, "t1", status)
    machine.take(worker.new())
    assert said() == {("rollout", "failed"): 1}
    machine.take(controller.add("fact", "task.item.finished", tags={"task": "t1"}, attrs={"status": "accepted"}).new())
    assert said() == {("rollout", "failed"): 1, ("controller", "accepted"): 2}
    # The line of a session may come after that of its task, from another process.
    ended("d", "t1")
    machine.take(worker.new())
    assert said() == {("rollout", "failed"): 1, ("controller", "accepted"): 3}
    controller.add("fact", "task.item.finished", tags={"task": "t2"}, attrs={"status": "dropped"})
    machine.take(controller.new())
    ended("e", "t2")
    machine.take(worker.new())
    expected = {("rollout", "failed"): 1, ("controller", "accepted"): 3, ("controller", "dropped"): 1}
    assert said() == expected
    exporter = Exporter(machine.store)
    assert said() == expected


def test_engines_keep_their_names(machine: Machine) -> None:
    scraper = Lines("e", role="engine")
    scraper.lines[0]["name"] = "scraper"
    labels = {"engine": "h:1", "job": "vllm"}
    scraper.add("gauge", "vllm:num_requests_running", 50, value=3, labels=labels)
    scraper.add("gauge", "vllm:gone", 1, value=3, labels=labels).add(
        "count", "vllm:tokens_total", 50, value=9, labels=labels
    )
    for le, value in (("0.5", 1), ("+Inf", 2)):
        scraper.add("count", "vllm:e2e_seconds_bucket", 50, value=value, labels={**labels, "le": le})
    machine.take(scraper.new())
    page = exposed(Exporter(machine.store, engine_seconds=30))
    assert page.value("vllm:num_requests_running", engine="h:1", job="vllm", run="run-1") == 3
    assert page.value("vllm:tokens_total") == 9
    assert page.value("vllm:e2e_seconds_bucket", le="+Inf") == 2
    # It has not been answering for a while.
    assert not page.series("vllm:gone")


def test_buckets_that_are_none_are_refused() -> None:
    for given in ([1.0, 1.0], [2.0, 1.0], [float("inf")], [float("nan")]):
        with pytest.raises(config.ConfigError, match=r"collector\.prometheus\.buckets\.x: give finite upper bounds"):
            bounds(config.Exposition(buckets={"x": given}))
    chosen = bounds(config.Exposition(buckets={"default": [1.0], "rl_insight_span_seconds": [2.0]}))
    assert (chosen.of("any"), chosen.spans, chosen.phases) == ((1.0,), (2.0,), SECONDS)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/html,*/*;q=0.8", False),
        ("text/plain;version=0.0.4", False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text; version=0.0.1", False),
        ("application/openmetrics-text;version=1.0.0;q=0", False),
        ("application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.5", False),
        ("application/openmetrics-text;q=nonsense", False),
        # As Prometheus 2 and 3 ask.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            True,
        ),
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
            "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            True,
        ),
    ],
)
def test_openmetrics_is_for_those_who_ask_for_it(accept: str, wanted: bool) -> None:
    assert wants_openmetrics(accept) == wanted


def test_the_catalogue_is_written_down() -> None:
    text = (DOCS / "prometheus.md").read_text()
    rows = re.findall(r"^\| `(rl_insight_\w+)` \| (\w+) \| (.*?)\| (.*) \|$", text, re.MULTILINE)
    assert [(name, kind, said) for name, kind, _, said in rows] == [
        (own.name, own.kind, own.help) for own in CATALOGUE.values()
    ]
    for name, _, labels, _ in rows:
        found = re.findall(r"`(\w+)`", labels)
        assert (*(RUN if "…" in labels else ()), *found) == CATALOGUE[name].labels
