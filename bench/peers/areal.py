"""AReaL's perf_tracer, loaded alone out of its wheel.

What it imports and does not use here is stood in for: PyTorch's profiler, the two config classes, and its coloured
logging. The tracer itself is AReaL's own file, unchanged.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import tempfile
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.areal_wheel import VERSION
from bench.timing import time_calls


@dataclass
class SessionTracerConfig:
    """The fields that the tracer reads."""

    enabled: bool = False
    flush_threshold: int = 256


@dataclass
class PerfTracerConfig:
    """The fields that the tracer reads."""

    experiment_name: str = "bench"
    trial_name: str = "bench"
    fileroot: str = ""
    enabled: bool = False
    save_interval: int = 1
    profile_steps: list[int] | None = None
    session_tracer: SessionTracerConfig | None = None


def load_tracer() -> Any:
    """The module, with stand-ins where it would load half of a training stack."""

    def module(name: str, **contents: Any) -> None:
        made = types.ModuleType(name)
        vars(made).update(contents)
        sys.modules[name] = made

    module("torch", profiler=None)
    module("areal")
    module("areal.api")
    module("areal.api.cli_args", PerfTracerConfig=PerfTracerConfig, SessionTracerConfig=SessionTracerConfig)
    module("areal.utils", logging=logging)
    path = Path(sys.prefix) / "perf_tracer.py"
    spec = importlib.util.spec_from_file_location("areal_perf_tracer", path)
    assert spec is not None
    assert spec.loader is not None
    tracer = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = tracer
    spec.loader.exec_module(tracer)
    return tracer


def main() -> None:
    quick = sys.argv[1] == "quick"
    tracer = load_tracer()
    with tempfile.TemporaryDirectory() as folder:
        config = PerfTracerConfig(fileroot=folder, enabled=True, session_tracer=SessionTracerConfig(enabled=True))
        disabled = tracer.trace_scope

        def disabled_span(calls: int) -> None:
            for _ in range(calls):
                with disabled("generate"):
                    pass

        amounts = {"repeats": 2 if quick else 9, "blocks": 2 if quick else 25, "calls": 200 if quick else 2000}
        rows = {name: timing.value for name, timing in time_calls({"disabled span": disabled_span}, **amounts).items()}
        tracer.configure(config, rank=0)
        tracer.register_task(1)
        tracer.set_session_id(tracer.register_session(1))

        def span(calls: int) -> None:
            for _ in range(calls):
                with tracer.trace_scope("generate"):
                    pass

        def span_with_attributes(calls: int) -> None:
            for _ in range(calls):
                with tracer.trace_scope("generate", args={"tokens": 512, "engine": "engine-0"}):
                    pass

        def phase(calls: int) -> None:
            for _ in range(calls):
                with tracer.trace_session_phase("generate"):
                    pass

        @tracer.trace_perf("update")
        def update() -> None:
            pass

        def op(calls: int) -> None:
            for _ in range(calls):
                update()

        loops = {"span": span, "span with attributes": span_with_attributes, "phase": phase, "op": op}
        rows |= {name: timing.value for name, timing in time_calls(loops, **amounts).items()}
        tracer.save(force=True)
        spans = 1000 if quick else 100_000
        start = time.process_time()
        span(spans)
        tracer.save(force=True)
        rows["file sink CPU, spans"] = (time.process_time() - start) / spans * 1e6
        tracer.reset()
    about = f"areal {VERSION}, its perf_tracer.py loaded alone; writes a file when told to"
    print(json.dumps({"about": about, "rows": rows}))


if __name__ == "__main__":
    main()
