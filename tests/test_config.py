"""Settings: where they come from, which wins, and what a wrong one is answered."""

import contextlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from rl_insight.config import (
    ENVIRONMENT,
    INHERITED,
    Config,
    ConfigError,
    adopt,
    convert,
    data_dir,
    home,
    inherited,
    load,
)


def test_without_anything_the_defaults_hold() -> None:
    assert load(environ={}) == Config()


def test_a_file_a_mapping_and_a_dictconfig_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "insight.yaml"
    path.write_text("project: p\nserver:\n  url: http://h:1\nship: {batch_lines: 7}\n")
    mapping = {"project": "p", "server": {"url": "http://h:1"}, "ship": {"batch_lines": 7}}
    expected = load(mapping, {})
    assert (expected.project, expected.server.url, expected.ship.batch_lines) == ("p", "http://h:1", 7)
    for form in (str(path), path, OmegaConf.create(mapping), OmegaConf.load(path)):
        assert load(form, {}) == expected


def test_the_environment_wins_over_file_and_mapping(tmp_path: Path) -> None:
    path = tmp_path / "insight.yaml"
    path.write_text("server: {url: 'http://file:1', token: from-file}\nresources: {enabled: true}\n")
    environ = {"RL_INSIGHT_SERVER_URL": "http://env:2", "RL_INSIGHT_RESOURCES": "false", "RL_INSIGHT_RANK": "3"}
    config = load(path, environ)
    assert (config.server.url, config.server.token) == ("http://env:2", "from-file")
    assert (config.resources.enabled, config.rank) == (False, 3)
    assert load({"server": {"url": "http://map:1"}}, environ).server.url == "http://env:2"


def test_an_empty_variable_says_nothing() -> None:
    environ = dict.fromkeys([*ENVIRONMENT, "RL_INSIGHT_DISABLED", "RL_INSIGHT_LABELS", INHERITED], "")
    assert load(environ=environ) == Config()


def test_every_variable_reaches_its_setting() -> None:
    samples = {"rank": "3", "ship.flush_interval": "0.5", "ship.sink": "file", "ship.compression": "gzip"}
    for variable, path in ENVIRONMENT.items():
        config: Any = load(environ={variable: samples.get(path, "true")})
        default: Any = Config()
        for part in path.split("."):
            config, default = getattr(config, part), getattr(default, part)
        if path != "resources.enabled":
            assert config != default, variable


@pytest.mark.parametrize("text", ["1", "true", "TRUE", "yes", "on"])
def test_recording_can_be_disabled_by_one_variable(text: str) -> None:
    assert not load(environ={"RL_INSIGHT_DISABLED": text}).enabled


@pytest.mark.parametrize("text", ["", "0", "false", "No", "off"])
def test_or_not(text: str) -> None:
    assert load(environ={"RL_INSIGHT_DISABLED": text}).enabled


def test_labels_may_come_from_the_environment() -> None:
    config = load({"labels": {"rack": "1", "zone": "a"}}, {"RL_INSIGHT_LABELS": "rack=7, pool = x=y,"})
    assert config.labels == {"rack": "7", "zone": "a", "pool": "x=y"}
    with pytest.raises(ConfigError, match="RL_INSIGHT_LABELS"):
        load(environ={"RL_INSIGHT_LABELS": "nonsense"})


def test_keys_of_older_clients_are_known() -> None:
    config = load(
        {
            "server": {"namespace": "n", "backend": "ray", "url": ""},
            "prometheus": {"metrics_report_port": 9092},
        },
        {},
    )
    assert config.server.namespace == "n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"projet": "p"}, "unknown setting projet; did you mean project?"),
        ({"ship": {"flushinterval": 1}}, "unknown setting ship.flushinterval; did you mean ship.flush_interval?"),
        ({"redact": {"zzz": 1}}, "unknown setting redact.zzz; known are enabled, keys"),
        ({1: 2}, "unknown setting 1"),
    ],
)
def test_an_unknown_setting_is_answered_with_the_nearest_known(given: Mapping[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(given, {})
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ({"rank": "first"}, "rank"),
        ({"ship": {"batch_lines": 0}}, "ship.batch_lines"),
        ({"ship": {"batch_lines": "many"}}, "ship.batch_lines"),
        ({"ship": {"buffer_lines": -1}}, "ship.buffer_lines"),
        ({"ship": {"heartbeat": 0}}, "ship.heartbeat"),
        ({"ship": {"heartbeat": math.inf}}, "ship.heartbeat"),
        ({"ship": {"flush_interval": -1}}, "ship.flush_interval"),
        ({"ship": {"timeout": 0}}, "ship.timeout"),
        ({"ship": {"memory_bytes": -1}}, "ship.memory_bytes"),
        ({"ship": {"sink": "pigeon"}}, "ship.sink"),
        ({"ship": {"compression": "rar"}}, "ship.compression"),
        ({"ship": 7}, "ship"),
        ({"resources": {"interval": 0}}, "resources.interval"),
        ({"resources": {"enabled": "maybe"}}, "resources.enabled"),
        ({"redact": {"keys": "x"}}, "redact.keys"),
        ({"labels": ["a"]}, "labels"),
    ],
)
def test_a_wrong_value_names_its_setting(given: Mapping[str, Any], setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"setting {setting}\b"):
        load(given, {})


