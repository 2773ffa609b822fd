"""`rl-insight sessions` and `rl-insight session ID`: where the time of sessions went, and how they ended."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from rl_insight.cli.figures import COLOURS, AsJson, Run, asking, figure, grid, print_json, seconds, word
from rl_insight.cli.options import DataDir, Url
from rl_insight.cli.trouble import note

if TYPE_CHECKING:
    from rl_insight.read.session import SessionStory
    from rl_insight.read.sessions import Session, Sessions


def sessions(
    q: Annotated[
        str, typer.Option("--q", "-q", help="Search: task: session: step: status: stage: error: worker: reward>0.5")
    ] = "",
    step: Annotated[int | None, typer.Option(help="Only those trained in this step.")] = None,
    status: Annotated[str | None, typer.Option(help="Only these, e.g. failed,dropped.")] = None,
    stage: Annotated[str | None, typer.Option(help="Only those in this stage now.")] = None,
    task: Annotated[str | None, typer.Option(help="Only those whose task's id begins so.")] = None,
    error: Annotated[str | None, typer.Option(help="Only those whose reason contains this; '*' for any.")] = None,
    sort: Annotated[
        str, typer.Option(help="start, total, queue, generate, tool, idle, reward …; +NAME: smallest first.")
    ] = "start",
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=1000)] = 30,
    offset: Annotated[int, typer.Option(help="Leave out so many first.", min=0)] = 0,
    run: Run = "latest",
    as_json: AsJson = False,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Where did the time of each session go, and how did it end?"""
    from rl_insight.read.sessions import sessions as read

    given = {"status": status, "stage": stage, "task": task, "error": error}
    words = [f'{name}:"{_escaped(value)}"' for name, value in given.items() if value is not None]
    with asking(data_dir, url) as source:
        page = read(source, run, q=" ".join([q, *words]), step=step, sort=sort, limit=limit, offset=offset)
    if as_json:
        print_json(page)
    else:
        show_sessions(page)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def show_sessions(page: Sessions) -> None:
    """Print sessions as a table."""
    from rich.console import Console

    table = grid(
        "session", "status", "worker", ">step", ">total", ">queue", ">generate", ">tool", ">reward", ">idle", ">turns",
        ">tokens", ">score", ">stale", "stage / reason",
    )  # fmt: skip
    for one in page.sessions:
        table.add_row(
            word(one.session),
            word(one.status, COLOURS.get(one.status, "")),
            word(one.worker),
            figure(one.trained_step if one.trained_step is not None else one.step),
            seconds(one.total_s),
            seconds(one.queue_s),
            seconds(one.generate_s),
            seconds(one.tool_s),
            seconds(one.reward_s),
            seconds(one.idle_s),
            figure(one.turns),
            figure(one.tokens),
            figure(one.reward),
            figure(one.staleness),
            word(_remark(one)),
        )
    Console().print(table)
    shown = f"{len(page.sessions):,} of {page.total:,} sessions of run {page.run}"
    note(shown + (f"; only the newest {page.considered:,} were looked at, see --step" if page.capped else ""))


def _remark(one: Session) -> str | None:
    if one.open and one.stage is not None:
        return f"in {one.stage} for {seconds(one.stage_s)}" + (", its process is gone" if one.lost else "")
    return one.reason or one.error


def session(
    session_id: Annotated[
        str, typer.Argument(metavar="ID", help="The session's id, as 'rl-insight sessions' prints it.")
    ],
    run: Run = "latest",
    as_json: AsJson = False,
    data_dir: DataDir = None,
    url: Url = None,
) -> None:
    """Why did this session end like that? Turn by turn, with facts and logs in the order of time."""
    from rl_insight.read.session import session as read

    with asking(data_dir, url) as source:
        story = read(source, session_id, run)
    if as_json:
        print_json(story)
    else:
        show_session(story)


def show_session(story: SessionStory) -> None:
    """Print what happened in a session, as a tree in the order of time."""
    from rich.console import Console

    console = Console()
    one = story.session
    head = grid("", "")
    head.show_header = False
    started = (
        "–" if one.start is None else datetime.datetime.fromtimestamp(one.start / 1e3).strftime("%Y-%m-%d %H:%M:%S")
    )
    times = [(name, getattr(one, f"{name}_s")) for name in ("queue", "generate", "tool", "reward", "other", "idle")]
    for name, value in (
        ("session", word(one.session)),
        ("task", word(one.task)),
        ("status", word(f"{one.status}" + (f": {one.reason}" if one.reason else ""), COLOURS.get(one.status, ""))),
        ("worker", word(one.worker)),
        ("started", word(f"{started}, took {seconds(one.total_s)}" + (" so far" if one.open else ""))),
        ("times", word(", ".join(f"{name} {seconds(value)}" for name, value in times if value))),
        (
            "numbers",
            word(
                f"turns {figure(one.turns)}, tokens {figure(one.tokens)}, reward {figure(one.reward)}, "
                f"weights {figure(one.weights)}, staleness {figure(one.staleness)}"
            ),
        ),
    ):
        head.add_row(word(name, "bold"), value)
    console.print(head)
    console.print()
    table = grid(">at", ">took", "what", "worker", "")
    start = one.submitted or one.start or story.at
    for event in story.events:
        at = seconds(max(0.0, (event.at - start) / 1e3))
        if event.what == "span":
            span = story.spans[event.index]
            if span.kind == "state":
                continue
            text = f"{'  ' * span.depth}{span.name}" + (f" {span.turn}" if span.kind == "turn" else "")
            more = " ".join(f"{key}={value}" for key, value in span.attrs.items())
            took = seconds(span.s) + ("+" if span.open else "")
            style = "red" if span.status in ("error", "timeout") else "bold" if span.kind in ("session", "turn") else ""
            table.add_row(
                at, took, word(text, style), word(span.worker), word(f"{span.reason or ''} {more}".strip() or " ")
            )
        elif event.what == "fact":
            fact = story.facts[event.index]
            more = " ".join(f"{key}={value}" for key, value in {**fact.tags, **fact.attrs}.items())
            table.add_row(
                at,
                "",
                word(f"· {fact.name}", "dim"),
                word(fact.worker),
                word(f"{fact.reason or ''} {more}".strip(), "dim"),
            )
        else:
            log = story.logs[event.index]
            table.add_row(at, "", word(f"{log.level}: {log.message}", "yellow"), word(log.worker), word(" "))
    console.print(table)
    if story.neighbours:
        console.print()
        others = ", ".join(f"{other.session} {other.status} {figure(other.reward)}" for other in story.neighbours[:20])
        console.print(word(f"same task: {others}", "dim"))
