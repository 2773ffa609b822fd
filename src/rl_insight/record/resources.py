"""The resource sampler: CPU, memory, network, disk and GPU of the node, told by one process of a run on it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from rl_insight.config import Resources
from rl_insight.record.facts import fact
from rl_insight.record.identity import Identity
from rl_insight.record.metrics import metric_gauge
from rl_insight.record.recorder import recorder


class ResourceSampler:
    """Samples every few seconds while it holds the node's lock; waits for the lock otherwise."""

    def __init__(self, identity: Identity, settings: Resources) -> None:
        self._identity = identity
        self._settings = settings
        self._stop = threading.Event()
        self._lock: int | None = None
        self._thread = threading.Thread(target=self._run, name="rl-insight-resources", daemon=True)

    def start(self) -> None:
        """Start the thread, unless opted out."""
        if self._settings.enabled:
            self._thread.start()

    def stop(self) -> None:
        """Stop, and let another process of the node take over."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        self.abandon()

    def abandon(self) -> None:
        """In a forked child: let go of the parent's lock, which would else outlive the parent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _run(self) -> None:
        try:
            import psutil
        except ImportError:
            recorder.problem("resources", "psutil is not installed: CPU and memory of this node are not recorded")
            return
        if self._stop.wait(self._settings.delay):  # others of this node are to come first
            return
        probe: Probe | None = None
        while not self._stop.is_set():
            try:
                if self._elected():
                    if probe is None:
                        probe = Probe(psutil)  # the first look only sets the base of rates
                    else:
                        tell(probe.look(), self._identity.node)
            except Exception as error:
                recorder.problem("resources", f"resources could not be sampled: {type(error).__name__}: {error}")
            interval = self._settings.interval
            self._stop.wait(min(1.0, interval) if probe is not None and probe.looks == 0 else interval)

    def _elected(self) -> bool:
        if self._lock is not None:
            return True
        lock = os.open(_lock_path(self._identity), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return False
        self._lock = lock
        return True


class Probe:
    """Reads the machine's gauges; rates are over the time since the last look."""

    def __init__(self, psutil: Any) -> None:
        self.looks = 0
        self._psutil = psutil
        self._gpus = Gpus()
        psutil.cpu_percent(interval=None)

    def look(self) -> dict[str, float]:
        """All gauges of the node, by name, in base units."""
        self.looks += 1
        psutil = self._psutil
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        found: dict[str, float] = {
            "node_cpu_ratio": psutil.cpu_percent(interval=None) / 100,
            "node_cpu_count": psutil.cpu_count() or 0,
            "node_memory_used_bytes": memory.total - memory.available,
            "node_memory_total_bytes": memory.total,
            "node_swap_used_bytes": swap.used,
        }
        with contextlib.suppress(OSError):
            found["node_load1"] = psutil.getloadavg()[0]
        with contextlib.suppress(OSError):
            disk = psutil.disk_usage(str(Path.cwd()))
            found["node_disk_free_bytes"] = disk.free
            found["node_disk_total_bytes"] = disk.total
        network = psutil.net_io_counters()
        if network is not None:
            found["node_network_sent_bytes_total"] = network.bytes_sent
            found["node_network_received_bytes_total"] = network.bytes_recv
        found["node_process_memory_bytes"] = psutil.Process().memory_info().rss
        found.update(self._gpus.look())
        return found


class Gpus:
    """NVIDIA devices through nvidia-ml-py, when it and they are there."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        try:
            import pynvml

            pynvml.nvmlInit()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(n) for n in range(pynvml.nvmlDeviceGetCount())]
            self._nvml = pynvml
        except Exception:  # no package, no driver, no device: a machine without GPUs, not a fault
            self._handles = []

    def look(self) -> dict[str, float]:
        """Utilisation, memory, power and temperature of each device."""
        found: dict[str, float] = {}
        for number, handle in enumerate(self._handles):
            with contextlib.suppress(Exception):  # a device may lack one reading or fall off the bus
                use = self._nvml.nvmlDeviceGetUtilizationRates(handle)
                memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
                found[f"gpu{number}_utilization_ratio"] = use.gpu / 100
                found[f"gpu{number}_memory_used_bytes"] = memory.used
                found[f"gpu{number}_memory_total_bytes"] = memory.total
                found[f"gpu{number}_power_watts"] = self._nvml.nvmlDeviceGetPowerUsage(handle) / 1000
                found[f"gpu{number}_temperature_celsius"] = self._nvml.nvmlDeviceGetTemperature(handle, 0)
        return found


def tell(found: dict[str, float], node: str) -> None:
    """Record a look at the machine: one gauge each, and one fact with all of them together."""
    for name, value in found.items():
        device, _, rest = name.partition("_")
        if device.startswith("gpu"):
            metric_gauge(f"gpu_{rest}", float(value), node=node, gpu=device.removeprefix("gpu"))
        else:
            metric_gauge(name, float(value), node=node)
    everything: dict[str, Any] = {name: float(value) for name, value in found.items()}
    fact("resource.sampled", {"node": node}, **everything)


def _lock_path(identity: Identity) -> Path:
    who = hashlib.sha256(f"{identity.run}\0{identity.node}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"rl-insight-resources-{os.getuid()}-{who}.lock"
