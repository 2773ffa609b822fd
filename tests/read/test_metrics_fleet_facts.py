"""Numbers, machines and facts, as the page asks for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import TS, encode, process_line
from rl_insight.read.facts import facts, vocabulary
from rl_insight.read.fleet import fleet
from rl_insight.read.metrics import NoSuchMetric, course, metrics
from rl_insight.read.search import BadSearch
from rl_insight.read.trust import trust
from rl_insight.store import Store
from stored import S, stored


def point(seq: int, kind: str, name: str, value: float, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "proc": "p", "seq": seq, "ts": TS + seq * S, "name": name, "value": value, **more}


def fact(seq: int, name: str, tags: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"kind": "fact", "proc": "p", "seq": seq, "ts": TS + seq * S, "name": name, "tags": tags or {}, **more}


def lines() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        process_line("p", role="rollout", rank=1, node="n1", heartbeat=5.0, clock_offset=2_000_000)
    ]

    def add(make: Any, *given: Any, **more: Any) -> None:
        made.append(make(len(made) + 1, *given, **more))

    add(point, "gauge", "node_network_sent_bytes_total", 1000.0, labels={"node": "n1"})
    for step in range(1, 11):
        add(point, "gauge", "loss", 1 / step, step=step)
        add(point, "gauge", "loss", 3 / step, step=step)
        add(point, "count", "tokens", 10.0, step=step, labels={"worker": str(step % 2)})
        for value in range(100):
            add(point, "sample", "latency", value / 100, step=step)
    add(point, "gauge", "node_cpu_ratio", 0.5, labels={"node": "n1"})
    add(point, "gauge", "node_network_sent_bytes_total", 3000.0, labels={"node": "n1"})
    add(point, "gauge", "gpu_utilization_ratio", 0.9, labels={"node": "n1", "gpu": "0"})
    add(fact, "weights.version.sent", {"weights": "3"}, peer="worker-1", step=3)
    add(fact, "weights.version.sent", {"weights": "4"}, peer="worker-2", step=4)
    add(fact, "weights.version.applied", {"weights": "3"}, outcome="error", reason="No route", step=5)
    add(fact, "task.item.put", {"task": "t-1"}, session="t-1.0")
    return made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stored(tmp_path_factory.mktemp("numbers"), encode(*lines())) as store:
        yield store


def test_a_gauge_is_told_by_step_as_its_mean_between_its_bounds(store: Store) -> None:
    answer = course(store, "run-1", "loss")
    (series,) = answer.series
    assert answer.x == [float(step) for step in range(1, 11)]
    assert series.values == pytest.approx([2 / step for step in range(1, 11)])
    assert series.low == pytest.approx([1 / step for step in range(1, 11)])
    assert series.high == pytest.approx([3 / step for step in range(1, 11)])


def test_a_count_adds_up_by_step_and_by_time(store: Store) -> None:
    by_step = course(store, "run-1", "tokens", group="worker")
    assert [one.label for one in by_step.series] == ["0", "1"]
    assert sum(value or 0 for one in by_step.series for value in one.values) == 100
    by_time = course(store, "run-1", "tokens", by="time", points=50)
    assert sum(value or 0 for value in by_time.series[0].values) * by_time.width / 1e3 == pytest.approx(100)


def test_a_distribution_is_told_by_its_quantiles_and_as_heat(store: Store) -> None:
    answer = course(store, "run-1", "latency", heat=True)
    assert answer.series[0].values == pytest.approx([0.495] * 10)
    assert answer.series[0].low == pytest.approx([0.099] * 10)
    assert answer.heat is not None
    assert [sum(column) for column in answer.heat.counts] == [100] * 10
    assert not answer.heat.log  # zero is among them
    assert course(store, "run-1", "latency", heat=True, log=True).heat == answer.heat


@pytest.mark.parametrize(("log", "column"), [(None, [1, 1, 1, 1]), (True, [1, 1, 1, 1]), (False, [3, 0, 0, 1])])
def test_a_few_large_values_do_not_flatten_a_heat_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: bool | None, column: list[int]
) -> None:
    monkeypatch.setattr("rl_insight.read.metrics.HEAT_ROWS", 4)
    lines = [point(seq, "sample", "seconds", value, step=1) for seq, value in enumerate((0.001, 0.011, 0.12, 10.0), 2)]
    with stored(tmp_path, encode(process_line("p"), *lines)) as store:
        heat = course(store, "run-1", "seconds", heat=True, log=log).heat
    assert heat is not None
    assert heat.counts == [column]
    edges = [10 ** (heat.low + row * heat.height) if heat.log else heat.low + row * heat.height for row in range(5)]
    assert edges == pytest.approx([0.001, 0.01, 0.1, 1, 10] if heat.log else [0.001, 2.50075, 5.0005, 7.50025, 10])


def test_many_steps_become_few_points(store: Store) -> None:
    answer = course(store, "run-1", "loss", points=3)
    assert len(answer.x) <= 3
    assert sum(answer.series[0].n) == 20


def test_what_is_no_number_is_counted_and_not_drawn(tmp_path: Path) -> None:
    body = encode(process_line("p"), point(2, "gauge", "loss", 1.0, step=1), point(3, "gauge", "loss", 5.0, step=2))
    with stored(tmp_path, body) as bad:
        bad_cursor = bad.cursor()
        bad_cursor.execute("UPDATE point SET value = 'nan' WHERE step = 2")
        bad_cursor.close()
        (series,) = course(bad, "run-1", "loss").series
        assert series.values == [1.0, None]
        assert series.unusable == 1
        assert not any(math.isnan(value) for value in series.values if value is not None)
        assert metrics(bad, "run-1").metrics[0].now is None


def test_metrics_are_listed_with_their_labels(store: Store) -> None:
    found = {one.name: one for one in metrics(store, "run-1").metrics}
    assert found["tokens"].labels == {"worker": ["0", "1"]}
    assert found["loss"].stepped
    assert not found["node_cpu_ratio"].stepped
    with pytest.raises(NoSuchMetric, match="no metric 'nothing'"):
        course(store, "run-1", "nothing")


def test_fleet_tells_resources_and_rates_of_totals(store: Store) -> None:
    answer = fleet(store, "run-1")
    (node,) = answer.nodes
    assert node.readings["cpu_ratio"].now == 0.5
    assert "network_sent_bytes_total" not in node.readings
    assert node.readings["network_sent_bytes_per_s"].now > 0
    assert node.gpus[0].readings["utilization_ratio"].now == 0.9
    (process,) = answer.processes
    assert (process.worker, process.clock_offset_ms, process.dropped, process.missing) == ("rollout-1", 2.0, 0, 0)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", 4),
        ("weights.", 3),
        ("-weights.", 1),
        ("verb:sent", 2),
        ("group:weights weights:3", 2),
        ("weights:*", 3),
        ("peer:worker-1", 1),
        ("process:rollout", 4),
        ("outcome:error", 1),
        ('reason:"no route"', 1),
        ("step:3..4", 2),
        ("step>4", 1),
        ("session:t-1.0", 1),
        ("weights:' OR 1=1 --", 0),
        ('x"y:1', 0),
    ],
)
def test_facts_are_found_by_name_and_tag(store: Store, query: str, found: int) -> None:
    answer = facts(store, "run-1", query)
    assert answer.total == len(answer.facts) == found


def test_a_search_that_cannot_be_read_says_why(store: Store) -> None:
    for query in ("step:x", "peer>3"):
        with pytest.raises(BadSearch):
            facts(store, "run-1", query)


def test_facts_come_in_pages_newest_first(store: Store) -> None:
    first = facts(store, "run-1", limit=3)
    second = facts(store, "run-1", limit=3, offset=3)
    assert (first.total, len(first.facts), len(second.facts)) == (4, 3, 1)
    assert [one.at for one in (*first.facts, *second.facts)] == sorted(
        (one.at for one in (*first.facts, *second.facts)), reverse=True
    )


def test_vocabulary_names_what_can_be_searched(store: Store) -> None:
    known = vocabulary(store, "run-1")
    assert {one.name: (one.n, one.bad) for one in known.names}["weights.version.applied"] == (1, 1)
    assert {one.tag for one in known.tags} == {"weights", "task"}


def test_trust_counts_what_is_missing(tmp_path: Path) -> None:
    lost = {"kind": "lost", "proc": "p", "seq": 9, "ts": TS, "name": "lines", "count": 7, "reason": "spool full"}
    with stored(tmp_path, encode(process_line("p"), lost)) as holed:
        found = {one.what: one.lines for one in trust(holed).losses}
        assert found == {"hole": 7, "lost": 7}
