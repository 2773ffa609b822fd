"""The catalogue of `/metrics`: what RL-Insight itself tells Prometheus, beside the metrics that people record.

The dashboards and alert rules are written against these names, and docs/prometheus.md lists them.
"""

from typing import Literal, TypeAlias

import msgspec

NAMESPACE = "rl_insight_monitor"
OTHER = "other"

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

RUN = ("run", "project", "experiment")
PROCESS = (*RUN, "role", "rank")


class Own(msgspec.Struct, frozen=True):
    """A metric of ours. `name` is what one asks Prometheus for, histograms without `_bucket`, `_sum` and `_count`."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str

    @property
    def family(self) -> str:
        """The name of the family: counters go by it without their `_total`."""
        return self.name.removesuffix("_total") if self.kind == "counter" else self.name


RUNS = (
    Own("rl_insight_run_info", "gauge", (*RUN, "state"), "1 for every run shown here; state is live, finished or lost"),
    Own("rl_insight_run_step", "gauge", RUN, "Newest training step"),
    Own(
        "rl_insight_run_last_event_timestamp_seconds",
        "gauge",
        RUN,
        "When the run was last heard from, by the collector's clock",
    ),
    Own("rl_insight_run_last_step_timestamp_seconds", "gauge", RUN, "When the newest training step began"),
    Own("rl_insight_step_duration_seconds", "gauge", RUN, "How long the last finished training step took"),
    Own(
        "rl_insight_trainer_wait_ratio",
        "gauge",
        RUN,
        "Share of the last finished step that the trainer's lanes spent in waiting states",
    ),
    Own(
        "rl_insight_staleness_versions",
        "gauge",
        RUN,
        "Mean staleness, in weight versions, of the batch of the last finished step",
    ),
    Own("rl_insight_lines_total", "counter", RUN, "Lines of the run that are stored"),
    Own("rl_insight_lost_lines_total", "counter", (*RUN, "reason"), "Lines that recorders had to drop"),
    Own("rl_insight_hole_lines", "gauge", RUN, "Lines that never came, by gaps in the numbering"),
)

PROCESSES = (
    Own(
        "rl_insight_process_up",
        "gauge",
        (*PROCESS, "node"),
        "1 while the process is heard from, 0 once it is silent; none after a farewell",
    ),
    Own(
        "rl_insight_process_heartbeat_age_seconds",
        "gauge",
        (*PROCESS, "node"),
        "For how long nothing has been heard from the process",
    ),
    Own(
        "rl_insight_process_clock_offset_seconds",
        "gauge",
        (*PROCESS, "node"),
        "Collector's clock minus the process's, as the process estimates it",
    ),
)

WORK = (
    Own("rl_insight_spans_total", "counter", (*PROCESS, "name", "part", "status"), "Finished intervals"),
    Own("rl_insight_span_seconds", "histogram", (*RUN, "name", "part"), "Duration of finished intervals"),
    Own(
        "rl_insight_lane_state_seconds_total",
        "counter",
        (*PROCESS, "state"),
        "Time that lanes have spent in a state, the one they are in now among them",
    ),
    Own(
        "rl_insight_sessions_total",
        "counter",
        (*PROCESS, "status"),
        "Sessions by how they ended: accepted, rejected, failed, dropped, cancelled; under the process that said so",
    ),
    Own("rl_insight_sessions_open", "gauge", PROCESS, "Sessions under way in processes that are alive"),
    Own("rl_insight_tasks_open", "gauge", PROCESS, "Tasks under way in processes that are alive"),
    Own("rl_insight_session_seconds", "histogram", PROCESS, "Duration of finished sessions"),
    Own("rl_insight_phase_seconds", "histogram", (*PROCESS, "phase"), "Duration of finished phases of sessions"),
    Own("rl_insight_queue_depth", "gauge", (*RUN, "queue"), "Items put into the queue and not taken or evicted"),
)

# Recorded by record/resources.py under these names without `rl_insight_`, as gauges with the label `node`.
_NODE = (*RUN, "node")
_GPU = (*_NODE, "gpu")
NODES = (
    Own("rl_insight_node_cpu_ratio", "gauge", _NODE, "CPU in use, of all cores together"),
    Own("rl_insight_node_cpu_count", "gauge", _NODE, "Cores"),
    Own("rl_insight_node_load1", "gauge", _NODE, "Load average over one minute"),
    Own("rl_insight_node_memory_used_bytes", "gauge", _NODE, "Memory in use"),
    Own("rl_insight_node_memory_total_bytes", "gauge", _NODE, "Memory there is"),
    Own("rl_insight_node_swap_used_bytes", "gauge", _NODE, "Swap in use"),
    Own("rl_insight_node_disk_free_bytes", "gauge", _NODE, "Free disk where the run works"),
    Own("rl_insight_node_disk_total_bytes", "gauge", _NODE, "Size of that disk"),
    Own("rl_insight_node_network_sent_bytes_total", "counter", _NODE, "Bytes sent since the machine booted"),
    Own("rl_insight_node_network_received_bytes_total", "counter", _NODE, "Bytes received since the machine booted"),
    Own("rl_insight_node_process_memory_bytes", "gauge", _NODE, "Memory of the process that samples the node"),
    Own("rl_insight_gpu_utilization_ratio", "gauge", _GPU, "GPU in use"),
    Own("rl_insight_gpu_memory_used_bytes", "gauge", _GPU, "GPU memory in use"),
    Own("rl_insight_gpu_memory_total_bytes", "gauge", _GPU, "GPU memory there is"),
    Own("rl_insight_gpu_power_watts", "gauge", _GPU, "Power the GPU draws"),
    Own("rl_insight_gpu_temperature_celsius", "gauge", _GPU, "Temperature of the GPU"),
)

COLLECTOR = (
    Own("rl_insight_collector_accepted_lines_total", "counter", (), "Lines taken since the collector started"),
    Own("rl_insight_collector_duplicate_lines_total", "counter", (), "Lines that came again and were not kept twice"),
    Own("rl_insight_collector_refused_batches_total", "counter", (), "Batches refused for a bad line"),
    Own("rl_insight_collector_pending_bytes", "gauge", (), "Bytes taken in and not yet in the log"),
    Own("rl_insight_collector_log_bytes", "gauge", (), "Size of the log on disk"),
    Own("rl_insight_collector_free_bytes", "gauge", (), "Free disk where the log is"),
    Own("rl_insight_collector_store_lag_bytes", "gauge", (), "Bytes of the log that the store has not got yet"),
    Own("rl_insight_collector_store_lag_seconds", "gauge", (), "For how long the store has been behind the log"),
    Own(
        "rl_insight_collector_cardinality_folded_series",
        "gauge",
        ("run", "metric"),
        "Series of a metric that are folded into `other`, at least",
    ),
    Own(
        "rl_insight_collector_renamed_metric_info",
        "gauge",
        ("recorded", "kind", "metric"),
        "1 for every recorded metric that could not have the name it would get alone",
    ),
    Own("rl_insight_collector_exporter_lag_bytes", "gauge", ("destination",), "Bytes still to be exported"),
    Own("rl_insight_collector_exporter_dropped_total", "counter", ("destination",), "Items that a destination refused"),
)

CATALOGUE: dict[str, Own] = {own.name: own for own in (*RUNS, *PROCESSES, *WORK, *NODES, *COLLECTOR)}
