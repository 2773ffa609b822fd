"""How many sessions are made, how do they end, where does their time go, and how long are the tails?"""

from __future__ import annotations

from typing import Any

from tools.dashboards.parts import WHO, Ask, Limits, curve, fill, heat, number, page, quantiles

VERSION = 1
SESSIONS = f"rl_insight_session_seconds_bucket{{{WHO}}}[$__rate_interval]"
PHASES = f"rl_insight_phase_seconds_bucket{{{WHO}}}[$__rate_interval]"


def dashboard() -> Any:
    return fill(
        page(
            "rl-insight-rollouts",
            "RL-Insight / Rollouts",
            "How many sessions are made, how do they end, where does their time go, and how long are the tails?",
            VERSION,
        ),
        number(
            "Sessions running",
            "Sessions begun and not ended.",
            Ask(f"sum(rl_insight_sessions_open{{{WHO}}})", "sessions"),
            decimals=0,
        ),
        number(
            "Tasks open",
            "Data points begun and not ended.",
            Ask(f"sum(rl_insight_tasks_open{{{WHO}}})", "tasks"),
            decimals=0,
        ),
        number(
            "Sessions ended, a minute",
            "However they ended, and whatever becomes of them.",
            Ask(f"60 * sum(rate(rl_insight_session_seconds_count{{{WHO}}}[$__rate_interval]))", "a minute"),
            decimals=1,
        ),
        number(
            "Of them turned down",
            "Sessions said to be rejected, failed, dropped or cancelled, for each that ended. "
            "What is said of whole tasks is not in it.",
            Ask(
                f'sum(increase(rl_insight_sessions_total{{{WHO},status!="accepted"}}[$__range]))'
                f" / sum(increase(rl_insight_session_seconds_count{{{WHO}}}[$__range]))",
                "turned down",
            ),
            unit="percentunit",
            limits=Limits(0.2, 0.5),
        ),
        number(
            "Median session",
            "Half of the sessions take no longer.",
            Ask(f"histogram_quantile(0.5, sum by (le) (rate({SESSIONS})))", "p50"),
            unit="s",
        ),
        number(
            "Tail: p99 / p50",
            "How many medians the slowest in a hundred takes. A batch waits for its slowest session.",
            Ask(
                f"histogram_quantile(0.99, sum by (le) (rate({SESSIONS})))"
                f" / histogram_quantile(0.5, sum by (le) (rate({SESSIONS})))",
                "p99 / p50",
            ),
            decimals=1,
            limits=Limits(4, 8),
        ),
        "Sessions",
        curve(
            "What is said of sessions?",
            "Verdicts a second by status: rejected, failed and dropped ones were work for nothing. Verdicts on whole "
            "tasks are not counted; 'rl-insight sessions' and the page know how each session ended.",
            Ask(f"sum by (status) (rate(rl_insight_sessions_total{{{WHO}}}[$__rate_interval]))", "{{status}}"),
            unit="ops",
            stacked=True,
        ),
        curve(
            "How many run at a time, and where?",
            "Sessions begun and not ended, by process. One that stays behind has hung sessions.",
            Ask(f"sum by (role, rank) (rl_insight_sessions_open{{{WHO}}})", "{{role}} {{rank}}"),
            stacked=True,
        ),
        "Tails",
        heat(
            "How are session durations spread?",
            "Each column is a moment, each row a range of durations. A second band at the top is a tail with a cause.",
            Ask(f"sum by (le) (increase({SESSIONS}))", "{{le}}"),
        ),
        curve(
            "How long do the slowest take?",
            "Median and tails of session durations.",
            *quantiles("rl_insight_session_seconds", WHO),
            unit="s",
        ),
        "Phases",
        curve(
            "Where does session time go?",
            "Seconds spent in each phase, per second: how many sessions are in it on average.",
            Ask(f"sum by (phase) (rate(rl_insight_phase_seconds_sum{{{WHO}}}[$__rate_interval]))", "{{phase}}"),
            stacked=True,
        ),
        curve(
            "Which phase has a tail?",
            "Slowest in twenty of each phase.",
            *quantiles("rl_insight_phase_seconds", WHO, "phase", of=(0.95,)),
            unit="s",
        ),
        heat(
            "How are phase durations spread?",
            "All phases together. Long phases of one kind show in the curve beside.",
            Ask(f"sum by (le) (increase({PHASES}))", "{{le}}"),
        ),
        curve(
            "How long is a phase on average?",
            "Mean duration by phase.",
            Ask(
                f"sum by (phase) (rate(rl_insight_phase_seconds_sum{{{WHO}}}[$__rate_interval]))"
                f" / sum by (phase) (rate(rl_insight_phase_seconds_count{{{WHO}}}[$__rate_interval]))",
                "{{phase}}",
            ),
            unit="s",
        ),
    )
