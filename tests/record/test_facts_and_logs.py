"""Facts, operations and log records."""

import logging

import pytest

import rl_insight as insight
from rl_insight.testing import Lines


def test_a_fact_says_what_happened_and_to_what(lines: Lines) -> None:
    insight.set_step(2)
    with insight.trace_span("here"):
        insight.fact(
            "queue.item.put",
            {"task": "t1", "batch": 4},
            op="o1",
            attempt=2,
            peer="node-3",
            outcome="ok",
            reason="because",
            depth=3,
        )
    line, span = lines("fact")[0], lines("span")[0]
    assert line["tags"] == {"task": "t1", "batch": "4"}
    assert (line["op"], line["try"], line["peer"], line["outcome"], line["reason"]) == (
        "o1",
        2,
        "node-3",
        "ok",
        "because",
    )
    assert (line["attrs"], line["parent"], line["step"]) == ({"depth": 3}, span["id"], 2)


def test_an_outcome_that_is_none_is_kept_as_an_attribute(lines: Lines) -> None:
    insight.fact("a.b.finished", outcome="splendid")
    assert "outcome" not in lines("fact")[0]
    assert lines("fact")[0]["attrs"] == {"outcome": "splendid"}
    assert insight.status().problems == {"bad_outcome": 1}


@pytest.mark.parametrize("attempt", [-1, "x", 2**70, float("nan")])
def test_a_try_that_is_no_number_is_left_out(lines: Lines, attempt: int) -> None:
    insight.fact("a.b.sent", attempt=attempt)
    assert "try" not in lines("fact")[0]
    assert insight.status().problems == {"bad_attempt": 1}


def test_tags_that_are_no_mapping_are_kept_as_one_value(lines: Lines) -> None:
    insight.fact("a.b.put", ["x"])  # type: ignore[arg-type]
    assert lines("fact")[0]["tags"] == {"value": "['x']"}
    assert insight.status().problems == {"bad_attributes": 1}


def test_an_operation_is_an_opening_and_a_closing_fact(lines: Lines) -> None:
    with insight.operation("weights.sync", {"weights": 7}, peer="p", attempt=1, bytes=10) as sync:
        sync.set(seconds=0.5)
    opening, closing = lines("fact")
    assert [opening["name"], closing["name"]] == ["weights.sync.started", "weights.sync.finished"]
    assert opening["op"] == closing["op"]
    assert (closing["outcome"], closing["attrs"]) == ("ok", {"bytes": 10, "seconds": 0.5})
    assert opening["tags"] == closing["tags"] == {"weights": "7"}
    assert opening["peer"] == "p"


def test_an_opening_verb_finds_its_closing_one(lines: Lines) -> None:
    with insight.operation("net.rpc.requested"):
        pass
    assert [line["name"] for line in lines("fact")] == ["net.rpc.requested", "net.rpc.answered"]


def test_an_operation_that_raises_is_closed_with_the_reason(lines: Lines) -> None:
    with pytest.raises(TimeoutError), insight.operation("a.b"):
        raise TimeoutError("late")
    assert (lines("fact")[1]["outcome"], lines("fact")[1]["reason"]) == ("timeout", "TimeoutError: late")


def test_an_operation_closed_by_hand_is_closed_once(lines: Lines) -> None:
    with insight.operation("a.b") as work:
        work.close("cancelled", "not needed", left=3)
    with insight.operation("a.b") as work:
        work.fail("no luck")
    facts = lines("fact")
    assert [line.get("outcome") for line in facts] == [None, "cancelled", None, "error"]
    assert facts[1]["attrs"] == {"left": 3}


def test_one_operation_object_used_again_starts_afresh(lines: Lines) -> None:
    work = insight.operation("a.b")
    with pytest.raises(ValueError, match="x"), work:
        raise ValueError("x")
    with work:
        pass
    facts = lines("fact")
    assert [line.get("outcome") for line in facts] == [None, "error", None, "ok"]
    assert facts[1]["op"] != facts[3]["op"]
    assert "reason" not in facts[3]


