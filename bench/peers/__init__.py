"""Comparable libraries, each measured in an environment of its own. Standard library only: they import it too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bench.row import Plan, Row

ENVIRONMENTS = Path(__file__).resolve().parent.parent.parent / ".bench-venvs"
INSTALL_SECONDS = 1200
RUN_SECONDS = 600


class Peer(NamedTuple):
    """A library: its column's heading, the module that drives it, and what to install for that."""

    name: str
    module: str
    folder: str
    packages: tuple[str, ...]
    prepare: Callable[[Path, Path], None] = lambda python, folder: None


def add_peers(rows: list[Row], plan: Plan) -> dict[str, str]:
    """Measure every peer and put its figures beside ours; returns what to say of each."""
    from bench.child import answer
    from bench.peers.areal_wheel import fetch_wheel

    peers = [
        Peer("RL-Insight 0.3", "bench.peers.rl_insight_03", "rl-insight-0.3", ("rl-insight==0.3.0", "ray[default]")),
        Peer(
            "OTel SDK",
            "bench.peers.otel",
            "otel",
            ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
        ),
        Peer("AReaL", "bench.peers.areal", "areal", ("orjson",), fetch_wheel),
        Peer("prometheus_client", "bench.peers.prometheus", "prometheus-client", ("prometheus-client",)),
    ]
    said: dict[str, str] = {}
    for peer in peers:
        print(f"bench: {peer.name} …", file=sys.stderr, flush=True)
        try:
            python = environment(peer)
            amount = "quick" if plan.quick else "full"
            found = answer(peer.module, amount, python=python, timeout=RUN_SECONDS)
        except Exception as error:  # a peer that cannot be had or run shows so, and the others go on
            said[peer.name] = f"not available: {error}"
            continue
        said[peer.name] = found["about"]
        for row in rows:
            if row.name in found["rows"]:
                row.peers[peer.name] = found["rows"][row.name]
    return said


def environment(peer: Peer) -> Path:
    """The interpreter of a peer's environment, made when it is not there yet."""
    folder = ENVIRONMENTS / peer.folder
    python, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = " ".join(peer.packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(python), "-m", "pip", "install", "--quiet", *peer.packages])
        peer.prepare(python, folder)
        stamp.write_text(wanted)
    return python


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        raise RuntimeError(errors[-1] if errors else f"{command[0]} ended with {done.returncode}")
