"""Starting and stopping: what is a no-op, what is exact, and what never raises."""

import threading
from pathlib import Path
from typing import Any

import pytest

import rl_insight as insight
from recorded import lines_in, named
from rl_insight.config import ConfigError
from rl_insight.testing import recording

MEMORY = {"ship": {"sink": "memory"}, "resources": {"enabled": False}}


def every_call() -> None:
    insight.metric_count("c")
    insight.metric_gauge("g", 1.0, worker="a")
    insight.metric_value("g", 1.0)
    insight.metric_distribution("d", 1.0)
    insight.metric_histogram("d", 1.0)
    with insight.trace_span("s", attributes={"a": object()}) as span:
        span.set(a=1).fail("x")
    insight.trace_span("s", start_time_ns=1, end_time_ns=2)
    with insight.trace_state("s", 3, step=1):
        pass
    insight.trace_op("op")(lambda: None)()
    insight.fact("a.b.put", {"a": 1})
    with insight.operation("a.b") as work:
        work.set(a=1).progress(done=1)
    insight.log("info", "m")
    with insight.task("t") as task, insight.session() as session, insight.turn(1), insight.phase("p"):
        session.finish("accepted")
        task.finish("accepted")
    insight.finish_session("s", "accepted")
    insight.finish_task("t", "accepted")
    with insight.extract(insight.submit("t")):
        insight.inject()
    insight.agent_loop_session(experiment_name="e", sample=1, session=1).finish(trajectories=[], status="ok")
    insight.set_step(3)
    assert insight.flush(1.0)


def test_calls_before_init_and_after_close_do_nothing(home: Path) -> None:
    every_call()
    assert not insight.status().active
    with recording() as lines:
        pass
    every_call()
    assert [line["kind"] for line in lines()] == ["process", "process"]
    assert insight.status().buffered == 0
    assert not home.exists()


def test_disabled_by_the_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("RL_INSIGHT_DISABLED", "1")
    insight.init()
    every_call()
    insight.close()
    assert not insight.status().active
    assert not home.exists()


@pytest.mark.parametrize("config", [{"enabled": False}, {"ship": {"sink": "none"}}])
def test_disabled_by_the_settings(config: dict[str, Any], home: Path) -> None:
    insight.init(config=config)
    every_call()
    assert not insight.status().active
    assert not home.exists()


def test_init_twice_changes_nothing() -> None:
    insight.init(project="p", config=MEMORY)
    first = insight.status()
    insight.init(project="q", config={"ship": {"nonsense": 1}})
    assert (insight.status().run, insight.status().proc) == (first.run, first.proc)


def test_init_from_many_threads_starts_once() -> None:
    seen: list[str] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        insight.init(config=MEMORY)
        seen.append(insight.status().proc)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 1


def test_close_and_init_again_is_a_new_run() -> None:
    runs = []
    for _ in range(2):
        insight.init(config=MEMORY)
        insight.metric_gauge("x", 1)
        insight.close()
        runs.append(insight.status())
    assert runs[0].run != runs[1].run
    assert runs[0].proc != runs[1].proc
    assert [status.sent for status in runs] == [3, 3]


def test_close_twice_and_finish_are_safe() -> None:
    with recording() as lines:
        insight.metric_gauge("x", 1)
        insight.finish()
        insight.close()
        insight.finish()
    assert len(lines("gauge")) == 1


def test_a_span_across_a_close_is_no_trouble() -> None:
    with recording() as lines:
        span = insight.trace_span("across")
        span.__enter__()
    span.__exit__(None, None, None)
    assert lines("span") == []
    with recording() as lines:
        with insight.trace_span("after"):
            pass
        assert "parent" not in lines("span")[0]


def test_without_server_or_settings_lines_go_to_files(home: Path) -> None:
    insight.init(project="p", run="../my run", config={"resources": {"enabled": False}})
    insight.metric_gauge("x", 1)
    insight.close()
    folder = home / ".rl-insight" / "runs" / "-my-run"
    assert insight.status().sink.startswith(str(folder))
    assert len(named(lines_in(folder), "x")) == 1


def test_where_lines_go_is_announced_once(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RL_INSIGHT_QUIET")
    insight.init(config={"ship": {"dir": str(home / "d")}, "resources": {"enabled": False}})
    assert f"rl-insight open {home / 'd'}" in capsys.readouterr().err
    insight.close()


def test_a_wrong_setting_raises_and_leaves_nothing_running() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting ship\.batchlines; did you mean ship\.batch_lines\?"):
        insight.init(config={"ship": {"batchlines": 3}})
    with pytest.raises(ConfigError, match="rank"):
        insight.init(rank="first")  # type: ignore[arg-type]
    for url in ("ftp://x", "http://", "http://host:port", "http://user:pw@host:1"):
        with pytest.raises(ConfigError, match=r"server\.url") as raised:
            insight.init(config={"server": {"url": url}})
        assert "pw" not in str(raised.value)
    with pytest.raises(ConfigError, match=r"server\.token") as raised:
        insight.init(config={"server": {"url": "http://host:1", "token": "two\nlines"}})
    assert "lines" not in str(raised.value)
    assert not insight.status().active


def test_status_says_how_it_goes() -> None:
    with recording(run="r9", ship={"flush_interval": 60.0}) as lines:
        lines.raw()
        for number in range(10):
            insight.metric_gauge("x", number)
        assert insight.status().buffered == 10
        assert insight.flush()
        status = insight.status()
    assert (status.active, status.run, status.buffered, status.sent, status.lost) == (True, "r9", 0, 11, 0)
    assert (status.sink, status.problems, status.last_error) == ("memory", {}, "")
    assert not insight.status().active


def test_the_version_is_one_that_verl_accepts() -> None:
    major, minor, *_ = (int(part) for part in insight.__version__.split("."))
    assert (major, minor) >= (0, 3)


def test_every_public_name_is_there_and_documented() -> None:
    for name in insight.__all__:
        assert getattr(insight, name).__doc__, name
    with pytest.raises(AttributeError):
        _ = insight.nonsense
