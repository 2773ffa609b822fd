"""RL-Insight 0.3 on a local Ray, called as trainers call it.

Its hub asks a server where to send traces; a stand-in here answers that and swallows what the hub exports.
"Stored" means applied by the hub: it keeps last values and exports traces, nothing is durable and nothing can be
queried.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import sys
import threading
import time
from importlib.metadata import version
from typing import Any

import ray
from rl_insight.utils.constants import MonitorRayActor

import rl_insight
from bench.timing import time_calls

PRODUCERS = 2


class Answers(http.server.BaseHTTPRequestHandler):
    """The endpoints that the hub calls."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        port = self.server.server_address[1]
        self._say({"status": "ok", "otlp_port": port, "prometheus_port": port, "grafana_port": port})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._say({"status": "ok"})

    def log_message(self, *_: Any) -> None:
        return

    def _say(self, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def gauge(calls: int) -> None:
    for _ in range(calls):
        rl_insight.metric_gauge("loss", 0.25)


def gauge_with_label(calls: int) -> None:
    for _ in range(calls):
        rl_insight.metric_gauge("tokens", 0.25, worker="trainer-0")


def count(calls: int) -> None:
    for _ in range(calls):
        rl_insight.metric_count("steps")


def sample(calls: int) -> None:
    for _ in range(calls):
        rl_insight.metric_histogram("latency", 0.25)


def state(calls: int) -> None:
    for _ in range(calls):
        with rl_insight.trace_state("rollout", state_lane_id="engine-0"):
            pass


def span(calls: int) -> None:
    for _ in range(calls):
        start = time.time_ns()
        rl_insight.trace_span(name="generate", start_time_ns=start, end_time_ns=time.time_ns(), attributes={})


@rl_insight.trace_op("update")
def update() -> None:
    """A decorated function."""


def op(calls: int) -> None:
    for _ in range(calls):
        update()


def mix(events: int) -> None:
    """Half spans and half gauges with a label: it has no logs and no facts."""
    for _ in range(events // 2):
        with rl_insight.trace_state("rollout", state_lane_id="engine-0"):
            pass
        rl_insight.metric_gauge("tokens", 0.25, worker="trainer-0")


def cpu_of(pid: int) -> float:
    """Seconds of CPU a process has used."""
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123  # as short as it can be
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Hub:
    """The actor that takes the events."""

    def __init__(self) -> None:
        job = ray.get_runtime_context().get_job_id()
        self._actor = ray.get_actor(f"{MonitorRayActor.NAME}_{job}", namespace=MonitorRayActor.NAMESPACE)
        self.pid: int = ray.get(self._actor.__ray_call__.remote(lambda _: os.getpid()))

    def applied(self) -> int:
        return int(ray.get(self._actor.get_status.remote())["events_applied"])

    def wait_for(self, events: int) -> None:
        """Return when so many have been applied in all."""
        while self.applied() < events:
            time.sleep(0.01)


@ray.remote(num_cpus=0)
class Producer:
    """A worker that records."""

    def __init__(self) -> None:
        # The same labels as the driver's: with others its hub refuses every gauge, at more than twice the cost.
        rl_insight.init(project="bench", experiment_name="bench")
        mix(2)

    def record(self, events: int) -> float:
        start = time.process_time()
        mix(events)
        return time.process_time() - start


def main() -> None:
    quick = sys.argv[1] == "quick"
    amounts = {"repeats": 2 if quick else 5, "blocks": 2 if quick else 4, "calls": 20 if quick else 100}
    off = time_calls({"disabled gauge": gauge, "disabled span": state}, repeats=3, blocks=5, calls=500)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["RL_INSIGHT_SERVER_URL"] = f"http://127.0.0.1:{server.server_address[1]}"
    with contextlib.redirect_stdout(sys.stderr):
        environment = {"env_vars": {"RL_INSIGHT_SERVER_URL": os.environ["RL_INSIGHT_SERVER_URL"]}}
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
        rows = measure(amounts, 100 if quick else 4000)
    rows |= {name: timing.value for name, timing in off.items()}
    about = (
        f"rl-insight {version('rl-insight')} with ray {ray.__version__}; stored = applied by its hub, not durable; "
        "spans are trace_span with both times"
    )
    ray.shutdown()
    print(json.dumps({"about": about, "rows": rows}), flush=True)
    os._exit(0)


def measure(amounts: dict[str, int], events: int) -> dict[str, float]:
    rl_insight.init(project="bench", experiment_name="bench")
    gauge(1)
    time.sleep(2)
    hub = Hub()
    loops = {
        "gauge": gauge,
        "gauge with a label": gauge_with_label,
        "count": count,
        "sample": sample,
        "span": span,
        "state": state,
        "op": op,
    }
    # An actor answers in order: its status comes when everything sent before has been applied.
    rows = {name: timing.value for name, timing in time_calls(loops, **amounts, before_block=hub.applied).items()}
    for name, loop in (("gauges", gauge), ("spans", span)):
        start = time.process_time()
        loop(events // 2)
        hub.applied()
        rows[f"producer CPU, {name}"] = (time.process_time() - start) / (events // 2) * 1e6
    producers = [Producer.remote() for _ in range(PRODUCERS)]
    ray.get([producer.record.remote(2) for producer in producers])
    before, hub_cpu, start = hub.applied(), cpu_of(hub.pid), time.perf_counter()
    spent = ray.get([producer.record.remote(events) for producer in producers])
    sent = events * PRODUCERS
    hub.wait_for(before + sent)
    taken = time.perf_counter() - start
    rows["events stored and queryable"] = sent / taken
    rows["collector CPU"] = (cpu_of(hub.pid) - hub_cpu) / sent * 1e6
    rows["producer CPU, two at once"] = sum(spent) / sent * 1e6
    # All of it was on Ray: the same figures stand beside our rows from inside a job.
    return rows | {f"{name}, inside Ray": value for name, value in rows.items()}


if __name__ == "__main__":
    main()
