"""Gets AReaL's tracer out of its wheel: installing the whole would bring PyTorch and an inference engine."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

VERSION = "1.0.4"
MODULE = "areal/utils/perf_tracer.py"


def fetch_wheel(python: Path, folder: Path) -> None:
    """Download the wheel without its dependencies, and unpack the one module."""
    done = subprocess.run(
        [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), f"areal=={VERSION}"],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = list(folder.glob(f"areal-{VERSION}-*.whl"))
    if not wheels:
        raise RuntimeError(f"areal=={VERSION} cannot be downloaded: {done.stderr.strip()[-200:]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        (folder / "perf_tracer.py").write_bytes(wheel.read(MODULE))
