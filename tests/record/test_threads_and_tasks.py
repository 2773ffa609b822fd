"""Many threads and many asyncio tasks at once: exact counts, and every parent the right one."""

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import rl_insight as insight
from recorded import decoded, named
from rl_insight.testing import Lines, recording

THREADS, CALLS = 16, 1000


def test_many_threads_lose_nothing_and_number_without_a_hole(lines: Lines) -> None:
    start = threading.Barrier(THREADS)

    def work(thread: int) -> None:
        start.wait()
        for number in range(CALLS):
            if number % 4 == 0:
                insight.metric_count("calls", 1, thread=str(thread))
            elif number % 4 == 1:
                with insight.trace_span(f"span-{thread}"):
                    pass
            elif number % 4 == 2:
                insight.fact("a.b.put", {"task": thread}, number=number)
            else:
                insight.log("info", f"log-{thread}")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    found = decoded(lines.raw())
    assert [line["seq"] for line in found] == list(range(1, len(found) + 1))
    assert Counter(line["kind"] for line in found) == {
        "process": 1,
        "count": THREADS * CALLS / 4,
        "span": THREADS * CALLS / 4,
        "fact": THREADS * CALLS / 4,
        "log": THREADS * CALLS / 4,
    }
    assert insight.status().lost == 0


def test_a_thread_starts_with_no_parent(lines: Lines) -> None:
    def work() -> None:
        with insight.trace_span("inner"):
            pass

    with insight.trace_span("outer"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert "parent" not in named(lines(), "inner")[0]


def test_two_hundred_tasks_keep_their_parents_apart(lines: Lines) -> None:
    async def rollout(number: int) -> None:
        with insight.task(f"t{number}"), insight.trace_span("rollout", attributes={"number": number}):
            for turn in range(3):
                await asyncio.sleep(0.001 * (number % 7))
                with insight.turn(turn):
                    await asyncio.sleep(0)
                    insight.metric_gauge("tokens", number)

    async def main() -> None:
        await asyncio.gather(*(rollout(number) for number in range(200)))

    asyncio.run(main())
    rollouts = {line["id"]: line for line in named(lines(), "rollout")}
    tasks = {line["id"]: line for line in named(lines(), "task")}
    turns = named(lines(), "turn")
    assert (len(rollouts), len(tasks), len(turns)) == (200, 200, 600)
    for line in rollouts.values():
        assert tasks[line["parent"]]["task"] == line["task"] == f"t{line['attrs']['number']}"
    for line in turns:
        assert rollouts[line["parent"]]["task"] == line["task"]
    assert all(line["task"] == f"t{int(line['value'])}" for line in lines("gauge"))


def test_a_full_buffer_drops_the_newest_and_counts_them_exactly() -> None:
    kept, threads, calls = 100, 8, 500
    with recording(ship={"buffer_lines": kept, "flush_interval": 3600.0}) as lines:
        lines.raw()  # the process line; nothing is packed from here on

        def work(thread: int) -> None:
            for number in range(calls):
                if number % 2:
                    insight.metric_gauge("x", number)
                else:
                    insight.fact("a.b.put", number=number)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
        lost = lines("lost")
        received = len(lines("gauge")) + len(lines("fact"))
        assert received + sum(line["count"] for line in lost) == threads * calls
        assert kept <= received < kept + threads
        assert insight.status().lost == threads * calls - received


def test_stamps_of_a_thread_never_run_backwards(lines: Lines) -> None:
    for number in range(3000):
        insight.metric_gauge("x", number)
    stamps = [line["ts"] for line in lines("gauge")]
    assert stamps == sorted(stamps)
