"""The scrape targets that were registered: checked, kept on disk, and written so that a Prometheus can read them.

Each job is one file of `targets_dir` in Prometheus' own form for discovery by file. These files are also our memory.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import logging
import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

logger = logging.getLogger(__name__)

DEFAULT_JOB = "rl_insight"
MOST = 10_000
_MOST_LABELS = 32
_MOST_TEXT = 512
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_HOST = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?"
)
_SCHEME, _PATH = "__scheme__", "__metrics_path__"
# What we write beside the labels that were given.
_OURS = ("engine", "job", "run")


class BadTarget(ValueError):
    """A target, a label or a job name that cannot be; says which and why."""


class Target(msgspec.Struct, frozen=True):
    """One address to read metrics from."""

    target: str  # host:port
    job: str = DEFAULT_JOB
    labels: dict[str, str] = {}
    run: str | None = None
    scheme: str = "http"
    path: str = "/metrics"

    @property
    def key(self) -> tuple[str, str, str]:
        """By what it is known: registering it again replaces it."""
        return self.job, self.target, self.path

    @property
    def url(self) -> str:
        """Where its metrics are."""
        return f"{self.scheme}://{self.target}{self.path}"


class Registration(msgspec.Struct):
    """The body of a registration, as clients of RL-Insight 0.3 send it; `run` is ours."""

    targets: list[Any] | str
    job_name: str | None = None
    labels: Any = None
    run: str | None = None


def checked(asked: Registration) -> list[Target]:
    """The targets of a registration; raises `BadTarget` when one is bad, and then none counts."""
    if isinstance(asked.targets, str):
        raise BadTarget("targets must be a list of 'host:port', not one text")
    if not asked.targets:
        raise BadTarget("targets is empty; name at least one 'host:port'")
    job = _job(asked.job_name)
    run = asked.run or None
    if run is not None and len(run) > _MOST_TEXT:
        raise BadTarget(f"run is longer than {_MOST_TEXT} characters")
    shared = asked.labels
    apiece: list[Any] = [None] * len(asked.targets)
    if isinstance(shared, list):
        # verl gives one mapping for each address.
        if len(shared) != len(asked.targets):
            raise BadTarget(f"there are {len(asked.targets)} targets and {len(shared)} labels; one for each is wanted")
        apiece, shared = shared, None
    return [_target(one, job, run, _labels(shared), own) for one, own in zip(asked.targets, apiece, strict=True)]


def _target(given: Any, job: str, run: str | None, shared: dict[str, str], own: Any) -> Target:
    more: Any = None
    if isinstance(given, Mapping):
        unknown = set(given) - {"target", "labels"}
        if unknown or "target" not in given:
            raise BadTarget(f"target {_shown(given)}: a mapping with 'target' and perhaps 'labels' is wanted")
        given, more = given["target"], given.get("labels")
    host, scheme, path = _place(given)
    return Target(host, job, {**shared, **_labels(own), **_labels(more)}, run, scheme, path)


def _place(given: Any) -> tuple[str, str, str]:
    """Address, scheme and path of `host:port` or of a URL."""
    if not isinstance(given, str) or not given.strip() or len(given) > _MOST_TEXT:
        raise BadTarget(f"target {_shown(given)} is no address; write it as host:port")
    text = given.strip()
    if not text.isascii() or any(letter.isspace() or not letter.isprintable() for letter in text):
        raise BadTarget(f"target {_shown(given)} holds a character that no address has")
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadTarget(f"target {_shown(given)} names no port that there is; write it as host:port") from None
    if parts.scheme not in ("http", "https"):
        raise BadTarget(f"target {_shown(given)}: only http and https can be scraped")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadTarget(f"target {_shown(given)}: write only host:port, or http://host:port/path")
    if not host or not _is_host(host):
        raise BadTarget(f"target {_shown(given)} names no host; write it as host:port")
    if not port:
        raise BadTarget(f"target {_shown(given)} names no port; write it as host:port")
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}", parts.scheme, parts.path if parts.path not in ("", "/") else "/metrics"


def _is_host(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_unspecified
    except ValueError:
        # What looks like an IPv4 address and is none must not be taken for a name.
        return bool(_HOST.fullmatch(host)) and not re.fullmatch(r"[0-9.]+", host)


def _labels(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise BadTarget(f"labels must be a mapping of names to text, not {_shown(given)}")
    if len(given) > _MOST_LABELS:
        raise BadTarget(f"a target may have {_MOST_LABELS} labels, not {len(given)}")
    made: dict[str, str] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not _LABEL.fullmatch(name) or name.startswith("__") or len(name) > 100:
            raise BadTarget(
                f"label {_shown(name)}: letters, digits and _ make a label's name, and it begins with no __"
            )
        if isinstance(value, (Mapping, list)) or len(str(value)) > _MOST_TEXT:
            raise BadTarget(f"label {name}: a text of up to {_MOST_TEXT} characters is wanted, not {_shown(value)}")
        if value is not None and name not in _OURS:
            made[name] = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return made


def _job(given: str | None) -> str:
    if given is None or not given.strip():
        return DEFAULT_JOB
    job = given.strip()
    if len(job) > 200 or not job.isprintable():
        raise BadTarget(f"job_name {_shown(given)}: up to 200 printable characters are wanted")
    return job


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 120 else f"{text[:120]}…"


class Targets:
    """The registered targets of one collector. Any thread may call; a change is on disk when the call returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, str], Target] = {}
        for path in sorted(folder.glob("*.json")):
            self._known.update({one.key: one for one in _read_again(path)})

    def all(self) -> list[Target]:
        """All of them."""
        return list(self._known.values())

    def add(self, targets: Iterable[Target]) -> list[Target]:
        """Register targets; one that is known under its job and address is replaced."""
        added = {one.key: one for one in targets}
        with self._lock:
            known = {**self._known, **added}
            if len(known) > MOST:
                raise BadTarget(f"{MOST} targets are registered, which is the most; remove some first")
            self._replace(known)
        return list(added.values())

    def remove(
        self, *, targets: Iterable[str] | None = None, job: str | None = None, run: str | None = None
    ) -> list[Target]:
        """Remove the targets with these addresses, or of this job, or of this run, or what all that is given has."""
        places = None if targets is None else {_place(one)[0] for one in targets}
        with self._lock:
            gone = [
                one
                for one in self._known.values()
                if (places is None or one.target in places)
                and (job is None or one.job == job)
                and (run is None or one.run == run)
            ]
            self.discard(gone, held=True)
        return gone

    def discard(self, gone: Iterable[Target], *, held: bool = False) -> None:
        """Remove exactly these, unless they were registered anew meanwhile."""
        if not held:
            with self._lock:
                self.discard(gone, held=True)
            return
        known = dict(self._known)
        for one in gone:
            if known.get(one.key) == one:
                del known[one.key]
        if len(known) != len(self._known):
            self._replace(known)

    def _replace(self, known: dict[tuple[str, str, str], Target]) -> None:
        before, after = _by_job(self._known.values()), _by_job(known.values())
        for job in sorted({*before, *after}):
            if before.get(job) != after.get(job):
                self._write(job, after.get(job, []))
        self._known = known

    def _write(self, job: str, targets: list[Target]) -> None:
        path = self.folder / file_name(job)
        if not targets:
            path.unlink(missing_ok=True)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump([_group(one) for one in targets], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)


