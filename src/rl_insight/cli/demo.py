"""`rl-insight demo`: a small real RL run, recorded and shown live. All that is shown comes from the server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from rl_insight.cli.trouble import Trouble, note

FAULTS = (
    "none, straggler, slow-tool, hung-session, leaking-queue, reward-collapse, nan-loss, lost-weights, killed-worker"
)
STOP_SECONDS = 30.0


def demo(
    workers: Annotated[int, typer.Option(help="Rollout worker processes.", min=1)] = 4,
    steps: Annotated[int, typer.Option(help="Train steps.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Seed of puzzles, weights and sampling.", min=0)] = 3,
    speed: Annotated[float, typer.Option(help="Time factor: 2 is twice as fast.", min=0.01)] = 1.0,
    fault: Annotated[str, typer.Option(help=f"Plant a fault: {FAULTS}.")] = "none",
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir", help="The collector's data folder.", show_default="a new one in /tmp", file_okay=False
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", "--server", help="Send to this server, instead of starting one. RL_INSIGHT_TOKEN is its token."
        ),
    ] = None,
    record: Annotated[bool, typer.Option(help="Record the run; without, it is only trained.")] = True,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page, where there is a browser.")] = True,
    stay: Annotated[
        bool | None,
        typer.Option("--stay/--no-stay", help="Serve on after the run, until Ctrl-C.", show_default="on a terminal"),
    ] = None,
) -> None:
    """Train a small policy to do arithmetic with tools, and watch it: several processes, about 90 seconds."""
    command = [sys.executable, "-m", "rl_insight.demo", "--with-parent", "--workers", str(workers)]
    command += ["--steps", str(steps), "--seed", str(seed), "--speed", str(speed), "--fault", fault]
    # Being told to end is answered like Ctrl-C; and Ctrl-C works also where a shell has us ignore it, as for `&`.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    if not record:
        _train_unrecorded(command)
        return
    with _server(data_dir, url) as (client, folder):
        run = f"demo-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        told = {"RL_INSIGHT_SERVER_URL": client.url, "RL_INSIGHT_TOKEN": client.token, "RL_INSIGHT_RUN": run}
        link = f"{client.url}/#/overview?run={run}"
        note(f"the page: {link}")
        if browser:
            _open(link)
        result = _train_watched(command, told, client, run, steps)
        _summarise(client, run, result)
        if result["finished"] and folder is not None and (sys.stdout.isatty() if stay is None else stay):
            _stay(link)
    _say_how_to_look_further(run, folder, url)
    if not result["finished"]:
        raise typer.Exit(130)


@contextlib.contextmanager
def _server(data_dir: Path | None, url: str | None) -> Iterator[tuple[Any, Path | None]]:
    """A client of the named server, of the data folder's running one, or of one that lives as long as the demo."""
    from rl_insight.cli.client import Client, running
    from rl_insight.cli.server import start, stop

    if url is not None:
        client = Client(url, os.environ.get("RL_INSIGHT_TOKEN", ""))
        client.get("/api/v1/status")
        yield client, None
        return
    folder = (data_dir or Path(tempfile.mkdtemp(prefix="rl-insight-demo-"))).expanduser().absolute()
    found = running(folder) if folder.is_dir() else None
    if found is not None:
        yield found, folder
        return
    with _uninterrupted():
        start(port=0, data_dir=folder, detach=True)
    try:
        found = running(folder)
        if found is None:
            raise Trouble(f"the server on {folder} ended at once", f"look at {folder / 'server.log'}")
        yield found, folder
    finally:
        with _uninterrupted():
            stop(folder)


def _train_unrecorded(command: list[str]) -> None:
    environment = {**os.environ, "RL_INSIGHT_DISABLED": "1"}
    with _training(command, environment, None) as training, contextlib.suppress(KeyboardInterrupt):
        training.wait()
    if training.returncode:
        raise typer.Exit(training.returncode)


def _train_watched(command: list[str], told: dict[str, str], client: Any, run: str, steps: int) -> dict[str, Any]:
    from rl_insight.cli.demo_view import View
    from rl_insight.cli.reader import ServerRows

    environment = {**os.environ, **{key: value for key, value in told.items() if value}, "RL_INSIGHT_QUIET": "1"}
    environment.pop("RL_INSIGHT_DISABLED", None)
    stopped = True  # by Ctrl-C, until it has ended by itself
    with tempfile.TemporaryFile() as output:
        with (
            _training(command, environment, output) as training,
            contextlib.suppress(KeyboardInterrupt),
            View(ServerRows(client), client, run, steps) as view,
        ):
            while training.poll() is None:
                view.show()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    training.wait(view.every)
            stopped = False
        output.seek(0)
        said = output.read().decode(errors="replace").strip()
    # Stopped while it was starting, it ends with whatever code Python ends with then.
    if training.returncode not in (0, 130) and not stopped:
        raise Trouble(f"the training ended with code {training.returncode}:\n{said[-3000:]}")
    for line in reversed(said.splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    return {"finished": False}


@contextlib.contextmanager
def _training(command: list[str], environment: dict[str, str], output: IO[bytes] | None) -> Iterator[Any]:
    """The training processes; whatever happens to us, they end."""
    training = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT if output else None
    )
    try:
        yield training
    finally:
        with _uninterrupted():
            if training.poll() is None:
                # A terminal's Ctrl-C has reached it too; asking twice does no harm.
                training.send_signal(signal.SIGINT)
            try:
                training.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                training.kill()
                training.wait()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Cleaning up is short; a second Ctrl-C must not leave half of it undone."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _summarise(client: Any, run: str, result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from rl_insight.cli.reader import ServerRows
    from rl_insight.read.runs import runs

    _wait_for_the_store(client)
    found = next((each for each in runs(ServerRows(client)) if each.run == run), None)
    rows = [("run", run)]
    if result["finished"]:
        rows += [
            ("reward", f"{result['first_reward']:.2f} at first, {result['last_reward']:.2f} at the end"),
            ("evaluation", f"{result['evaluation']:.0%} of held-out puzzles solved"),
        ]
    else:
        rows.append(("stopped", "before its end"))
    if "seconds" in result:
        rows.append(("took", f"{result['seconds']:.0f} s, {result['cpu_seconds']:.0f} s of CPU in all its processes"))
    if found is not None:
        rows.append(("recorded", f"{found.lines:,} lines from {found.processes} processes; {found.state}"))
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in rows:
        table.add_row(f"[bold]{name}[/bold]", value)
    Console().print(table)


def _open(link: str) -> None:
    """Show the page to whoever sits in front of the machine; a terminal's browser would only be in the way."""
    if sys.stdout.isatty() and (
        sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        import webbrowser

        webbrowser.open(link)


def _stay(link: str) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        note(f"\nthe run is over; the page stays at {link} until Ctrl-C")
        signal.pause()


def _wait_for_the_store(client: Any) -> None:
    """Until the last lines can be queried; that takes a fraction of a second."""
    deadline = time.monotonic() + STOP_SECONDS
    while client.get("/api/v1/status")["store"]["lag_bytes"] and time.monotonic() < deadline:
        time.sleep(0.05)


def _say_how_to_look_further(run: str, folder: Path | None, url: str | None) -> None:
    where = f"--data-dir {folder}" if folder is not None else f"--url {url}"
    note("\nlook further:")
    note(f"  rl-insight runs {where}")
    slow = f"SELECT name, count(*) AS n, max(dur) / 1e9 AS longest FROM span WHERE run = '{run}' GROUP BY name"
    note(f'  rl-insight query "{slow}" {where}')
    if folder is not None:
        note(f"  rl-insight server start {where}")
