"""What never leaves the process: secrets by key and by value, text nobody opted in to, what a hook takes out."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rl_insight as insight
from rl_insight.config import ConfigError
from rl_insight.record.redaction import REDACTED, Redactor
from rl_insight.testing import Lines, recording

SECRET_KEYS = [
    "authorization",
    "Authorization",
    "proxy-authorization",
    "api_key",
    "apikey",
    "api-key",
    "OPENAI_API_KEY",
    "x.api.key",
    "password",
    "db_password",
    "passwd",
    "PASSWORD",
    "passphrase",
    "secret",
    "client_secret",
    "aws_secret_access_key",
    "access_key",
    "cookie",
    "Set-Cookie",
    "credentials",
    "private_key",
    "ssh_key",
    "connection_string",
    "pwd",
    "token",
    "access_token",
    "accessToken",
    "apiToken",
    "userToken",
    "HF_TOKEN",
    "session-token",
    "id_token",
    "wandb.token",
]

PLAIN_KEYS = ["tokens", "max_tokens", "tokens_per_second", "tokenizer", "token_ids", "eos_token", "pad_token", "keys"]

# Text with a secret in it, and the part that must not be seen again.
SECRET_VALUES = [
    ("Bearer abcdef0123456789", "abcdef0123456789"),
    ("header was bearer AbCdEf0123456789==", "AbCdEf0123456789"),
    ("Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    ("used sk-proj-abcdefghijklmnop1234", "abcdefghijklmnop"),
    ("stripe sk_live_abcdefghijklmnop1234", "abcdefghijklmnop"),
    ("ghp_abcdefghijklmnopqrstuvwx0123", "abcdefghijklmnop"),
    ("github_pat_11ABCDEFG0abcdefghijklmnop", "11ABCDEFG0"),
    ("glpat-abcdefghijklmnop1234", "abcdefghijklmnop"),
    ("hf_abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop"),
    ("gsk_abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop"),
    ("nvapi-abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstu", "SyA1234567890"),
    ("xoxb-1234567890-abcdef", "1234567890-abcdef"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk", "eyJzdWIiOiIxMjM0In0"),
    ("postgres://admin:hunter2@db.example/x", "hunter2"),
    ("password=hunter2", "hunter2"),
    ("DB_PASSWORD=hunter2 rest", "hunter2"),
    ('{"password": "hunter2 two words"}', "words"),
    ("api_key: 'hunter2'", "hunter2"),
    ("?access_token=hunter2hunter2&x=1", "hunter2"),
    ("http://host/?token=hunter2hunter2", "hunter2"),
    ("Cookie: sid=hunter2; other=hunter3", "hunter3"),
    ("Authorization: Digest hunter2", "hunter2"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIhunter2\n-----END RSA PRIVATE KEY-----", "MIIhunter2"),
    ("-----BEGIN PRIVATE KEY-----\nMIIhunter2 and it was cut", "MIIhunter2"),
]

PLAIN_VALUES = [
    "basic understanding of mathematics",
    "the bearer of news",
    "tokens: 12",
    "next token: a",
    "http://host:18080/v1/lines",
    "user@example.com",
    "sk-learn",
    "step=12, loss=0.5",
    "a secret garden",
]


def everywhere(key: str, value: Any) -> dict[str, Callable[[], None]]:
    """Every way a value under a key can be recorded."""

    def span() -> None:
        with insight.trace_span("s", attributes={key: value}) as opened:
            opened.set(**{key: value})

    def state() -> None:
        with insight.trace_state("s", "lane", **{key: value}):
            pass

    def operation() -> None:
        with insight.operation("a.b", {key: value}, **{key: value}):
            pass

    def task() -> None:
        with insight.task("t", **{key: value}) as work:
            work.finish("accepted", **{key: value})

    return {
        "attributes": span,
        "labels of a state": state,
        "labels": lambda: insight.metric_gauge("x", 1.0, **{key: value}),
        "labels of what is not finite": lambda: insight.metric_gauge("x", float("nan"), **{key: value}),
        "tags": lambda: insight.fact("a.b.put", {key: value}),
        "attributes of a fact": lambda: insight.fact("a.b.put", None, **{key: value}),
        "nested": lambda: insight.fact("a.b.put", None, outer={"list": [{"deep": {key: value}}]}),
        "log": lambda: insight.log("info", "message", **{key: value}),
        "operation": operation,
        "task": task,
    }


def fields(value: str) -> dict[str, Callable[[], None]]:
    """Every text of a line that is not an attribute."""

    def error() -> None:
        with pytest.raises(ValueError), insight.trace_span("s"):  # noqa: PT011 -- the message is the secret
            raise ValueError(value)

    def failing_operation() -> None:
        with pytest.raises(ValueError), insight.operation("a.b"):  # noqa: PT011
            raise ValueError(value)

    def state() -> None:
        with insight.trace_state("s", value):
            pass

    def task() -> None:
        with insight.task(value), insight.session(value):
            insight.metric_gauge("x", 1.0)

    return {
        "message": lambda: insight.log("info", value),
        "message beyond the name": lambda: insight.log("info", "x" * 500 + " " + value),
        "reason": error,
        "reason of an operation": failing_operation,
        "reason of a fact": lambda: insight.fact("a.b.put", reason=value),
        "peer": lambda: insight.fact("a.b.put", peer=value, op=value),
        "name": lambda: insight.metric_gauge(value, 1.0),
        "documentation": lambda: insight.metric_gauge("x", 1.0, value),
        "lane": state,
        "task": task,
        "key": lambda: insight.fact("a.b.put", {value: "v"}, attr={value: 1}),
    }


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_nothing_under_a_secret_key_reaches_the_sink(lines: Lines, key: str) -> None:
    for record in everywhere(key, "hunter2").values():
        record()
    for record in everywhere(key, {"inner": ["hunter2"]}).values():
        record()
    insight.close()
    assert b"hunter2" not in lines.raw()
    assert lines.raw().count(REDACTED.encode()) >= 20


def test_a_number_under_a_secret_key_is_one_too(lines: Lines) -> None:
    insight.fact(
        "a.b.put", {"pin_secret": 771237712377}, password=771237712377, first_token=0.25, token=3, has_password=True
    )
    assert b"771237712377" not in lines.raw()
    assert lines("fact")[0]["attrs"] == {"password": REDACTED, "first_token": 0.25, "token": 3, "has_password": True}


@pytest.mark.parametrize("key", PLAIN_KEYS)
def test_what_only_looks_like_a_secret_key_is_recorded(lines: Lines, key: str) -> None:
    insight.fact("a.b.put", None, **{key: 12})
    insight.log("info", "m", **{key: "twelve"})
    assert lines("fact")[0]["attrs"] == {key: 12}
    assert lines("log")[0]["attrs"] == {key: "twelve"}


@pytest.mark.parametrize(("value", "secret"), SECRET_VALUES)
def test_a_secret_value_is_found_wherever_it_stands(value: str, secret: str) -> None:
    with recording(labels={"rack": value}, ship={"heartbeat": 0.01}) as lines:
        for record in [*everywhere("note", f"was {value}").values(), *fields(value).values()]:
            record()
    assert secret.encode() not in lines.raw()
    assert lines("lost") == []


@pytest.mark.parametrize("value", PLAIN_VALUES)
def test_plain_text_is_left_alone(lines: Lines, value: str) -> None:
    insight.log("info", value, note=value)
    assert (lines("log")[0]["name"], lines("log")[0]["attrs"]["note"]) == (value, value)


def test_a_secret_across_the_cut_is_not_seen_in_half() -> None:
    limit = 100
    redactor = Redactor(max_value=limit)
    for at in range(60, 130):
        assert "abcdefg" not in redactor.string("x" * at + " sk-abcdefghijklmnopqrstuvwxyz")


@settings(deadline=None)
@given(st.integers(0, 9000), st.integers(0, 9000))
def test_what_was_replaced_never_pulls_a_half_secret_in(before: int, between: int) -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "A" * before + "\n-----END PRIVATE KEY-----"
    text = key + " " * between + " sk-" + "z" * 5000
    kept = Redactor(max_value=1000).string(text)
    assert "AAAA" not in kept
    assert "zzzz" not in kept


def test_prompts_and_responses_are_recorded_on_request_only() -> None:
    texts = {"prompt": "what is 6*7", "gen_ai.response": "it is forty-two", "messages": ["what is 6*7"]}
    with recording() as lines:
        insight.fact("a.b.put", None, **texts)
        assert b"6*7" not in lines.raw()
        assert b"forty" not in lines.raw()
        assert lines("fact")[0]["attrs"]["prompt"] == "[text not recorded: 11 chars]"
    with recording(redact={"text": True}) as lines:
        insight.fact("a.b.put", None, **texts)
        assert lines("fact")[0]["attrs"] == texts


def test_own_text_keys_keys_and_patterns() -> None:
    redact = {"text_keys": ["thought"], "keys": ["(?i)badge"], "patterns": [r"emp-\d+"]}
    with recording(redact=redact) as lines:
        insight.fact("a.b.put", None, thought="hm", my_badge="zz-9", note="by emp-7 today")
        assert lines("fact")[0]["attrs"] == {
            "thought": "[text not recorded: 2 chars]",
            "my_badge": REDACTED,
            "note": f"by {REDACTED} today",
        }


@pytest.mark.parametrize("setting", ["keys", "patterns"])
def test_a_pattern_that_is_none_is_a_wrong_setting(setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"redact\.{setting}.*\(broken"):
        insight.init(config={"redact": {setting: ["(broken"]}, "ship": {"sink": "memory"}})
    assert not insight.status().active


def test_redaction_can_be_turned_off() -> None:
    with recording(redact={"enabled": False}) as lines:
        insight.log("info", "password=hunter2", prompt="text", token="t0ken")
        assert lines("log")[0]["name"] == "password=hunter2"
        assert lines("log")[0]["attrs"] == {"prompt": "text", "token": "t0ken"}


def test_a_value_is_cut_to_the_limit() -> None:
    with recording(redact={"max_value": 10}) as lines:
        insight.log("info", "m", note="0123456789abc", short="0123456789", deep=["0123456789abc"])
        assert lines("log")[0]["attrs"] == {
            "note": "0123456789… [13 chars]",
            "short": "0123456789",
            "deep": ["0123456789… [13 chars]"],
        }


def test_the_hook_sees_every_value_and_its_word_counts() -> None:
    def hook(key: str, value: Any) -> Any:
        return value.replace("alice", "A.") if isinstance(value, str) else 0 if key == "age" else value

    with recording(redactor=hook) as lines:
        with pytest.raises(ValueError, match="alice"), insight.trace_span("by alice", attributes={"age": 33}):
            raise ValueError("alice said no")
        insight.log("info", "alice is here", who="alice", deep=[{"who": "alice"}])
        insight.metric_gauge("x", 1.0, who="alice")
        assert b"alice" not in lines.raw()
        assert lines("span")[0]["attrs"] == {"age": 0}
        assert lines("log")[0]["name"] == "A. is here"
        assert lines("gauge")[0]["labels"] == {"who": "A."}


def test_a_hook_that_fails_lets_nothing_through() -> None:
    def hook(key: str, value: Any) -> Any:
        raise RuntimeError("hook")

    with recording(redactor=hook) as lines:
        insight.log("info", "alice", who="alice", age=33)
        assert lines("log")[0]["attrs"] == {"who": REDACTED, "age": REDACTED}
        assert b"alice" not in lines.raw()
        assert insight.status().problems["redactor_failed"] >= 3


@pytest.mark.parametrize("returned", [None, 7, object(), [1], {"a": {"b": 1}}, "password=hunter2"])
def test_a_hook_may_return_anything(returned: Any) -> None:
    with recording(redactor=lambda key, value: returned) as lines:
        insight.log("info", "m", who="alice")
        insight.metric_gauge("x", 1.0, who="alice")
        assert len(lines("log")) == len(lines("gauge")) == 1
        assert b"hunter2" not in lines.raw()
        assert lines("lost") == []
