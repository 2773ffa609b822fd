"""Does the collector keep up, is anything lost, and does it have room?"""

from __future__ import annotations

from typing import Any

from tools.dashboards.parts import RUN, Ask, Limits, curve, fill, number, page

VERSION = 1


def dashboard() -> Any:
    return fill(
        page(
            "rl-insight-collector",
            "RL-Insight / Collector health",
            "Does the collector keep up, is anything lost, and does it have room?",
            VERSION,
            processes=False,
        ),
        number(
            "Collector answers Prometheus",
            "1: the last scrape of /metrics worked.",
            Ask('min(up{job="rl-insight"})', "up"),
            decimals=0,
            limits=Limits(None, 1, below=True),
        ),
        number(
            "Lines accepted, a second",
            "Lines of all runs that were written to the log and synced.",
            Ask("sum(rate(rl_insight_collector_accepted_lines_total[$__rate_interval]))", "lines"),
            decimals=0,
        ),
        number(
            "Store behind by",
            "How long ago the newest line was accepted that queries cannot see yet.",
            Ask("max(rl_insight_collector_store_lag_seconds)", "lag"),
            unit="s",
            limits=Limits(5, 30),
        ),
        number(
            "Free disk",
            "Below collector.min_free_bytes lines are refused, and recorders keep them.",
            Ask("min(rl_insight_collector_free_bytes)", "free"),
            unit="bytes",
            limits=Limits(10 * 2**30, 2**30, below=True),
        ),
        number(
            "Lines lost",
            "What recorders had to drop, and numbers missing from their sequence.",
            Ask(f"sum(rl_insight_lost_lines_total{{{RUN}}}) or 0 * sum(rl_insight_lines_total{{{RUN}}})", "dropped"),
            Ask(f"sum(rl_insight_hole_lines{{{RUN}}})", "missing"),
            decimals=0,
            limits=Limits(None, 1),
        ),
        number(
            "Batches refused",
            "Malformed, too large, or sent while the collector was too busy; the sender's log says which.",
            Ask("sum(rl_insight_collector_refused_batches_total)", "batches"),
            decimals=0,
            limits=Limits(None, 1),
        ),
        "What comes in?",
        curve(
            "How many lines arrive?",
            "Accepted, and sent again after a broken connection and therefore left out.",
            Ask("sum(rate(rl_insight_collector_accepted_lines_total[$__rate_interval]))", "accepted"),
            Ask("sum(rate(rl_insight_collector_duplicate_lines_total[$__rate_interval]))", "duplicates"),
            unit="cps",
        ),
        curve(
            "Which run sends most?",
            "Lines a second by run.",
            Ask(f"topk(10, sum by (run) (rate(rl_insight_lines_total{{{RUN}}}[$__rate_interval])))", "{{run}}"),
            unit="cps",
            stacked=True,
        ),
        curve(
            "Is anything lost?",
            "Lines that recorders had to drop, by reason, and lines missing from their sequence.",
            Ask(f"sum by (run, reason) (rl_insight_lost_lines_total{{{RUN}}})", "{{run}} {{reason}}"),
            Ask(f"sum by (run) (rl_insight_hole_lines{{{RUN}}})", "{{run}} missing"),
            decimals=0,
        ),
        curve(
            "Is anything refused?",
            "Batches a second that were not stored.",
            Ask("sum(rate(rl_insight_collector_refused_batches_total[$__rate_interval]))", "refused"),
            unit="cps",
        ),
        "Does it keep up?",
        curve(
            "How far is the store behind?",
            "Bytes of the log that are not in the store yet.",
            Ask("max(rl_insight_collector_store_lag_bytes)", "store"),
            unit="bytes",
        ),
        curve(
            "How much waits to be synced?",
            "Beyond collector.max_pending_bytes senders are told to wait.",
            Ask("max(rl_insight_collector_pending_bytes)", "pending"),
            unit="bytes",
        ),
        curve(
            "Do exports keep up?",
            "Bytes of the log that a destination has not been sent yet.",
            Ask("max by (destination) (rl_insight_collector_exporter_lag_bytes)", "{{destination}}"),
            unit="bytes",
        ),
        curve(
            "What do exports give up?",
            "What a destination refused for good, a second.",
            Ask(
                "sum by (destination) (rate(rl_insight_collector_exporter_dropped_total[$__rate_interval]))",
                "{{destination}}",
            ),
            unit="cps",
        ),
        "Does it have room?",
        curve(
            "How large is the log?",
            "collector.retain_bytes and retain_days bound it.",
            Ask("max(rl_insight_collector_log_bytes)", "log"),
            Ask("min(rl_insight_collector_free_bytes)", "free on its disk"),
            unit="bytes",
        ),
        curve(
            "Which metrics have too many series?",
            "Series folded into `other` to keep /metrics small: a label has too many values. The store has all.",
            Ask("max by (metric) (rl_insight_collector_cardinality_folded_series)", "{{metric}}"),
            decimals=0,
        ),
        curve(
            "How long does a scrape take?",
            "Time Prometheus waits for /metrics.",
            Ask('max by (job, instance) (scrape_duration_seconds{job="rl-insight"})', "{{instance}}"),
            unit="s",
        ),
        curve(
            "How large is a scrape?",
            "Series that /metrics hands out.",
            Ask('max by (job, instance) (scrape_samples_scraped{job="rl-insight"})', "{{instance}}"),
        ),
    )
