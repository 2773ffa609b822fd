"""What a browser has to load before one sees anything, and how long that takes in Chromium."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.child import ROOT
from bench.row import Plan, Row
from bench.server import Collector
from bench.synthetic import RUN, build

STATIC = ROOT / "src" / "rl_insight" / "serve" / "static"
CHROMIUM = [os.environ.get("CHROMIUM", ""), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
VIEWS = ("overview", "timeline")
SPANS = 20_000
# What is panned and scrolled: a million spans on eight hundred lanes, eight to a worker.
MANY, QUICK_MANY, WORKERS = 1_000_000, 20_000, 100
BROWSER = {"Accept": "text/html,*/*", "Accept-Encoding": "gzip, br"}


def page(plan: Plan) -> list[Row]:
    """The weight of the page as it goes over the wire, and its loading, of a run that costs the store little."""
    with tempfile.TemporaryDirectory(prefix="rl-insight-bench-") as folder:
        data_dir = Path(folder) / "data"
        build(data_dir, SPANS)
        with Collector(data_dir) as server:
            rows = [*weight(server.url), *loading(server.url, plan.pick(9, 1))]
        return [*rows, *frames(Path(folder) / "many", plan)]


def weight(url: str) -> list[Row]:
    """Bytes of the entry, which every visit needs, and of all files, which one who opens every view has loaded."""
    names = "page weight, entry", "page weight, all views"
    if not (STATIC / "index.html").is_file():
        return [skipped(name, "KiB", "the page is not built; make page needs Node") for name in names]
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        index = (STATIC / "index.html").read_text(encoding="utf-8")
        entry = {"/", *(f"/{path}" for path in re.findall(r'(?:src|href)="\.?/?([^"]+\.(?:js|css|svg))"', index))}
        assets = (path for path in (STATIC / "assets").iterdir() if path.suffix in {".js", ".css"})
        everything = entry | {f"/assets/{path.name}" for path in assets}
        sizes = {path: over_the_wire(connection, path) for path in sorted(everything)}
    finally:
        connection.close()
    return [
        Row("page", name, "KiB", sum(sizes[path] for path in paths) / 1024, note=f"{len(paths)} files, bodies as sent")
        for name, paths in zip(names, (entry, everything), strict=True)
    ]


def over_the_wire(connection: http.client.HTTPConnection, path: str) -> int:
    """The bytes of a body, compressed as a browser gets it."""
    connection.request("GET", path, headers=BROWSER)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{path} answered {response.status}")
    return len(body)


def loading(url: str, repeats: int) -> list[Row]:
    """From the navigation to the first view drawn: with nothing in the cache, and again."""
    why = cannot_load()
    rows = []
    for view in VIEWS:
        first, again = f"page load, {view}", f"page load, {view}, cached"
        if why:
            rows += [skipped(name, "ms", why) for name in (first, again)]
            continue
        seen = load(url, view, repeats)
        heavy = f"{seen['bytes'] / 1024:,.0f} KiB in {seen['requests']} requests, with the data of the view"
        rows += [timed(first, seen["first"], heavy), timed(again, seen["again"], "")]
    return rows


def frames(data_dir: Path, plan: Plan) -> list[Row]:
    """Frames a second while the timeline is moved a little in each."""
    names = {"pan": "frames while panning, 1 M spans", "scroll": "frames while scrolling, 1 M spans"}
    why = cannot_load()
    if why:
        return [skipped(name, "/s", why) for name in names.values()]
    spans = build(data_dir, plan.pick(MANY, QUICK_MANY), WORKERS)
    with Collector(data_dir) as server:
        seen = browse("frames.mjs", server.url, RUN, str(plan.pick(6, 1)))
    note = f"{spans:,} spans on {seen['lanes']} lanes at 1920 x 1080; the longest wait for a frame"
    return [
        Row("page", name, "/s", seen[what]["per_s"], note=f"{note} {seen[what]['longest_ms']:.0f} ms")
        for what, name in names.items()
    ]


def cannot_load() -> str:
    """Why the page cannot be loaded here; empty when it can."""
    if not (STATIC / "index.html").is_file():
        return "the page is not built; make page needs Node"
    if not shutil.which("node") or not (ROOT / "web" / "node_modules" / "playwright-core").is_dir():
        return "no Node, or its packages are not installed: make page"
    if not any(place and Path(place).exists() for place in CHROMIUM):
        return "no Chromium: make chromium"
    return ""


def load(url: str, view: str, repeats: int) -> Any:
    """Have the browser load a view."""
    return browse("load.mjs", url, view, RUN, str(repeats))


def browse(tool: str, *arguments: str) -> Any:
    """Run a tool of the page that drives a browser; it answers in JSON."""
    done = subprocess.run(
        ["node", str(ROOT / "web" / "tools" / tool), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the browser failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def timed(name: str, ms: list[float], note: str) -> Row:
    """The median, with the best and the worst."""
    return Row("page", name, "ms", statistics.median(ms), min(ms), max(ms), note=note)


def skipped(name: str, unit: str, why: str) -> Row:
    """A row that says why it has no figure."""
    return Row("page", name, unit, 0.0, note=f"not measured: {why}", skipped=True)
