"""Which processes and machines take part, are they well, and how full are they?"""

from __future__ import annotations

from typing import Any

from tools.dashboards.parts import GREEN, RED, RUN, WHO, Ask, Limits, bars, curve, fill, number, page, rows

VERSION = 1


def dashboard() -> Any:
    return fill(
        page(
            "rl-insight-fleet",
            "RL-Insight / Fleet",
            "Which processes and machines take part, are they well, and how full are they?",
            VERSION,
        ),
        number(
            "Processes alive",
            "Their heartbeat is fresh.",
            Ask(f"sum(rl_insight_process_up{{{WHO}}})", "alive"),
            decimals=0,
            width=6,
        ),
        number(
            "Processes without a heartbeat",
            "They were killed, hang in native code, or cannot reach the collector.",
            Ask(f"count(rl_insight_process_up{{{WHO}}}) - sum(rl_insight_process_up{{{WHO}}})", "silent"),
            decimals=0,
            width=6,
            limits=Limits(None, 1),
        ),
        number(
            "Oldest heartbeat",
            "Age of the oldest among processes that are alive.",
            Ask(
                f"max(rl_insight_process_heartbeat_age_seconds{{{WHO}}} and rl_insight_process_up{{{WHO}}} == 1)", "age"
            ),
            unit="s",
            width=6,
            limits=Limits(15, 30),
        ),
        number(
            "Largest clock offset",
            "Times are the producers' own: an offset shifts that machine's spans against the others.",
            Ask(f"max(abs(rl_insight_process_clock_offset_seconds{{{WHO}}}))", "offset"),
            unit="s",
            width=6,
            limits=Limits(0.1, 1),
        ),
        "Processes",
        rows(
            "Who takes part, and who is silent?",
            "One row a process. Sorted by the age of its last heartbeat.",
            [
                ("alive", Ask(f"max by (run, role, rank, node) (rl_insight_process_up{{{WHO}}})")),
                (
                    "last heartbeat",
                    Ask(f"max by (run, role, rank, node) (rl_insight_process_heartbeat_age_seconds{{{WHO}}})"),
                ),
                (
                    "clock offset",
                    Ask(f"max by (run, role, rank, node) (rl_insight_process_clock_offset_seconds{{{WHO}}})"),
                ),
            ],
            ["run", "role", "rank", "node"],
            units={"last heartbeat": "s", "clock offset": "s"},
            limits={"clock offset": Limits(0.1, 1)},
            words={"alive": {"0": ("silent", RED), "1": ("alive", GREEN)}},
            sort="last heartbeat",
        ),
        curve(
            "How many processes of each role are alive?",
            "A step down is a process that was lost.",
            Ask(f"sum by (role) (rl_insight_process_up{{{WHO}}})", "{{role}}"),
            steps=True,
            decimals=0,
        ),
        curve(
            "Do the clocks agree?",
            "Estimated offset of each machine's clock from the collector's.",
            Ask(f"max by (node) (rl_insight_process_clock_offset_seconds{{{WHO}}})", "{{node}}"),
            unit="s",
            low=None,
        ),
        "Machines",
        curve(
            "How busy are the CPUs?",
            "Share of all cores of a machine.",
            Ask(f"max by (node) (rl_insight_node_cpu_ratio{{{RUN}}})", "{{node}}"),
            unit="percentunit",
            high=1,
            limits=Limits(0.8, 0.95),
        ),
        curve(
            "How full is memory?",
            "Used share of a machine's memory. Ray and the kernel kill near 1.",
            Ask(
                f"max by (node) (rl_insight_node_memory_used_bytes{{{RUN}}})"
                f" / max by (node) (rl_insight_node_memory_total_bytes{{{RUN}}})",
                "{{node}}",
            ),
            unit="percentunit",
            high=1,
            limits=Limits(0.85, 0.95),
        ),
        curve(
            "How much goes over the network?",
            "Received above, sent below zero.",
            Ask(
                f"sum by (node) (rate(rl_insight_node_network_received_bytes_total{{{RUN}}}[$__rate_interval]))",
                "in {{node}}",
            ),
            Ask(
                f"-sum by (node) (rate(rl_insight_node_network_sent_bytes_total{{{RUN}}}[$__rate_interval]))",
                "out {{node}}",
            ),
            unit="Bps",
            low=None,
        ),
        bars(
            "How full are the disks?",
            "Used share of the disk that the processes run on.",
            Ask(
                f"1 - min by (node) (rl_insight_node_disk_free_bytes{{{RUN}}})"
                f" / max by (node) (rl_insight_node_disk_total_bytes{{{RUN}}})",
                "{{node}}",
            ),
            unit="percentunit",
            high=1,
            limits=Limits(0.8, 0.95),
        ),
        "GPUs",
        curve(
            "How busy are the GPUs?",
            "Share of time in which a kernel ran.",
            Ask(f"max by (node, gpu) (rl_insight_gpu_utilization_ratio{{{RUN}}})", "{{node}} gpu {{gpu}}"),
            unit="percentunit",
            high=1,
        ),
        curve(
            "How full is GPU memory?",
            "Used share of a GPU's memory. Near 1 the next allocation fails.",
            Ask(
                f"max by (node, gpu) (rl_insight_gpu_memory_used_bytes{{{RUN}}})"
                f" / max by (node, gpu) (rl_insight_gpu_memory_total_bytes{{{RUN}}})",
                "{{node}} gpu {{gpu}}",
            ),
            unit="percentunit",
            high=1,
            limits=Limits(0.9, 0.98),
        ),
        curve(
            "How much power do they draw?",
            "A GPU that draws little while it is busy waits for memory or for others.",
            Ask(f"max by (node, gpu) (rl_insight_gpu_power_watts{{{RUN}}})", "{{node}} gpu {{gpu}}"),
            unit="watt",
        ),
        curve(
            "How hot are they?",
            "A GPU that is too hot slows down, and every other one waits for it.",
            Ask(f"max by (node, gpu) (rl_insight_gpu_temperature_celsius{{{RUN}}})", "{{node}} gpu {{gpu}}"),
            unit="celsius",
            low=None,
            limits=Limits(80, 90),
        ),
    )
