"""What the documents say works: every Python block runs, and every setting and command is written down."""

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rl_insight import config

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text()]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "RL_INSIGHT_DIR": str(tmp_path / "lines"),
        "RAY_ADDRESS": "local",
    }
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "lines").glob("lines-*.jsonl")), "the page's code recorded nothing"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    for path in _settings(config.Config, ""):
        assert f"`{path}`" in text, f"docs/settings.md does not tell of {path}"
    for variable in [*config.ENVIRONMENT, "RL_INSIGHT_DISABLED", "RL_INSIGHT_QUIET"]:
        assert f"`{variable}`" in text, f"docs/settings.md does not tell of {variable}"


def test_every_command_is_documented() -> None:
    from typer.main import get_command

    from rl_insight.cli.app import app

    text = "\n".join(page.read_text() for page in PAGES)
    for name in get_command(app).commands:  # type: ignore[attr-defined]
        assert f"rl-insight {name}" in text, f"no page tells of rl-insight {name}"


def _settings(kind: type[msgspec.Struct], prefix: str) -> list[str]:
    found = []
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            found += _settings(field.type, f"{prefix}{field.name}.")
        else:
            found.append(f"{prefix}{field.name}")
    return found
