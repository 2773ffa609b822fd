"""`rl-insight open DIR`: look at recorded files without a collector."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_insight import config
from rl_insight.cli.options import resolve
from rl_insight.cli.trouble import Trouble, note

if TYPE_CHECKING:
    from rl_insight.serve.address import Address
    from rl_insight.serve.service import FolderService


def open_folder(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with line files, or a collector's log.")],
    serve: Annotated[bool, typer.Option(help="Serve the read API on loopback until Ctrl-C.")] = True,
    port: Annotated[
        int, typer.Option(help="Port for it; the next free one if it is taken.", min=0, max=65535)
    ] = config.DEFAULT_PORT,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            help="Where to keep the store made from the files.",
            show_default="a cache in ~/.rl-insight",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Make a store from recorded files, follow them as they grow, and show what is in them."""
    from rl_insight.collect import line_files
    from rl_insight.serve.address import InUse
    from rl_insight.serve.server import PortTaken, configure_logging
    from rl_insight.serve.server import serve as serve_service
    from rl_insight.serve.service import FolderService

    folder = folder.expanduser().absolute()
    if not folder.exists():
        raise Trouble(f"there is no folder {folder}", "RL_INSIGHT_DIR names it for the recorders; name the same here")
    if not line_files(folder) and not serve:
        raise Trouble(
            f"there are no line files in {folder}", "recorders name them lines-….jsonl; is it the right folder?"
        )
    place = resolve(data_dir) if data_dir is not None else _cache(folder)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    configure_logging(place / "server.log")
    try:
        if not serve:
            _summarise(folder, place)
            return

        def open_service() -> FolderService:
            service = FolderService.open(folder, place)
            _catch_up(service)
            service.files.start()
            return service

        settings = config.Collector(port=port)
        serve_service(place, settings, open_service, auto_port=True, ready=_announce)
    except (InUse, PortTaken) as error:
        what, _, do = str(error).partition("; ")
        raise Trouble(what, do) from None


def _announce(found: Address, token: str) -> None:
    note(f"the read API is at {found.url}; Ctrl-C ends it")


def _summarise(folder: Path, place: Path) -> None:
    from rl_insight.serve import address
    from rl_insight.serve.service import FolderService

    with address.locked(place):
        service = FolderService.open(folder, place)
        try:
            _catch_up(service)
        finally:
            service.close()


def _catch_up(service: FolderService) -> None:
    from rl_insight.cli.progress import progress
    from rl_insight.cli.runs import show_runs
    from rl_insight.read.runs import runs

    with progress(f"reading {service.folder}") as show:
        service.files.catch_up(show)
    for bad in service.files.bad[:5]:
        note(f"{bad.path}, at byte {bad.offset}: {bad.problem}; left out")
    count = service.files.bad_lines
    if count:
        note(
            f"{count:,} line{'s' if count != 1 else ''} could not be read and {'are' if count != 1 else 'is'} left out"
        )
    show_runs(runs(service.store))


def _cache(folder: Path) -> Path:
    digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    return config.home() / "opened" / f"{folder.name}-{digest}"
