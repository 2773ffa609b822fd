"""Are the inference engines busy, short of memory, or the reason that rollouts are slow? vLLM and SGLang alike."""

from __future__ import annotations

from typing import Any

from tools.dashboards.parts import Ask, Limits, choice, curve, fill, number, page

VERSION = 1
# Series of an engine that Prometheus scrapes itself have a run, if it was registered with one, but no project.
AT = 'run=~"$run",engine=~"$engine"'
NAMES = 'label_values({__name__=~"vllm:num_requests_running|sglang:num_running_reqs",run=~"$run"}, engine)'


# An engine that serves two runs is told of once for each, and counts once.
ONCE = "max without (run, project, experiment)"


def total(metric: str) -> str:
    return f"sum by (engine) ({ONCE} ({metric}{{{AT}}}))"


def speed(metric: str, more: str = "") -> str:
    return f"sum by (engine) ({ONCE} (rate({metric}{{{AT}{more}}}[$__rate_interval])))"


def tail(metric: str, at: float) -> str:
    spread = f"{ONCE} (rate({metric}_bucket{{{AT}}}[$__rate_interval]))"
    return f"histogram_quantile({at}, sum by (le, engine) ({spread}))"


def tails(vllm: str, sglang: str) -> list[Ask]:
    """Median and 95th percentile of a histogram that both have. `vllm` may name an older metric after a bar."""
    asks = []
    for at in (0.5, 0.95):
        ways = " or ".join(tail(name, at) for name in vllm.split("|"))
        asks += [
            Ask(ways, f"p{at * 100:g} {{{{engine}}}}"),
            Ask(tail(sglang, at), f"p{at * 100:g} {{{{engine}}}}"),
        ]
    return asks