def test_not_a_number_is_no_number_of_seconds() -> None:
    with pytest.raises(ConfigError, match=r"ship\.heartbeat"):
        load({"ship": {"heartbeat": math.nan}}, {})


@pytest.mark.parametrize("given", [7, 1.5, [1], object(), True])
def test_a_config_of_another_type_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match="config must be a mapping"):
        load(given, {})


def test_a_file_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "no.yaml"
    with pytest.raises(ConfigError, match=r"no config file at .*no\.yaml"):
        load(missing, {})
    for text in ("a: [1", "- 1\n- 2\n", "just text", "x: ${nowhere}", "\x00", "{a: 1}}"):
        broken = tmp_path / "broken.yaml"
        broken.write_text(text)
        with pytest.raises(ConfigError, match=r"broken\.yaml|unknown setting"):
            load(broken, {})
    (tmp_path / "empty.yaml").write_text("")
    assert load(tmp_path / "empty.yaml", {}) == Config()


def test_a_section_with_nothing_in_it_is_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "insight.yaml"
    path.write_text("ship:\n# batch_lines: 7\nserver:\n  url:\nproject:\n")
    assert load(path, {}) == Config()


def test_an_interpolation_that_fails_is_a_wrong_setting() -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        load(OmegaConf.create({"project": "${nowhere}"}), {})


def test_the_callers_mapping_is_left_alone() -> None:
    given: dict[str, Any] = {"server": {"url": "http://a:1"}, "labels": {"a": "1"}}
    load(given, {"RL_INSIGHT_SERVER_URL": "http://b:2", "RL_INSIGHT_LABELS": "a=2"})
    assert given == {"server": {"url": "http://a:1"}, "labels": {"a": "1"}}


def test_children_are_told_what_is_not_as_it_comes_and_no_secret() -> None:
    parent = load(
        {
            "server": {"url": "http://h:1", "token": "t0ken"},
            "collector": {"token": "t0ken"},
            "redact": {"keys": ["badge"]},
            "ship": {"dir": "/x", "batch_lines": 7},
            "labels": {"rack": "ü"},
        },
        {},
    )
    told = inherited(parent)
    assert "t0ken" not in told
    child = load({"ship": {"heartbeat": 2.0}}, {INHERITED: told})
    assert (child.redact.keys, child.labels, child.ship.batch_lines) == (["badge"], {"rack": "ü"}, 7)
    assert (child.ship.heartbeat, child.ship.dir) == (2.0, "")
    assert load({"ship": {"batch_lines": 9}}, {INHERITED: told}).ship.batch_lines == 9
    assert inherited(Config()) == ""


@pytest.mark.parametrize("told", ["{", "[]", '{"ship": 7}', '{"ship": {"from_the_future": 1}}', '{"x": {}}'])
def test_what_a_parent_of_another_version_told_is_passed_over(told: str) -> None:
    assert load(environ={INHERITED: told}) == Config()


def test_what_another_process_told_is_adopted_where_nothing_else_is_said() -> None:
    told = inherited(load({"labels": {"zone": "a"}, "redact": {"keys": ["pin"]}, "ship": {"heartbeat": 2}}, {}))
    config = load({"labels": {"rack": "7"}, "ship": {"heartbeat": 9}}, {})
    adopt(config, told)
    assert config.labels == {"zone": "a", "rack": "7"}
    assert config.redact.keys == ["pin"]
    assert config.ship.heartbeat == 9
    adopt(config, '{"ship": "of another version"}')
    assert config.ship.heartbeat == 9


def test_the_data_folder() -> None:
    assert data_dir() == home() / "data"
    assert data_dir(load({"collector": {"data_dir": "~/x"}}, {})) == Path("~/x").expanduser()
    assert data_dir(load(environ={"RL_INSIGHT_DATA_DIR": "/y"})) == Path("/y")


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=10), st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists)))
def test_anything_else_is_answered_with_a_config_error(given: dict[str, Any]) -> None:
    with contextlib.suppress(ConfigError):
        convert(given, Config)
