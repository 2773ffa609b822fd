"""Counters, gauges and distributions, as trainers call them."""

import pytest

import rl_insight as insight
from rl_insight.testing import Lines


def test_each_metric_call_is_one_line_of_its_kind(lines: Lines) -> None:
    insight.metric_count("steps_total", 2)
    insight.metric_gauge("reward_mean", 0.5)
    insight.metric_distribution("latency_ms", 41.0)
    assert [(line["kind"], line["name"], line["value"]) for line in lines()[1:]] == [
        ("count", "steps_total", 2.0),
        ("gauge", "reward_mean", 0.5),
        ("sample", "latency_ms", 41.0),
    ]


def test_the_older_names_are_the_same_calls(lines: Lines) -> None:
    insight.metric_value("reward_mean", value=0.7, worker="trainer_0")
    insight.metric_histogram("latency_ms", 1.5)
    insight.metric_count("train_step_total", amount=1, worker="trainer_0")
    assert [line["kind"] for line in lines()[1:]] == ["gauge", "sample", "count"]
    assert lines("gauge")[0]["labels"] == {"worker": "trainer_0"}


def test_a_count_moves_by_one_by_default(lines: Lines) -> None:
    insight.metric_count("steps_total")
    assert lines("count")[0]["value"] == 1.0


def test_positional_calls_as_verl_makes_them(lines: Lines) -> None:
    insight.metric_gauge("actor_loss", float("0.25"))
    insight.metric_gauge("critic_score_mean", 1.5)
    assert [(line["name"], line["value"]) for line in lines("gauge")] == [
        ("actor_loss", 0.25),
        ("critic_score_mean", 1.5),
    ]


def test_documentation_is_told_by_the_process_line(lines: Lines) -> None:
    insight.metric_gauge("reward_mean", 0.5, "mean reward of the batch")
    insight.close()
    assert lines("process")[-1]["attrs"]["help"] == {"reward_mean": "mean reward of the batch"}


def test_one_name_may_have_any_label_sets_and_kinds(lines: Lines) -> None:
    insight.metric_gauge("x", 1)
    insight.metric_gauge("x", 2, worker="a")
    insight.metric_gauge("x", 3, other="b", worker="a")
    insight.metric_count("x", 4)
    assert [line["value"] for line in lines()[1:]] == [1, 2, 3, 4]
    assert insight.status().problems == {"type_conflict": 1}


def test_a_step_label_is_the_step(lines: Lines) -> None:
    insight.set_step(3)
    insight.metric_gauge("x", 1)
    insight.metric_gauge("x", 1, step=7, worker="a")
    insight.metric_gauge("x", 1, step=0)
    insight.metric_gauge("x", 1, step="late")
    insight.set_step(None)
    insight.metric_gauge("x", 1)
    assert [line.get("step") for line in lines("gauge")] == [3, 7, 0, 3, None]
    assert lines("gauge")[1]["labels"] == {"worker": "a"}
    assert lines("gauge")[3]["labels"] == {"step": "late"}


@pytest.mark.parametrize("bad", ["3", b"3", None, object(), [1, 2], {}])
def test_what_is_not_a_number_is_dropped_and_counted(lines: Lines, bad: object) -> None:
    insight.metric_gauge("x", bad)  # type: ignore[arg-type]
    assert len(lines()) == 1
    assert insight.status().problems == {"not_a_number": 1}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_a_number_that_json_lacks_becomes_a_warning(lines: Lines, bad: float) -> None:
    insight.metric_gauge("loss", bad, worker="a")
    insight.metric_gauge("loss", 1.0)
    warning = lines("log")[0]
    assert warning["level"] == "warning"
    assert warning["attrs"]["metric"] == "loss"
    assert warning["attrs"]["worker"] == "a"
    assert [line["value"] for line in lines("gauge")] == [1.0]
    assert insight.status().problems == {"not_finite": 1}


def test_a_counter_never_goes_down(lines: Lines) -> None:
    insight.metric_count("steps_total", -1)
    insight.metric_count("steps_total", 2)
    assert [line["value"] for line in lines("count")] == [2.0]
    assert lines("log")[0]["name"] == "counter cannot go down"
    assert insight.status().problems == {"negative_count": 1}


def test_a_whole_number_beyond_64_bits_is_recorded(lines: Lines) -> None:
    insight.metric_gauge("x", 10**30)
    insight.metric_gauge("x", True)
    assert [line["value"] for line in lines("gauge")] == [1e30, 1.0]


def test_a_label_that_cannot_be_pickled_is_recorded_as_text(lines: Lines) -> None:
    class Worker:
        def __str__(self) -> str:
            return "worker-7"

        def __reduce__(self) -> str:
            raise TypeError("cannot be pickled")

    insight.metric_gauge("x", 1.0, worker=Worker(), ready=True, nothing=None, number=3)
    assert lines("gauge")[0]["labels"] == {"worker": "worker-7", "ready": "true", "nothing": "", "number": "3"}


def test_labels_that_are_equal_as_keys_are_told_apart(lines: Lines) -> None:
    for value in (1, True, 1.0, "1"):
        insight.metric_gauge("x", 0.0, v=value)
    assert [line["labels"]["v"] for line in lines("gauge")] == ["1", "true", "1.0", "1"]


@pytest.mark.parametrize(("given", "kept"), [("", "unnamed"), ("a\nb", "a b"), (7, "7"), ("x" * 2000, "x" * 512)])
def test_a_name_that_cannot_be_one_is_cleaned_and_counted(lines: Lines, given: str, kept: str) -> None:
    insight.metric_gauge(given, 1.0)
    with insight.trace_span(given):
        insight.fact(given)
    assert [line["name"] for line in lines()[1:]] == [kept] * 3
    assert "bad_name" in insight.status().problems


@pytest.mark.parametrize("bad", ["seven", float("nan"), 2**70, object()])
def test_a_step_that_is_no_whole_number_changes_nothing(lines: Lines, bad: int) -> None:
    insight.set_step(5)
    insight.set_step(bad)
    insight.metric_gauge("x", 1.0)
    assert lines("gauge")[0]["step"] == 5
    assert insight.status().problems == {"bad_step": 1}


def test_numpy_and_one_element_arrays_are_numbers(lines: Lines) -> None:
    numpy = pytest.importorskip("numpy")
    insight.set_step(numpy.int64(4))
    insight.metric_gauge("x", numpy.float32(0.5), worker=numpy.int64(3))
    insight.metric_gauge("x", numpy.array([2.0]))
    insight.metric_gauge("x", numpy.array([1.0, 2.0]))
    assert [line["value"] for line in lines("gauge")] == [0.5, 2.0]
    assert lines("gauge")[0]["labels"] == {"worker": "3"}
    assert lines("gauge")[0]["step"] == 4
    assert insight.status().problems == {"not_a_number": 1}
