"""Fork, spawn, exec and every way a process can end: each process has its own lines, and flushes them."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from recorded import Line, lines_in, named, of_kind, run_python, start_python, wait_until

START = """
import os, sys, time
import rl_insight as insight
insight.init(project="p", experiment_name="e", run="run-1", config={"ship": {"flush_interval": 0.02}})
"""


def processes(lines: list[Line]) -> dict[int, Line]:
    """The process lines by pid."""
    return {line["pid"]: line for line in of_kind(lines, "process")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lines"


def run(code: str, folder: Path, home: Path, expect: int = 0, **environment: str) -> list[Line]:
    run_python(code, home, expect=expect, RL_INSIGHT_DIR=str(folder), **environment)
    return lines_in(folder)


def test_a_forked_child_is_a_process_of_its_own(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
insight.metric_gauge("parents", 1)
with insight.task("t1"), insight.trace_span("outer"):
    pid = os.fork()
    if pid == 0:
        for number in range(2):
            with insight.trace_span("childs"):
                insight.metric_gauge("in_child", number)
        assert insight.status().buffered <= 8
        insight.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    insight.metric_gauge("parents", 2)
""",
        folder,
        home,
    )
    by_pid = processes(lines)
    assert len(by_pid) == 2
    assert {line["run"] for line in by_pid.values()} == {"run-1"}
    child = next(line for line in by_pid.values() if "parent" in line)
    parent = next(line for line in by_pid.values() if "parent" not in line)
    assert child["parent"] == parent["proc"]
    assert [line["proc"] for line in named(lines, "parents")] == [parent["proc"]] * 2
    assert [line["value"] for line in named(lines, "in_child")] == [0, 1]
    outer = of_kind(named(lines, "outer"), "span")
    assert len(outer) == 1
    assert outer[0]["proc"] == parent["proc"]
    childs = named(lines, "childs")
    assert {line["proc"] for line in childs} == {child["proc"]}
    assert [line["parent"] for line in childs] == [outer[0]["id"]] * 2
    assert {line["trace"] for line in childs} == {outer[0]["trace"]}
    assert {line["task"] for line in childs} == {"t1"}


def test_a_child_that_leaves_the_parents_block_is_outside(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
pid = 0
with insight.trace_span("outer"):
    with insight.trace_span("inner"):
        pid = os.fork()
        if pid == 0:
            insight.log("info", "first")
    if pid == 0:
        insight.log("info", "second")
if pid == 0:
    insight.log("info", "third")
    assert insight.current_span() is None
else:
    os.waitpid(pid, 0)
""",
        folder,
        home,
    )
    spans = {line["name"]: line["id"] for line in of_kind(lines, "span")}
    assert len(of_kind(lines, "span")) == 2
    logs = {line["name"]: line.get("parent") for line in of_kind(lines, "log")}
    assert logs == {"first": spans["inner"], "second": spans["outer"], "third": None}


def test_a_child_that_records_nothing_leaves_no_trace(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
import subprocess
if os.fork() == 0:
    insight.flush()
    insight.close()
    os._exit(0)
os.wait()
subprocess.run(["true"], preexec_fn=os.getpid, check=True)
insight.metric_gauge("x", 1)
""",
        folder,
        home,
    )
    assert len(processes(lines)) == 1


def test_a_hanging_first_span_of_a_child_is_seen(folder: Path, home: Path) -> None:
    process = start_python(
        START
        + """
insight.metric_gauge("x", 1)
if os.fork() == 0:
    with insight.trace_span("hangs"):
        time.sleep(60)
os.wait()
""",
        home,
        RL_INSIGHT_DIR=str(folder),
    )
    try:
        wait_until(lambda: named(lines_in(folder), "hangs"), "the open line of the child")
    finally:
        for pid in processes(lines_in(folder)):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