def file_name(job: str) -> str:
    """The file of a job: its name where that can be one, and never the same for two jobs."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in job)
    plain = kept == job and len(job) <= 100 and not job.startswith(".")
    return f"{job}.json" if plain else f"{kept[:80].lstrip('.')}-{hashlib.sha256(job.encode()).hexdigest()[:8]}.json"


def _by_job(targets: Iterable[Target]) -> dict[str, list[Target]]:
    jobs: dict[str, list[Target]] = {}
    for one in targets:
        jobs.setdefault(one.job, []).append(one)
    return jobs


def _group(one: Target) -> dict[str, Any]:
    """A target as Prometheus reads it: its series get the job, the run and the engine as labels."""
    ours = {"job": one.job, "engine": one.target, **({"run": one.run} if one.run else {})}
    hidden = {key: value for key, value, usual in _hidden(one) if value != usual}
    return {"targets": [one.target], "labels": {**one.labels, **ours, **hidden}}


def _hidden(one: Target) -> list[tuple[str, str, str]]:
    return [(_SCHEME, one.scheme, "http"), (_PATH, one.path, "/metrics")]


def _read_again(path: Path) -> list[Target]:
    try:
        return _read(path)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        logger.warning("targets: %s is left as it is, since it cannot be read: %s", path, error)
        return []


def _read(path: Path) -> list[Target]:
    """The targets of a file for discovery, ours or one that somebody put there."""
    groups = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
    found: list[Target] = []
    for group in groups:
        labels = dict(group.get("labels") or {})
        scheme, place = labels.pop(_SCHEME, "http"), labels.pop(_PATH, "/metrics")
        job, run = str(labels.pop("job", path.stem)), labels.pop("run", None)
        kept = {name: value for name, value in labels.items() if not name.startswith("__")}
        asked = Registration([f"{scheme}://{one}{place}" for one in group.get("targets") or []], job, kept, run)
        found += checked(asked) if asked.targets else []
    return found
