"""Builds the page into the wheel where there is Node; without Node the package installs all the same, only pageless."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("src/rl_insight/serve/static")


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs the page's own build before files are gathered."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        # An editable install serves what `make page` builds.
        if version == "editable" or os.environ.get("RL_INSIGHT_NO_PAGE"):
            return
        if not (root / "web" / "package.json").is_file():
            return
        npm = shutil.which("npm")
        if npm is None:
            self._tell(root, "there is no Node here")
            return
        install = "ci" if (root / "web" / "package-lock.json").is_file() else "install"
        for command in ([npm, install], [npm, "run", "build"]):
            done = subprocess.run(command, cwd=root / "web", capture_output=True, text=True, check=False)
            if done.returncode:
                self._tell(root, f"'{' '.join(command[1:])}' failed: {(done.stderr or done.stdout).strip()[-400:]}")
                return

    def _tell(self, root: Path, why: str) -> None:
        if (root / STATIC / "index.html").is_file():
            self.app.display_warning(f"rl-insight: {why}; the page is taken as it was built before")
        else:
            self.app.display_warning(f"rl-insight: {why}; installed without its page, which 'make page' builds")
