"""`rl-insight server start --stack`: the stack that comes and goes with a server."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

from rl_insight import config
from rl_insight.cli.stack import make_plan, running, start_in_background, stop_stack, tell_ready
from rl_insight.cli.trouble import Trouble, note, show
from rl_insight.stack import plan as plans
from rl_insight.stack import state
from rl_insight.stack.supervise import READY_SECONDS


class BesideServer:
    """A supervisor in a process of its own, so that nothing it does can hold up the server."""

    def __init__(self, folder: Path, settings: config.Collector, *, auto_port: bool) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._found = running(folder)
        # A stack that runs already, which a killed server may have left, is taken as it is.
        self.plan = (
            make_plan(folder, settings, None, auto_port=auto_port)
            if self._found is None
            else plans.read(folder / "stack" / "plan.json")
        )
        if not self.plan.services:
            note("the server starts without a stack")
        elif self.plan.has("tempo"):
            _export_to(settings, self.plan)

    def start(self) -> None:
        """Start it once the server listens; the server does not wait for it."""
        if self._found is not None:
            note("the stack runs already")
            tell_ready(self.plan, self._found.services)
        elif self.plan.services:
            threading.Thread(target=self._start, name="rl-insight-stack", daemon=True).start()

    def stop(self) -> None:
        """Stop what was started with a server; what somebody started alone goes on."""
        self._stopping.set()
        if self._child is not None:
            self._child.terminate()
            self._child.wait()
        elif self._found is not None and self._found.with_server:
            stop_stack(self.plan.data_dir)

    def _start(self) -> None:
        try:
            found = start_in_background(self.plan, with_server=True, started=self._has_started)
            tell_ready(self.plan, found.services)
        except Trouble as trouble:
            if not self._stopping.is_set():
                show(trouble)
                note("the server goes on without it")

    def _has_started(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        if self._stopping.is_set():
            child.terminate()


def stop_beside(folder: Path) -> None:
    """Stop the stack that was started with the server of a data folder, if it still runs."""
    found = state.read(folder)
    if found is not None and found.with_server:
        stop_stack(folder)


def tell_beside(folder: Path, said: Path) -> None:
    """Wait for the stack of a server in the background, and say where it is."""
    deadline = time.monotonic() + READY_SECONDS + 30
    while time.monotonic() < deadline:
        found = state.read(folder)
        if found is not None and found.settled:
            tell_ready(plans.read(folder / "stack" / "plan.json"), found.services)
            return
        words = said.read_text(errors="replace")
        if "without a stack" in words or "goes on without it" in words:
            note(words.strip())
            return
        time.sleep(0.1)
    note(f"the stack is not ready yet; 'rl-insight stack status --data-dir {folder}' tells more")


def _export_to(settings: config.Collector, plan: plans.Plan) -> None:
    """Have the collector send its spans to Tempo, unless the settings say so already."""
    if not any(one.endpoint.rstrip("/") == plan.otlp_url for one in settings.otlp_export):
        tempo = config.OtlpExport(endpoint=plan.otlp_url, name="tempo", signals=["traces"])
        settings.otlp_export = [*settings.otlp_export, tempo]