def test_progress_is_told_at_most_once_in_five_seconds(lines: Lines) -> None:
    with insight.operation("a.b") as work:
        for done in range(100):
            work.progress(done=done)
    assert [line["name"] for line in lines("fact")] == ["a.b.started", "a.b.progressed", "a.b.finished"]


def test_the_tags_of_an_operation_are_those_it_began_with(lines: Lines) -> None:
    tags = {"task": "t1"}
    with insight.operation("a.b", tags):
        tags["task"] = "t2"
    assert [line["tags"] for line in lines("fact")] == [{"task": "t1"}] * 2


def test_an_operation_begun_before_init_is_not_closed_after() -> None:
    from rl_insight.testing import recording

    work = insight.operation("a.b")
    work.__enter__()
    with recording() as lines:
        work.__exit__(None, None, None)
        assert lines("fact") == []


def test_a_log_line_has_level_message_and_attributes(lines: Lines) -> None:
    insight.log("WARN", "slow rollout", seconds=3.5)
    insight.log(logging.ERROR, "bad")
    insight.log(35, "odd")
    insight.log("", "nothing")
    assert [(line["level"], line["name"]) for line in lines("log")] == [
        ("warning", "slow rollout"),
        ("error", "bad"),
        ("warning", "odd"),
        ("info", "nothing"),
    ]
    assert lines("log")[0]["attrs"] == {"seconds": 3.5}


def test_a_long_message_is_kept_up_to_the_limit(lines: Lines) -> None:
    insight.log("info", "start " + "x" * 600 + " end")
    line = lines("log")[0]
    assert len(line["name"]) == 512
    assert (line["name"] + line["attrs"]["message_rest"]).endswith("x end")


def test_an_empty_message_is_a_line(lines: Lines) -> None:
    insight.log("info", "")
    assert lines("log")[0]["name"] == "(empty message)"


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.Logger("trainer.rollout")
    logger.addHandler(insight.LogHandler())
    return logger


def test_pythons_logging_is_recorded(lines: Lines, logger: logging.Logger) -> None:
    try:
        raise ValueError("inner")
    except ValueError:
        logger.exception("step %d failed", 3, extra={"worker": "w1"})
    line = lines("log")[0]
    assert (line["name"], line["level"], line["logger"]) == ("step 3 failed", "error", "trainer.rollout")
    assert line["attrs"]["worker"] == "w1"
    assert line["attrs"]["error"] == "ValueError: inner"
    assert line["attrs"]["source"].startswith("test_facts_and_logs.py:")


def test_a_log_record_whose_arguments_do_not_fit_is_recorded(lines: Lines, logger: logging.Logger) -> None:
    logger.info("%d steps", "no number")
    assert lines("log")[0]["name"].startswith("%d steps (arguments do not fit")


def test_our_own_log_is_not_recorded_again(lines: Lines) -> None:
    logging.getLogger().addHandler(handler := insight.LogHandler())
    try:
        insight.metric_gauge("x", "no number")  # type: ignore[arg-type]
    finally:
        logging.getLogger().removeHandler(handler)
    assert lines("log") == []


def test_whoever_listens_to_our_warnings_may_raise(lines: Lines) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("listener")

    logging.getLogger("rl_insight").addHandler(handler := Broken())
    try:
        insight.metric_gauge("x", "no number")  # type: ignore[arg-type]
    finally:
        logging.getLogger("rl_insight").removeHandler(handler)
    assert insight.status().problems == {"not_a_number": 1}


def test_a_problem_is_logged_once_per_kind(lines: Lines, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        insight.metric_gauge("x", "no number")  # type: ignore[arg-type]
    assert len([record for record in caplog.records if "not_a_number" in record.getMessage()]) == 1
    assert insight.status().problems == {"not_a_number": 5}
