"""Is the run alive, does it train, and what holds it up?"""

from __future__ import annotations

from typing import Any

from tools.dashboards.parts import RUN, WHO, Ask, Limits, choice, curve, fill, number, page, rows

VERSION = 1
# Metrics of the user's own: what training says about itself.
OWN = 'label_values({__name__=~"rl_insight_monitor_.*",run=~"$run"}, __name__)'
NOT_PLAIN = "/^(?!.*(_bucket|_sum|_count|_total|_created)$).*$/"


def dashboard() -> Any:
    made = page(
        "rl-insight-overview",
        "RL-Insight / Run overview",
        "Is the run alive, does it train, and what holds it up?",
        VERSION,
    )
    made.with_variable(choice("metric", "Own metrics", OWN, NOT_PLAIN, listed=True))
    return fill(
        made,
        number(
            "Runs that are live",
            "Runs with at least one process whose heartbeat is fresh.",
            Ask(f'count(rl_insight_run_info{{{RUN},state="live"}})', "live"),
            missing="none",
        ),
        number(
            "Step reached",
            "The newest step that any process of the run has named.",
            Ask(f"max by (run) (rl_insight_run_step{{{RUN}}})", "{{run}}"),
            decimals=0,
        ),
        number(
            "Since the newest step began",
            "Grows without end when a run hangs. Compare with the duration of a step.",
            Ask(f"time() - max by (run) (rl_insight_run_last_step_timestamp_seconds{{{RUN}}})", "{{run}}"),
            unit="s",
            limits=Limits(300, 1800),
        ),
        number(
            "Trainer waiting",
            "Share of the last finished step in which the trainer waited for data. High: rollouts are the bottleneck.",
            Ask(f"max by (run) (rl_insight_trainer_wait_ratio{{{RUN}}})", "{{run}}"),
            unit="percentunit",
            limits=Limits(0.3, 0.5),
        ),
        number(
            "Processes without a heartbeat",
            "They were killed, hang in native code, or cannot reach the collector.",
            Ask(f"count(rl_insight_process_up{{{RUN}}}) - sum(rl_insight_process_up{{{RUN}}})", "silent"),
            decimals=0,
            limits=Limits(None, 1),
        ),
        number(
            "Lines lost",
            "What recorders had to drop, and numbers missing from their sequence. Anything but 0: views have gaps.",
            Ask(f"sum(rl_insight_lost_lines_total{{{RUN}}}) or 0 * sum(rl_insight_lines_total{{{RUN}}})", "dropped"),
            Ask(f"sum(rl_insight_hole_lines{{{RUN}}})", "missing"),
            decimals=0,
            limits=Limits(None, 1),
        ),
        "Does it train?",
        curve(
            "How far is it?",
            "The step over time: a flat line is a stall, a changed slope a changed speed.",
            Ask(f"max by (run) (rl_insight_run_step{{{RUN}}})", "{{run}}"),
            width=8,
            decimals=0,
            steps=True,
        ),
        curve(
            "How long does a step take?",
            "Duration of the last finished step.",
            Ask(f"max by (run) (rl_insight_step_duration_seconds{{{RUN}}})", "{{run}}"),
            unit="s",
            width=8,
        ),
        curve(
            "How much of it is waiting?",
            "Share of the step in which the trainer waited for a batch.",
            Ask(f"max by (run) (rl_insight_trainer_wait_ratio{{{RUN}}})", "{{run}}"),
            unit="percentunit",
            width=8,
            high=1,
            limits=Limits(0.3, 0.5),
        ),
        "What holds it up?",
        curve(
            "What are the lanes doing?",
            "How many lanes are in each state, on average. The state that grows is the one everybody waits in.",
            Ask(f"sum by (state) (rate(rl_insight_lane_state_seconds_total{{{WHO}}}[$__rate_interval]))", "{{state}}"),
            stacked=True,
        ),
        curve(
            "Do queues grow?",
            "Put minus taken minus evicted. A queue that only grows has a consumer that is too slow.",
            Ask(f"max by (run, queue) (rl_insight_queue_depth{{{RUN}}})", "{{queue}} {{run}}"),
        ),
        curve(
            "How stale are the samples?",
            "Weight versions between making a sample and training on it, mean of the last step.",
            Ask(f"max by (run) (rl_insight_staleness_versions{{{RUN}}})", "{{run}}"),
        ),
        curve(
            "Which stage costs most?",
            "Seconds spent in spans of a name, per second: the width of the stage, summed over all processes.",
            Ask(
                f"topk(10, sum by (name) (rate(rl_insight_span_seconds_sum{{{RUN}}}[$__rate_interval])))",
                "{{name}}",
            ),
            unit="short",
        ),
        rows(
            "Which alerts fire?",
            "Rules of RL-Insight that are pending or firing now; docs/grafana.md says what to do about each.",
            [
                (
                    "fires",
                    Ask(f'max by (alertname, alertstate, run, role, rank) (ALERTS{{alertname=~"RLInsight.*",{RUN}}})'),
                )
            ],
            ["alertname", "alertstate", "run", "role", "rank"],
            height=6,
        ),
        "What does training say about itself?",
        curve(
            "$metric",
            "A gauge that the run records itself, one line per process.",
            Ask(f'{{__name__="$metric",{WHO}}}', "{{role}} {{rank}} {{run}}"),
            width=8,
            low=None,
        )
        .repeat("metric")
        .repeat_direction("h")
        .max_per_row(3),
    )
