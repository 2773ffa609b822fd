"""Whatever is recorded, the page is legal, tells everything apart, and loses nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from exposed import Exposed, parsed
from rl_insight import config
from rl_insight.export.metric_names import CATALOGUE
from rl_insight.export.prometheus import Exporter, bounds
from rl_insight.export.prometheus.ledger import Ledger
from rl_insight.export.prometheus.names import LabelNames, Names, Recorded
from rl_insight.export.prometheus.page import Page
from rl_insight.export.prometheus.processes import Process, who_is_who
from rl_insight.export.prometheus.recordings import Recordings
from rl_insight.export.prometheus.totals import Totals

S = 1_000_000_000
# Names that are close to each other and to those of Prometheus, beside any text at all.
near = st.sampled_from(["a", "b", "_", ".", "/", ":", "total", "bucket", "sum", "count", "created", "gauge", "0", "é"])
names = st.one_of(st.lists(near, min_size=1, max_size=4).map("".join), st.text(min_size=1, max_size=6))
label_names = st.one_of(names, st.sampled_from(["", "run", "rank", "role", "le", "quantile", "__name__", "label_run"]))
# JSON carries no lone surrogates.
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
labels = st.dictionaries(label_names.filter(str.isprintable), values, max_size=3)
points = st.lists(
    st.tuples(
        st.sampled_from(["count", "gauge", "sample"]),
        names.filter(lambda name: name.isprintable()),
        labels,
        st.integers(0, 1000),
        st.booleans(),
    ),
    max_size=12,
)


def process(proc: str, **more: Any) -> Process:
    now = time.time_ns()
    plain: dict[str, Any] = {
        "run": "r", "proc": proc, "project": None, "experiment": None, "role": "worker", "rank": 0, "node": "n",
        "pid": 1, "started": now - S, "last_ts": now, "clock_offset": 0, "clock_known": False, "finished": False,
        "live": True, "engine": False, "seq": 1, "lines": 1,
    }  # fmt: skip
    return Process(**{**plain, **more})


def told(recorded: list[tuple[str, str, dict[str, str], int, bool]]) -> tuple[Page, Recordings]:
    """The page of these points, which two processes recorded: one of ours, and one that reads an engine."""
    chosen = config.Exposition()
    ledger = Ledger(chosen, bounds(chosen))
    ledger.processes = [process("p"), process("e", role="engine", engine=True, pid=2)]
    ledger.now = time.time_ns()
    totals = ledger.runs["r"] = Totals(bounds(chosen), chosen.max_series, chosen.max_metrics)
    for order, (kind, name, given_labels, value, engine) in enumerate(recorded):
        proc, text = ("e" if engine else "p"), json.dumps(given_labels)
        if kind == "sample":
            bucket = sum(bound < value for bound in bounds(chosen).of(name))
            rows = [(engine, proc, name, text, bucket, 1, value, 0, 0.0, 0, order)]
            totals.meet([], rows)
            totals.add_samples(rows)
        else:
            points = [(engine, proc, kind, name, text, value, 0, 0.0, value, ledger.now, 1, order)]
            totals.meet(points, [])
            totals.add_points(points)
    page, recordings = Page(), Recordings("rl_insight_monitor")
    recordings.tell(page, ledger, who_is_who(ledger.processes))
    return page, recordings


@given(points)
@settings(max_examples=80, deadline=None)
def test_any_names_labels_and_kinds_make_a_page_that_both_parsers_read_and_that_has_everything(
    recorded: list[tuple[str, str, dict[str, str], int, bool]],
) -> None:
    page, recordings = told(recorded)
    for accept in ("", "application/openmetrics-text"):
        read = _written(page, accept)
        # Counters and distributions of each recorded metric add up to what was recorded, whatever it is called here.
        for kind, name, engine in {(kind, name, engine) for kind, name, _, _, engine in recorded if kind != "gauge"}:
            said = [
                value for kind_, name_, _, value, engine_ in recorded if (kind_, name_, engine_) == (kind, name, engine)
            ]
            family = recordings.names.family(Recorded(name, kind, engine))
            suffix = {"counter": "_total", "histogram": "_count"}.get(family.type, "")
            expected = float(len(said) if kind == "sample" else sum(said))
            assert sum(read.series(family.name + suffix).values()) == expected, (name, kind)


def _written(page: Page, accept: str) -> Exposed:
    class Fixed(Exporter):
        def page(self, now: int | None = None) -> Page:
            return page

    answer = Fixed.answer(object.__new__(Fixed), accept)
    return parsed(answer.body, answer.content_type)


@given(st.lists(st.builds(Recorded, names, st.sampled_from(["count", "gauge", "sample"]), st.booleans()), max_size=20))
def test_no_two_metrics_share_the_name_of_a_sample(recorded: list[Recorded]) -> None:
    given_names = Names("rl_insight_monitor")
    taken = {sample for own in CATALOGUE.values() for sample in _samples(own.family, own.kind)}
    for one in dict.fromkeys(recorded):
        family = given_names.family(one)
        assert family == given_names.family(one)
        mine = set(_samples(family.name, family.type))
        assert not mine & taken, family
        taken |= mine
        assert all(letter.isascii() and (letter.isalnum() or letter in "_:") for letter in family.name)
        assert not family.name[0].isdigit()


def _samples(name: str, kind: str) -> Iterator[str]:
    ends = {"counter": ["", "_total"], "histogram": ["", "_bucket", "_sum", "_count"]}
    return (name + end for end in ends.get(kind, [""]))


def test_names_say_what_happened_to_them() -> None:
    given_names = Names("rl_insight_monitor")
    assert given_names.family(Recorded("critic/score/mean", "gauge")).name == "rl_insight_monitor_critic_score_mean"
    assert given_names.family(Recorded("steps_total", "count")) == ("rl_insight_monitor_steps", "counter")
    assert given_names.family(Recorded("vllm:num_requests_running", "gauge", True)).name == "vllm:num_requests_running"
    assert given_names.family(Recorded("vllm:e2e_seconds_bucket", "count", True)) == (
        "vllm:e2e_seconds_bucket",
        "unknown",
    )
    assert not given_names.renamed
    # Another kind under the same name, and another name that looks the same.
    assert given_names.family(Recorded("steps_total", "gauge")).name == "rl_insight_monitor_steps_total_gauge"
    assert given_names.family(Recorded("steps", "sample")).name.startswith("rl_insight_monitor_steps_")
    assert given_names.family(Recorded("critic.score.mean", "gauge")).name.startswith(
        "rl_insight_monitor_critic_score_mean_"
    )
    # The count of a distribution is no name for a gauge.
    assert given_names.family(Recorded("time", "sample")).name == "rl_insight_monitor_time"
    assert given_names.family(Recorded("time_count", "gauge")).name.startswith("rl_insight_monitor_time_count_")
    assert len(given_names.renamed) == 4
    given_names.forget_all_but([Recorded("critic.score.mean", "gauge")])
    assert given_names.family(Recorded("steps", "sample")).name == "rl_insight_monitor_steps"


@given(st.lists(label_names, unique=True, max_size=12), st.booleans())
def test_labels_have_legal_names_of_their_own(given_labels: list[str], engine: bool) -> None:
    legal = LabelNames(bounds=engine)
    found = [legal.of(name) for name in given_labels]
    assert len(set(found)) == len(found)
    assert found == [legal.of(name) for name in given_labels]
    for name in found:
        assert name.isascii()
        assert name.isidentifier()
        assert not name.startswith("__")
        assert name not in ("run", "project", "experiment", "role", "rank")


moments = st.integers(0, 40)
lives = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, None]), st.sampled_from(["n1", "n2"]),
        st.sampled_from([7, 8, None]), moments, moments,
    ),
    max_size=8,
)  # fmt: skip


@given(lives)
def test_two_processes_that_ran_at_the_same_time_never_share_their_labels(lives: list[tuple[Any, ...]]) -> None:
    made = [
        process(f"p{n}", role=role, rank=rank, node=node, pid=pid, started=begin * S, last_ts=(begin + length) * S)
        for n, (role, rank, node, pid, begin, length) in enumerate(lives)
    ]
    who = who_is_who(made)
    for one in made:
        for other in made:
            # Clocks of two machines may be a second apart.
            doubt = 0 if one.node == other.node else S
            if one is not other and one.started < other.last_ts - doubt and other.started < one.last_ts - doubt:
                assert who[one.proc] != who[other.proc], (one, other)


def test_ranks_of_processes_that_have_none_or_the_same() -> None:
    def ranks(*processes: Process) -> list[str]:
        who = who_is_who(processes)
        return [who[one.proc].rank for one in processes]

    def lived(proc: str, begin: int, end: int, **more: Any) -> Process:
        return process(proc, **{"pid": ord(proc), "started": begin * S, "last_ts": end * S, **more})

    assert ranks(lived("a", 0, 9, rank=None)) == [""]
    # One after the other: the same one, restarted.
    assert ranks(lived("a", 0, 4, rank=None), lived("b", 5, 9, rank=None)) == ["", ""]
    assert ranks(lived("a", 0, 4, rank=3), lived("b", 5, 9, rank=3)) == ["3", "3"]
    # Side by side: two.
    assert ranks(lived("a", 0, 6, rank=None), lived("b", 5, 9, rank=None)) == ["n:97", "n:98"]
    assert ranks(lived("a", 0, 6, rank=3), lived("b", 5, 9, rank=3)) == ["3", "3@n:98"]
    # Of another role, or another run: nobody's business.
    assert ranks(lived("a", 0, 6, rank=None), lived("b", 5, 9, rank=None, role="other")) == ["", ""]
    assert ranks(lived("a", 0, 6, rank=None), lived("b", 5, 9, rank=None, run="other")) == ["", ""]