def test_children_of_children_and_forks_from_threads(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
import threading

def fork_in_thread(then):
    def work():
        pid = os.fork()
        if pid == 0:
            then()
            insight.close()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()

def grandchild():
    insight.metric_gauge("x", 3)

def child():
    insight.metric_gauge("x", 2)
    fork_in_thread(grandchild)
    fork_in_thread(grandchild)

insight.metric_gauge("x", 1)
fork_in_thread(child)
""",
        folder,
        home,
    )
    assert sorted(line["value"] for line in named(lines, "x")) == [1, 2, 3, 3]
    procs = {line["proc"]: line.get("parent") for line in processes(lines).values()}
    value_of = {line["proc"]: line["value"] for line in named(lines, "x")}
    for proc, parent in procs.items():
        assert parent is None if value_of[proc] == 1 else value_of[parent] == value_of[proc] - 1


def test_a_fork_amid_recording_threads_neither_hangs_nor_doubles(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
import threading
stop = threading.Event()
counted = [0] * 4

def work(which):
    while not stop.wait(0.0005):
        with insight.trace_span("busy"):
            insight.metric_count("calls")
        counted[which] += 1

threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[thread.start() for thread in threads]
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        insight.metric_gauge("child", 1)
        insight.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
[thread.join() for thread in threads]
insight.metric_gauge("total", sum(counted))
""",
        folder,
        home,
    )
    assert len(named(lines, "child")) == 10
    total = named(lines, "total")[0]["value"]
    assert len(named(lines, "calls")) == len(of_kind(named(lines, "busy"), "span")) == total
    assert len(processes(lines)) == 11


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_children_join_the_run_and_flush(folder: Path, home: Path, tmp_path: Path, method: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import multiprocessing, sys
import rl_insight as insight

def work(number):
    insight.init()
    insight.metric_gauge("childs", number)
    return number

if __name__ == "__main__":
    insight.init(project="p", run="run-1", role="driver", rack="7")
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=work, args=(n,)) for n in range(2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    with context.Pool(1) as pool:
        assert pool.map(work, [7]) == [7]
        pool.close()
        pool.join()
"""
    )
    # From a file: spawn imports the main module again.
    call = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, {str(script)!r}, {method!r}]))"
    run_python(call, home, RL_INSIGHT_DIR=str(folder))
    lines = lines_in(folder)
    assert sorted(line["value"] for line in named(lines, "childs")) == [0, 1, 7]
    by_pid = processes(lines)
    assert len(by_pid) == 4
    assert {(line["run"], line["project"]) for line in by_pid.values()} == {("run-1", "p")}
    assert {line["labels"]["rack"] for line in by_pid.values()} == {"7"}
    assert Counter(line.get("state") for line in by_pid.values()) == {"finished": 4}


def test_a_subprocess_joins_through_the_environment(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
import subprocess
code = "import rl_insight as i; i.init(); i.metric_gauge('childs', 1)"
subprocess.run([sys.executable, "-c", code], check=True, cwd="/")
insight.close()
os.environ.pop("RL_INSIGHT_DIR")
assert not [name for name in os.environ if name.startswith("RL_INSIGHT_") and "RUN" in name]
""",
        folder,
        home,
    )
    assert len(named(lines, "childs")) == 1
    assert {line["run"] for line in processes(lines).values()} == {"run-1"}


def test_exec_keeps_the_run(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
insight.metric_gauge("before", 1)
insight.flush()
os.execv(sys.executable, [sys.executable, "-c", "import rl_insight as i; i.init(); i.metric_gauge('after', 1)"])
""",
        folder,
        home,
    )
    assert {line["run"] for line in of_kind(lines, "process")} == {"run-1"}
    assert len(named(lines, "before")) == len(named(lines, "after")) == 1
    assert named(lines, "before")[0]["proc"] != named(lines, "after")[0]["proc"]


def test_a_child_redacts_as_its_parent_was_told(folder: Path, home: Path) -> None:
    run(
        """
import subprocess, sys
import rl_insight as insight
insight.init(config={"redact": {"patterns": ["internal-[0-9]+"], "keys": ["badge"]}})
code = "import rl_insight as i; i.init(); i.log('info', 'saw internal-77 here', badge='zz-9')"
subprocess.run([sys.executable, "-c", code], check=True)
""",
        folder,
        home,
    )
    written = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"saw [redacted] here" in written
    assert b"internal-77" not in written
    assert b"zz-9" not in written


@pytest.mark.parametrize(
    ("ending", "code"),
    [("pass", 0), ("sys.exit(3)", 3), ("raise ValueError('unhandled')", 1), ("insight.finish()", 0)],
)
def test_every_orderly_end_flushes(folder: Path, home: Path, ending: str, code: int) -> None:
    lines = run(
        START
        + f"""
for number in range(100):
    insight.metric_gauge("x", number)
{ending}
""",
        folder,
        home,
        expect=code,
    )
    assert len(named(lines, "x")) == 100
    assert lines[-1]["state"] == "finished"


def test_finish_from_a_finalizer_at_exit_is_safe(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
class Tracking:
    def __del__(self):
        insight.finish()

keep = Tracking()
keep.me = keep
insight.metric_gauge("x", 1)
""",
        folder,
        home,
    )
    assert len(named(lines, "x")) == 1


def test_an_abrupt_end_loses_at_most_a_flush(folder: Path, home: Path) -> None:
    lines = run(
        START
        + """
for number in range(100):
    insight.metric_gauge("early", number)
assert insight.flush()
insight.metric_gauge("late", 1)
os._exit(0)
""",
        folder,
        home,
    )
    assert len(named(lines, "early")) == 100


def test_a_second_run_in_one_process_is_a_new_run(folder: Path, home: Path) -> None:
    lines = run(
        """
import rl_insight as insight
for number in range(2):
    insight.init(experiment_name="e")
    insight.init(experiment_name="other")
    insight.metric_gauge("x", number)
    insight.close()
    insight.metric_gauge("x", 99)
""",
        folder,
        home,
    )
    assert sorted(line["value"] for line in named(lines, "x")) == [0, 1]
    assert len({line["run"] for line in of_kind(lines, "process")}) == 2
    assert {line["experiment"] for line in of_kind(lines, "process")} == {"e"}


def test_a_user_without_a_home_can_record(tmp_path: Path, home: Path) -> None:
    out = run_python(
        """
import os, pathlib
import rl_insight.config as config

def homeless(self):
    raise RuntimeError("Could not determine home directory.")

pathlib.PosixPath.expanduser = homeless
import rl_insight as insight
insight.init()
insight.metric_gauge("x", 1)
insight.close()
print(insight.status().sink, insight.status().lost)
""",
        home,
        TMPDIR=str(tmp_path),
    )
    assert out.split() == [out.split()[0], "0"]
    assert Path(out.split()[0]).parent.parent.parent.parent == tmp_path
