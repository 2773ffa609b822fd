"""Where the programs of the stack are: installed by us, put into the services folder by hand, or on PATH."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rl_insight import config

NAMES = ("prometheus", "tempo", "grafana")
# Grafana's old name for its server is still what some packages install.
BINARIES = {"prometheus": ("prometheus",), "tempo": ("tempo",), "grafana": ("grafana", "grafana-server")}
PURPOSE = {
    "prometheus": "keeps the metrics and watches the alert rules",
    "tempo": "keeps the traces, from which the state timeline is drawn",
    "grafana": "shows the dashboards",
}
ARCHIVES = {
    "prometheus": "prometheus-VERSION.{system}-{machine}.tar.gz from https://prometheus.io/download",
    "tempo": "tempo_VERSION_{system}_{machine}.tar.gz from https://github.com/grafana/tempo/releases",
    "grafana": "grafana-VERSION.{system}-{machine}.tar.gz from https://grafana.com/grafana/download",
}
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
# Where packages put what Grafana cannot start without.
_GRAFANA_HOMES = ("/usr/share/grafana", "/usr/local/share/grafana", "/opt/homebrew/share/grafana")
_VERSION = re.compile(r"\bv?(\d+)\.(\d+)\.(\d+)")


class Installed(msgspec.Struct):
    """What `services/NAME.json` says of a program we installed."""

    name: str
    binary: str
    archive: str
    sha256: str


class Program(msgspec.Struct, frozen=True):
    """A program that can be started. `home` is Grafana's folder of pages and defaults."""

    name: str
    binary: Path
    home: Path | None = None


class Unusable(msgspec.Struct, frozen=True):
    """A program that is not there, or not all of it."""

    name: str
    why: str
    do: str


def services_dir(settings: config.Stack) -> Path:
    """The folder of installed programs: the setting, else `~/.rl-insight/services`."""
    chosen = settings.services_dir
    return (Path(chosen).expanduser() if chosen else config.home() / "services").absolute()


def find(name: str, services: Path) -> Program | Unusable:
    """The program of a name. What lies in the services folder was put there on purpose, so it wins over PATH."""
    for binary in _candidates(name, services):
        if name != "grafana":
            return Program(name, binary)
        home = _grafana_home(binary)
        if home is None:
            return Unusable(
                name,
                f"{binary} is there, but not the folder with conf/defaults.ini and public that it needs",
                "install Grafana's whole archive or package, not its program alone",
            )
        return Program(name, binary, home)
    return Unusable(
        name,
        f"{name} is neither in {services} nor on PATH; it {PURPOSE[name]}",
        f"get {archive_of(name)}, then: rl-insight stack install --from ARCHIVE --sha256 ITS_CHECKSUM",
    )


def archive_of(name: str) -> str:
    """The archive for this kind of machine, as its makers call it, and where it is."""
    machine = platform.machine()
    return ARCHIVES[name].format(system=platform.system().lower(), machine=_MACHINES.get(machine, machine))


def version(program: Program) -> tuple[int, int, int] | None:
    """What the program says of its version."""
    for flag in ("--version", "-version", "-v"):
        try:
            said = subprocess.run(
                [str(program.binary), flag], capture_output=True, text=True, timeout=20, check=False, errors="replace"
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = _VERSION.search(f"{said.stdout} {said.stderr}")
        if said.returncode == 0 and found:
            return int(found[1]), int(found[2]), int(found[3])
    return None


def _candidates(name: str, services: Path) -> Iterator[Path]:
    try:
        said = msgspec.json.decode((services / f"{name}.json").read_bytes(), type=Installed)
        if _runs(services / said.binary):
            yield services / said.binary
    except (OSError, msgspec.DecodeError):
        pass
    for binary in BINARIES[name]:
        for pattern in (binary, f"bin/{binary}", f"{name}*/{binary}", f"{name}*/bin/{binary}"):
            yield from filter(_runs, sorted(services.glob(pattern), reverse=True))
    for binary in BINARIES[name]:
        found = shutil.which(binary)
        if found:
            yield Path(found).absolute()


def _runs(path: Path) -> bool:
    return path.is_file() and path.stat().st_mode & 0o111 != 0


def _grafana_home(binary: Path) -> Path | None:
    real = binary.resolve()
    around = [real.parent.parent, real.parent, *map(Path, _GRAFANA_HOMES)]
    return next((home for home in around if (home / "conf" / "defaults.ini").is_file()), None)
