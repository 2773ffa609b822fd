"""A real Prometheus scrapes a real collector: what it stores is what was recorded, exactly."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exposed import RUN_LABELS, Worker
from harness import Server, running_server, wait_until
from prometheus_server import Prometheus, running_prometheus

RUN = "exact"
NASTY = [
    'say "hi"',
    "two\nlines",
    "back\\slash",
    "späße 数据 🦆",
    "nul\0l",
    " ",
    "{a=b},c",
    "tab\tand\rreturn",
    "\u2028",
]
BUCKETS = {"default": [0.5, 1.0, 10.0], "latency_ms": [1.0, 2.0, 4.0]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"prometheus": {"buckets": BUCKETS}}
    with running_server(tmp_path_factory.mktemp("metrics") / "data", settings=settings) as server:
        yield server


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Iterator[Prometheus]:
    jobs = [{"job_name": "rl_insight", "static_configs": [{"targets": [f"127.0.0.1:{server.port}"]}]}]
    with running_prometheus(tmp_path_factory.mktemp("prometheus"), {"scrape_configs": jobs}) as prometheus:
        yield prometheus


def stored(prometheus: Prometheus, promql: str, *labels: str) -> dict[tuple[str, ...], float]:
    """What Prometheus has now, by the values of some labels; empty is as good as none."""
    return {
        tuple(one["metric"].get(label, "") for label in labels): float(one["value"][1])
        for one in prometheus.query(promql)
    }


def wait_for(prometheus: Prometheus, promql: str, labels: tuple[str, ...], expected: dict[Any, float]) -> None:
    def same() -> bool:
        return stored(prometheus, promql, *labels) == expected

    try:
        wait_until(same, 120)
    except AssertionError:
        health = [(one["health"], one["lastError"]) for one in prometheus.targets()]
        raise AssertionError(f"{promql}: {stored(prometheus, promql, *labels)}, not {expected}; {health}") from None


def count(name: str, amount: float, **labels: Any) -> tuple[str, list[Any], dict[str, Any]]:
    return ("metric_count", [name, amount], labels)


def gauge(name: str, value: float, **labels: Any) -> tuple[str, list[Any], dict[str, Any]]:
    return ("metric_gauge", [name, value], labels)


def sample(name: str, value: float, **labels: Any) -> tuple[str, list[Any], dict[str, Any]]:
    return ("metric_distribution", [name, value], labels)


def test_what_prometheus_stores_is_what_was_recorded_across_restarts_of_both_sides(
    server: Server, prometheus: Prometheus, tmp_path: Path
) -> None:
    shared = {"run": RUN, "project": "puzzles", "experiment": "first"}
    trainers = [Worker(tmp_path, server, **shared, role="trainer", rank=rank) for rank in (0, 1)]
    # As verl has it: many workers of one role, none with a rank.
    plain = [Worker(tmp_path, server, **shared, role="worker") for _ in range(2)]
    tokens = {0: 0.0, 1: 0.0}
    latency = [0.25, 1.0, 1.5, 4.0, 4.25, 1000.0]
    for rank, one in enumerate(trainers):
        one.record(
            *[count("tokens", 7 + rank) for _ in range(10)],
            count("tokens", float("nan")),
            gauge("loss", 0.1 + rank),
            gauge("loss", 0.25 + rank),
            gauge("loss", float("nan")),
            *[count("odd", number, said=text) for number, text in enumerate(NASTY, 1)],
            *[sample("latency_ms", value, stage="decode") for value in latency],
            *[sample("reward/mean", value) for value in (-1.0, 0.75)],
            *[("trace_span", ["work", 10**18, 10**18 + 10**9 * seconds], {}) for seconds in (1, 2)],
        )
        tokens[rank] += (7 + rank) * 10
    for number, one in enumerate(plain):
        one.record(gauge("depth", 40.0 + number), count("seen", 1 + number))

    def check_counters() -> None:
        expected = {(RUN, "puzzles", "first", "trainer", str(rank)): total for rank, total in tokens.items()}
        wait_for(prometheus, "rl_insight_monitor_tokens_total", RUN_LABELS, expected)

    check_counters()
    wait_for(prometheus, "rl_insight_monitor_loss", ("rank",), {("0",): 0.25, ("1",): 1.25})
    wait_for(
        prometheus,
        'rl_insight_monitor_odd_total{rank="1"}',
        ("said",),
        {(text.replace("\0", "\ufffd"),): number for number, text in enumerate(NASTY, 1)},
    )
    # Neither of two processes without a rank overwrites the other.
    node = socket.gethostname()
    places = [(f"{node}:{one.pid}",) for one in plain]
    wait_for(prometheus, "rl_insight_monitor_depth", ("rank",), dict(zip(places, (40.0, 41.0), strict=True)))

    def check_latency(times: int) -> None:
        below = {bound: float(sum(value <= bound for value in latency)) for bound in (1.0, 2.0, 4.0, float("inf"))}
        wait_for(
            prometheus,
            'rl_insight_monitor_latency_ms_bucket{rank="0",stage="decode"}',
            ("le",),
            {("+Inf" if bound == float("inf") else f"{bound}",): times * number for bound, number in below.items()},
        )
        for name, value in (("sum", sum(latency)), ("count", len(latency))):
            expected = {("0",): times * value}
            wait_for(prometheus, f'rl_insight_monitor_latency_ms_{name}{{rank="0"}}', ("rank",), expected)

    check_latency(1)
    wait_for(prometheus, 'rl_insight_span_seconds_sum{name="work"}', ("run",), {(RUN,): 2 * 3.0})
    wait_for(prometheus, 'rl_insight_monitor_reward_mean_sum{rank="0"}', (), {(): -0.25})
    wait_for(
        prometheus,
        'rl_insight_monitor_reward_mean_bucket{rank="0"}',
        ("le",),
        {("0.5",): 1, ("1.0",): 2, ("10.0",): 2, ("+Inf",): 2},
    )

    # The collector is killed and comes back; nobody notices but by the gap.
    server.kill()
    server.start()
    trainers[0].record(
        *[count("tokens", 0.5) for _ in range(4)], *[sample("latency_ms", value, stage="decode") for value in latency]
    )
    tokens[0] += 2
    check_counters()
    check_latency(2)

    # A trainer is killed and another takes its place: its counter goes on, its gauge is the new one's.
    trainers[0].kill()
    again = Worker(tmp_path, server, **shared, role="trainer", rank=0)
    again.record(count("tokens", 100), gauge("loss", 9.0))
    tokens[0] += 100
    check_counters()
    wait_for(prometheus, "rl_insight_monitor_loss", ("rank",), {("0",): 9.0, ("1",): 1.25})
    wait_for(
        prometheus,
        f'rl_insight_process_up{{run="{RUN}"}}',
        ("role", "rank"),
        {
            ("trainer", "0"): 1,
            ("trainer", "1"): 1,
            ("worker", places[0][0]): 1,
            ("worker", places[1][0]): 1,
        },
    )
    # Prometheus has seen no counter fall, ours among them, and had nothing to complain of.
    for name in prometheus.api("label/__name__/values"):
        if name.startswith("rl_insight_") and name.endswith(("_total", "_sum", "_count", "_bucket")):
            assert prometheus.query(f'resets({name}{{run="{RUN}"}}[10m]) > 0') == [], name
    assert "Error on ingesting" not in prometheus.output()
    wait_for(prometheus, f'rl_insight_run_info{{run="{RUN}"}}', ("state",), {("live",): 1})
    for one in (again, trainers[1], *plain):
        one.end()
