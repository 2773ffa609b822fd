"""`rl-insight stack install|start|stop|status`: Prometheus, Tempo and Grafana beside the server."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rl_insight import config
from rl_insight.cli.options import DataDir, resolve
from rl_insight.cli.trouble import Trouble, note

if TYPE_CHECKING:
    from rl_insight.stack.plan import Plan
    from rl_insight.stack.programs import Unusable
    from rl_insight.stack.state import Service, State

stack_app = typer.Typer(no_args_is_help=True, help="Prometheus, Tempo and Grafana beside the server.")

STOP_SECONDS = 60.0

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="YAML file with settings, see 'collector.stack'.", dir_okay=False)
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="Start only this program: prometheus, tempo or grafana. Can be given again."),
]


@stack_app.command()
def install(
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", help="An archive as its makers release it (.tar.gz, .zip), or a folder of them."),
    ] = None,
    sha256: Annotated[
        list[str] | None,
        typer.Option("--sha256", help="The archive's checksum. Not needed where a checksum file lies beside it."),
    ] = None,
    config_file: ConfigFile = None,
) -> None:
    """Install Prometheus, Tempo and Grafana from archives on this machine, after checking their checksums.

    Without --from: say what is there and what is missing. Exit code 1 when something is missing.
    """
    from rl_insight.stack import programs
    from rl_insight.stack.install import CannotInstall, archives_in, expected
    from rl_insight.stack.install import install as unpack

    services = programs.services_dir(_settings(config_file).stack)
    if not source:
        _tell_programs(services)
        return
    try:
        archives = [archive for place in source for archive in archives_in(place.expanduser())]
        if len(sha256 or []) == 1 and len(archives) > 1:
            raise CannotInstall(
                f"{len(archives)} archives cannot have one checksum; give --sha256 for each, or put checksum files "
                "beside them"
            )
        for archive in archives:
            said, there = unpack(archive, expected(archive, sha256 or []), services)
            note(f"{said.name} {'was there already' if there else 'installed'}: {services / said.binary}")
    except CannotInstall as error:
        raise split(str(error)) from None


@stack_app.command()
def start(
    only: Only = None,
    data_dir: DataDir = None,
    config_file: ConfigFile = None,
    auto_port: Annotated[bool, typer.Option("--auto-port", help="Take the next free port where one is taken.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background; return once it works.")] = False,
    plan_file: Annotated[Path | None, typer.Option("--plan", hidden=True)] = None,
    with_server: Annotated[bool, typer.Option("--with-server", hidden=True)] = False,
) -> None:
    """Write the configs, start what is installed, and start again what ends. Ctrl-C stops all of it.

    What is missing is named, and the rest is started all the same.
    """
    from rl_insight.stack import plan as plans
    from rl_insight.stack.supervise import AlreadyRuns, Supervisor

    if plan_file is not None:
        plan = plans.read(plan_file)
    else:
        settings = _settings(config_file)
        plan = make_plan(folder_of(data_dir, settings), settings, only, auto_port=auto_port)
        if not plan.services:
            raise Trouble("nothing of the stack can be started", "see above; 'rl-insight stack install --help'")
    if detach:
        tell_ready(plan, start_in_background(plan, with_server=False).services)
        note(f"it runs in the background; stop it with 'rl-insight stack stop --data-dir {plan.data_dir}'")
        return
    supervisor = Supervisor(plan, with_server=with_server)
    # SIGHUP: the terminal was closed.
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: supervisor.stop()) for number in numbers}
    try:
        worked = supervisor.run(lambda services: tell_ready(plan, services))
    except AlreadyRuns as error:
        raise split(str(error)) from None
    except PermissionError as error:
        raise Trouble(f"{error.filename} cannot be written: {error.strerror}", "choose another --data-dir") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if not worked:
        raise Trouble("no program of the stack could be kept running", f"see the logs in {plan.folder}")
    note("the stack is stopped")


@stack_app.command()
def stop(data_dir: DataDir = None) -> None:
    """Stop the stack of a data folder, from any terminal."""
    folder = resolve(data_dir)
    if not stop_stack(folder):
        note(f"no stack runs on {folder}")


@stack_app.command()
def status(
    data_dir: DataDir = None,
    config_file: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the state as JSON.")] = False,
) -> None:
    """Say what runs, where, and how it is doing. Exit code 3 when nothing runs, 1 when something has failed."""
    from rl_insight.stack import state

    folder = folder_of(data_dir, _settings(config_file))
    found = state.read(folder)
    if found is None or not found.supervisor.alive():
        left = [one.name for one in found.services if one.process and one.process.alive()] if found else []
        what = f"no stack runs on {folder}"
        if left:
            what += f", but its supervisor was killed and left {', '.join(left)} running"
        do = f"'rl-insight stack {'stop' if left else 'start'} --data-dir {folder}'"
        raise Trouble(what, do, code=3)
    if as_json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        from rich.console import Console

        Console().print(_table(found))
    if any(one.condition == "failed" for one in found.services):
        raise typer.Exit(1)


def make_plan(folder: Path, settings: config.Collector, only: list[str] | None, *, auto_port: bool) -> Plan:
    """The plan of what can be started; what cannot is named on the way."""
    from rl_insight.stack import plan as plans
    from rl_insight.stack.programs import NAMES

    unknown = [name for name in only or [] if name not in NAMES]
    if unknown:
        raise Trouble(f"there is no program {unknown[0]!r} in the stack", f"choose from {', '.join(NAMES)}")
    if running(folder) is not None:
        raise Trouble(
            f"the stack of {folder} already runs",
            "see 'rl-insight stack status'; 'rl-insight stack stop' ends it",
        )
    plan, missing = plans.make(folder, settings, only, auto_port=auto_port)
    tell_missing(missing)
    return plan


def start_in_background(
    plan: Plan, *, with_server: bool, started: Callable[[subprocess.Popen[bytes]], None] = lambda _: None
) -> State:
    """Start a supervisor in a process of its own, and wait until every program works or has failed."""
    from rl_insight.stack import plan as plans
    from rl_insight.stack import state
    from rl_insight.stack.supervise import READY_SECONDS

    for made in (plan.data_dir, plan.folder):
        made.mkdir(parents=True, exist_ok=True, mode=0o700)
    plans.write(plan.folder / "plan.json", plan)
    command = [sys.executable, "-m", "rl_insight.cli", "stack", "start", "--plan", str(plan.folder / "plan.json")]
    command += ["--with-server"] if with_server else []
    said = plan.folder / "supervisor.err"
    with said.open("wb") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd=plan.folder
        )
    started(child)
    deadline = time.monotonic() + READY_SECONDS + 30
    while time.monotonic() < deadline:
        if child.poll() is not None:
            words = said.read_text(errors="replace").strip()
            errors = [line.removeprefix("error: ") for line in words.splitlines() if line.startswith("error: ")]
            raise Trouble(errors[0] if errors else f"the stack ended while starting:\n{words[-2000:]}", f"see {said}")
        found = state.read(plan.data_dir)
        if found is not None and found.supervisor.pid == child.pid and found.settled:
            return found
        time.sleep(0.1)
    raise Trouble(
        f"the stack (pid {child.pid}) is not ready after {READY_SECONDS + 30:.0f} s; it is still trying",
        f"see 'rl-insight stack status --data-dir {plan.data_dir}' and the logs in {plan.folder}",
    )


def stop_stack(folder: Path) -> bool:
    """Stop the supervisor of a data folder, and what a killed one left; says whether there was anything."""
    from rl_insight.stack import state
    from rl_insight.stack.supervise import stop_leftovers

    found = state.read(folder)
    if found is None:
        return False
    if found.supervisor.alive():
        try:
            found.supervisor.signal(signal.SIGTERM)
        except PermissionError:
            raise Trouble(
                f"the stack (pid {found.supervisor.pid}) belongs to another user", "stop it as that user"
            ) from None
        deadline = time.monotonic() + STOP_SECONDS
        while found.supervisor.alive():
            if time.monotonic() > deadline:
                raise Trouble(
                    f"the stack (pid {found.supervisor.pid}) has not stopped after {STOP_SECONDS:.0f} s",
                    f"see the logs in {folder / 'stack'}",
                )
            time.sleep(0.05)
        note(f"stopped {', '.join(one.name for one in found.services)}")
        return True
    left = stop_leftovers(folder)
    if left:
        note(f"stopped {', '.join(left)}, which a killed supervisor had left")
    return bool(left)


def tell_ready(plan: Plan, services: list[Service]) -> None:
    """Say where everything is."""
    from rl_insight.stack import configs

    for one in services:
        if one.condition == "failed":
            note(f"{one.name} has failed: {one.problem}")
            note(f"   its log is {one.log}")
        elif one.condition != "ready":
            note(f"{one.name} is not ready yet: {one.problem or one.condition}")
        elif one.name == "grafana":
            note(f"Grafana is at {one.url}, user {configs.ADMIN}, password in {configs.password_file(plan)}")
        else:
            note(f"{one.name.capitalize()} is at {one.url}")


def tell_missing(missing: list[Unusable]) -> None:
    for one in missing:
        note(f"without {one.name}: {one.why}")
        note(f"   do: {one.do}")


def folder_of(data_dir: Path | None, settings: config.Collector) -> Path:
    """The data folder that a command means."""
    return resolve(data_dir if data_dir is not None else Path(settings.data_dir) if settings.data_dir else None)


def split(text: str) -> Trouble:
    """An error of ours: what happened, and after the semicolon what to do."""
    what, _, do = text.partition("; ")
    return Trouble(what, do)


def running(folder: Path) -> State | None:
    """The stack of a data folder, if it runs."""
    from rl_insight.stack import state

    found = state.read(folder)
    return found if found is not None and found.supervisor.alive() else None


def _settings(config_file: Path | None) -> config.Collector:
    try:
        return config.load(config_file).collector
    except config.ConfigError as error:
        raise split(str(error)) from None


def _tell_programs(services: Path) -> None:
    from rl_insight.stack import programs

    found = [programs.find(name, services) for name in programs.NAMES]
    for one in found:
        if isinstance(one, programs.Program):
            known = programs.version(one)
            note(f"{one.name} {'.'.join(map(str, known)) if known else '(of an unknown version)'}: {one.binary}")
    missing = [one for one in found if isinstance(one, programs.Unusable)]
    tell_missing(missing)
    if missing:
        raise typer.Exit(1)


def _table(found: State) -> Any:
    from rich.table import Table

    table = Table("program", "is", "at", "pid", "restarts", "log", box=None, pad_edge=False, header_style="bold")
    colors = {"ready": "green", "failed": "bold red"}
    for one in found.services:
        color = colors.get(one.condition, "yellow")
        pid = str(one.process.pid) if one.process else "–"
        table.add_row(one.name, f"[{color}]{one.condition}[/]", one.url, pid, str(one.restarts), one.log)
        if one.problem:
            table.add_row("", one.problem.replace("[", "\\["), "", "", "", "")
    return table
