"""What a stack consists of: which programs, on which ports, beside which collector. Made once, handed on as a file."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec

from rl_insight import config
from rl_insight.serve import address
from rl_insight.stack import programs

HOST = "127.0.0.1"
AUTO_PORTS = 100


class Ports(msgspec.Struct):
    """Where each program listens, on loopback."""

    prometheus: int
    tempo: int
    tempo_otlp: int
    tempo_grpc: int
    grafana: int


class Plan(msgspec.Struct):
    """A stack for the collector of a data folder."""

    data_dir: Path
    targets_dir: Path
    services: list[programs.Program]
    ports: Ports
    collector_host: str
    collector_port: int
    scrape_interval: float
    retain_days: float
    tempo_major: int = 2
    alertmanagers: list[str] = []

    @property
    def folder(self) -> Path:
        """Where configs, data, logs and the state of the stack are."""
        return folder_of(self.data_dir)

    def has(self, name: str) -> bool:
        return any(program.name == name for program in self.services)

    def url(self, name: str) -> str:
        """Where a program is found."""
        return f"http://{HOST}:{getattr(self.ports, name)}"

    @property
    def otlp_url(self) -> str:
        """Where Tempo takes traces, without `/v1/traces`."""
        return f"http://{HOST}:{self.ports.tempo_otlp}"


def folder_of(data_dir: Path) -> Path:
    """The stack's part of a data folder."""
    return data_dir / "stack"


def make(
    data_dir: Path, settings: config.Collector, only: list[str] | None = None, *, auto_port: bool = False
) -> tuple[Plan, list[programs.Unusable]]:
    """The stack that can be started here, and what is missing from it."""
    services = programs.services_dir(settings.stack)
    found = [programs.find(name, services) for name in programs.NAMES if not only or name in only]
    missing = [one for one in found if isinstance(one, programs.Unusable)]
    ports, taken = _ports(settings.stack, [one.name for one in found if isinstance(one, programs.Program)], auto_port)
    missing += taken
    without = {one.name for one in taken}
    plan = Plan(
        data_dir=data_dir,
        targets_dir=Path(settings.targets_dir).expanduser() if settings.targets_dir else data_dir / "targets",
        services=[one for one in found if isinstance(one, programs.Program) and one.name not in without],
        ports=ports,
        collector_host=settings.host,
        collector_port=settings.port,
        scrape_interval=settings.stack.scrape_interval,
        retain_days=settings.stack.retain_days,
        alertmanagers=settings.stack.alertmanagers,
    )
    tempo = next((one for one in plan.services if one.name == "tempo"), None)
    known = programs.version(tempo) if tempo is not None else None
    if known is not None:
        plan.tempo_major = known[0]
    return plan, missing


def collector_address(plan: Plan) -> tuple[str, bool]:
    """Where Prometheus finds the collector, and whether it needs the token: the running one, else as it is set."""
    running = address.read(plan.data_dir)
    host, port = plan.collector_host, plan.collector_port
    token = (plan.data_dir / "token").is_file() and not _loopback(host)
    if running is not None:
        host, port, token = running.host, running.port, running.token
    host = {"": HOST, "0.0.0.0": HOST, "::": "::1"}.get(host, host)
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}"), token


def read(path: Path) -> Plan:
    return msgspec.json.decode(path.read_bytes(), type=Plan, dec_hook=_path)


def write(path: Path, plan: Plan) -> None:
    from rl_insight.stack.files import put

    put(path, msgspec.json.format(msgspec.json.encode(plan, enc_hook=str)) + b"\n", mode=0o600)


def free(port: int) -> bool:
    """Whether nothing listens on a port of loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


_NEEDED = {"prometheus": ("prometheus",), "tempo": ("tempo", "tempo_otlp", "tempo_grpc"), "grafana": ("grafana",)}


def _ports(settings: config.Stack, names: list[str], auto: bool) -> tuple[Ports, list[programs.Unusable]]:
    """The ports in use, and the programs that have none."""
    wanted = {name: getattr(settings, f"{name}_port") for name in msgspec.structs.asdict(Ports(0, 0, 0, 0, 0))}
    given: set[int] = set()
    without: dict[str, programs.Unusable] = {}
    for program, name in [(one, part) for one in names for part in _NEEDED[one]]:
        port = wanted[name]
        candidates = range(port, min(port + AUTO_PORTS, 65536)) if auto else range(port, port + 1)
        chosen = next((one for one in candidates if one not in given and free(one)), None)
        if chosen is None:
            without[program] = programs.Unusable(
                program,
                f"port {port}, where {name.replace('_', ' ')} should listen, is taken by another program",
                f"stop that, set collector.stack.{name}_port, or let --auto-port find another",
            )
            continue
        wanted[name] = chosen
        given.add(chosen)
    return Ports(**wanted), [*without.values()]


def _loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _path(kind: type, given: object) -> object:
    return kind(given)  # Path is the only kind of ours that JSON does not know
