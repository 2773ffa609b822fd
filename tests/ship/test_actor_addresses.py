"""A collector that is a Ray actor, as seen from outside of Ray: its address, its answers, and children of workers."""

from pathlib import Path
from typing import Any

import pytest

import rl_insight as insight
from recorded import decoded, named
from rl_insight.config import ConfigError
from rl_insight.ship.ray import actor_url, in_ray, is_actor_url, parse_actor_url, read_answer
from rl_insight.ship.sink import Ack, Refused, TooLarge, Unavailable
from rl_insight.ship.spool import orphans

URL = actor_url("my space", "rl_insight_collector_run-1")


def test_an_address_says_namespace_and_name() -> None:
    assert is_actor_url(URL)
    assert parse_actor_url(URL) == ("my space", "rl_insight_collector_run-1")
    with pytest.raises(ConfigError, match="ray-actor://namespace/actor-name"):
        insight.init(config={"server": {"url": "ray-actor://somewhere"}})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"status": 400, "error": "no such kind"}, Refused),
        ({"status": 413, "error": "too large", "limit": 10}, TooLarge),
        ({"status": 429, "error": "busy", "retry_after": 1}, Unavailable),
        ({"status": 503, "error": "stopping", "retry_after": 1}, Unavailable),
        ({"status": 507, "error": "disk full"}, Unavailable),
    ],
    ids=lambda value: str(value.get("status")) if isinstance(value, dict) else "",
)
def test_an_answer_means_what_it_means_over_http(answer: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=answer["error"]) as raised:
        read_answer(answer, "actor")
    assert getattr(raised.value, "limit", answer.get("limit")) == answer.get("limit")
    assert getattr(raised.value, "retry_after", 0) == answer.get("retry_after", 0)


def test_an_acknowledgement_has_its_figures() -> None:
    assert read_answer({"status": 200, "accepted": 2, "duplicates": 1, "clock": 3}, "actor") == Ack(2, 1, 3)


def test_a_child_of_a_worker_leaves_its_lines_to_others_of_its_node(home: Path) -> None:
    assert not in_ray()
    insight.init(run="run-1", config={"server": {"url": URL}, "node": "n1", "resources": {"enabled": False}})
    insight.metric_gauge("by a child", 1.0)
    assert insight.flush(30)
    (parent,) = (home / ".rl-insight" / "spool" / "n1").iterdir()
    assert list(orphans(parent)) == []  # it lives, so they are still its own
    insight.close()
    (left,) = list(orphans(parent))
    assert [line["value"] for line in named(decoded(left.peek(2**20)), "by a child")] == [1.0]
    left.close()