def dashboard() -> Any:
    made = page(
        "rl-insight-engines",
        "RL-Insight / Engines",
        "Are the inference engines (vLLM, SGLang) busy, short of memory, or the reason that rollouts are slow?",
        VERSION,
        processes=False,
    )
    made.with_variable(choice("engine", "Engine", NAMES))
    return fill(
        made,
        number(
            "Engines",
            "Replicas that tell their metrics.",
            Ask(f"count({total('vllm:num_requests_running')} or {total('sglang:num_running_reqs')})", "engines"),
            decimals=0,
            missing="none",
        ),
        number(
            "Requests running",
            "All engines together.",
            Ask(f"sum({total('vllm:num_requests_running')} or {total('sglang:num_running_reqs')})", "running"),
            decimals=0,
        ),
        number(
            "Requests waiting",
            "All engines together. Many: the engines are the bottleneck, or one of them is.",
            Ask(f"sum({total('vllm:num_requests_waiting')} or {total('sglang:num_queue_reqs')})", "waiting"),
            decimals=0,
        ),
        number(
            "Fullest KV cache",
            "Above 0.9 requests are preempted and computed twice.",
            Ask(
                f"max(vllm:kv_cache_usage_perc{{{AT}}} or vllm:gpu_cache_usage_perc{{{AT}}}"
                f" or sglang:token_usage{{{AT}}})",
                "used",
            ),
            unit="percentunit",
            limits=Limits(0.8, 0.95),
        ),
        number(
            "Tokens generated, a second",
            "All engines together.",
            Ask(f"sum({speed('vllm:generation_tokens_total')} or {speed('sglang:generation_tokens_total')})", "tokens"),
            decimals=0,
        ),
        number(
            "Requests aborted",
            "In the time shown: cancelled by the rollout, or refused by a full queue.",
            Ask(
                f'sum({ONCE} (increase(vllm:request_success_total{{{AT},finished_reason="abort"}}[$__range]))'
                f" or {ONCE} (increase(sglang:num_aborted_requests_total{{{AT}}}[$__range])))",
                "aborted",
            ),
            decimals=0,
        ),
        "Are they busy, and evenly?",
        curve(
            "How many requests run?",
            "By engine. Lines far apart: requests are not spread evenly.",
            Ask(total("vllm:num_requests_running"), "{{engine}}"),
            Ask(total("sglang:num_running_reqs"), "{{engine}}"),
        ),
        curve(
            "How many wait?",
            "By engine. Waiting on one engine while others are free is lost time.",
            Ask(total("vllm:num_requests_waiting"), "{{engine}}"),
            Ask(total("sglang:num_queue_reqs"), "{{engine}}"),
        ),
        curve(
            "How many tokens do they make?",
            "Generated tokens a second by engine.",
            Ask(speed("vllm:generation_tokens_total"), "{{engine}}"),
            Ask(speed("sglang:generation_tokens_total"), "{{engine}}"),
            stacked=True,
        ),
        curve(
            "How many tokens do they read?",
            "Prompt tokens a second by engine.",
            Ask(speed("vllm:prompt_tokens_total"), "{{engine}}"),
            Ask(speed("sglang:prompt_tokens_total"), "{{engine}}"),
            stacked=True,
        ),
        "Do they have memory?",
        curve(
            "How full is the KV cache?",
            "Share in use. Near 1 requests wait, or are preempted.",
            Ask(
                f"max by (engine) (vllm:kv_cache_usage_perc{{{AT}}})"
                f" or max by (engine) (vllm:gpu_cache_usage_perc{{{AT}}})",
                "{{engine}}",
            ),
            Ask(f"max by (engine) (sglang:token_usage{{{AT}}})", "{{engine}}"),
            unit="percentunit",
            high=1,
            limits=Limits(0.8, 0.95),
        ),
        curve(
            "How often does the prefix cache help?",
            "Share of prompt tokens that were found in the cache. Sessions of one task share a long prefix.",
            Ask(
                f"({speed('vllm:prefix_cache_hits_total')} / {speed('vllm:prefix_cache_queries_total')})"
                f" or ({speed('vllm:gpu_prefix_cache_hits_total')} / {speed('vllm:gpu_prefix_cache_queries_total')})",
                "{{engine}}",
            ),
            Ask(f"avg by (engine) (sglang:cache_hit_rate{{{AT}}})", "{{engine}}"),
            unit="percentunit",
            high=1,
        ),
        curve(
            "Are requests preempted?",
            "vLLM: preemptions a second. SGLang: requests retracted at the moment. Their work is done again.",
            Ask(speed("vllm:num_preemptions_total"), "{{engine}} preempted / s"),
            Ask(total("sglang:num_retracted_reqs"), "{{engine}} retracted"),
        ),
        curve(
            "Are requests aborted?",
            "A second, by engine.",
            Ask(speed("vllm:request_success_total", ',finished_reason="abort"'), "{{engine}}"),
            Ask(speed("sglang:num_aborted_requests_total"), "{{engine}}"),
            unit="reqps",
        ),
        "Where does a request's time go?",
        curve(
            "How long until the first token?",
            "Median and slowest in twenty. Long: the queue is full, or prompts are long and not cached.",
            *tails("vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"),
            unit="s",
        ),
        curve(
            "How long between two tokens?",
            "Median and slowest in twenty. Grows with the size of the batch.",
            *tails(
                "vllm:inter_token_latency_seconds|vllm:time_per_output_token_seconds",
                "sglang:inter_token_latency_seconds",
            ),
            unit="s",
        ),
        curve(
            "How long do requests queue?",
            "Median and slowest in twenty.",
            *tails("vllm:request_queue_time_seconds", "sglang:queue_time_seconds"),
            unit="s",
        ),
        curve(
            "How long does a request take?",
            "From arrival to the last token; median and slowest in twenty.",
            *tails("vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds"),
            unit="s",
        ),
        curve(
            "Prefill or decode?",
            "Mean seconds of a request in the queue, in prefill and in decode (vLLM).",
            *(
                Ask(
                    f"sum(rate(vllm:request_{part}_time_seconds_sum{{{AT}}}[$__rate_interval]))"
                    f" / sum(rate(vllm:request_{part}_time_seconds_count{{{AT}}}[$__rate_interval]))",
                    part,
                )
                for part in ("queue", "prefill", "decode")
            ),
            unit="s",
            stacked=True,
            width=24,
        ),
    )
