"""Alert rules: sound, explained, and each made to fire and to stay silent by Prometheus' own tool."""

from pathlib import Path

import pytest
import yaml

from rl_insight.stack.files import ALERTS
from shown import DASHBOARDS, RULES
from stack_services import promtool

CASES = Path(__file__).parent / "alerts_test.yaml"
WANTED = {"NoHeartbeat", "StalledStep", "GrowingQueue", "LostLines", "TrainerWaiting", "CollectorDown"}


def test_every_rule_fires_when_it_should_and_only_then() -> None:
    done = promtool("test", "rules", str(CASES))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_has_a_case_in_which_it_fires() -> None:
    assert {rule["alert"] for rule in RULES} == {f"RLInsight{name}" for name in WANTED}
    fired = {
        asked["expr"].partition('alertname="')[2].partition('"')[0]
        for case in yaml.safe_load(CASES.read_text())["tests"]
        for asked in case["promql_expr_test"]
        if any('alertstate="firing"' in sample["labels"] for sample in asked.get("exp_samples", []))
    }
    assert fired == {rule["alert"] for rule in RULES}


def test_the_file_is_sound() -> None:
    done = promtool("check", "rules", str(ALERTS))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_says_what_happened_and_where_to_look(rule: dict) -> None:  # type: ignore[type-arg]
    assert rule["labels"]["severity"] in ("critical", "warning")
    said = rule["annotations"]
    assert "{{ $labels." in said["summary"]
    assert len(said["description"]) > 60
    assert said["dashboard"] in {dashboard["uid"] for dashboard in DASHBOARDS.values()}
    page = (Path(__file__).parents[2] / "docs" / "grafana.md").read_text()
    assert f"`{rule['alert']}`" in page, "docs/grafana.md does not tell of it"
