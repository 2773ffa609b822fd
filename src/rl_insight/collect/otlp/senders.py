"""Who sends: each distinct resource of OTLP is a process of its own, described by its process line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from rl_insight.collect.otlp.cleaning import INT64, Cleaner
from rl_insight.collect.otlp.staged import Staged
from rl_insight.record.values import text
from rl_insight.schema import SCHEMA_VERSION, Process
from rl_insight.schema import conventions as names

PREFIX = "otlp-"
# How often we say for a process that it is there while it sends, and for how long it may send nothing until we say that
# it has ended.
HEARTBEAT = 20.0
QUIET = 300.0
MAX_SENDERS = 20_000
_MAX_NOTES = 2_000


class Live(NamedTuple):
    """A run that is being recorded right now."""

    run: str
    project: str | None = None
    experiment: str | None = None


class Sender(msgspec.Struct, frozen=True):
    """A resource and the process it is. `seen` is, of lines that our own exporter sends, the last number by signal."""

    process: Process
    ours: bool
    resource: str
    told: bool = False  # its process line is in the log, by this collector
    heard: float = 0.0
    beat: float = 0.0
    seen: dict[str, int] = {}


class Looped(ValueError):
    """The records have been in this collector before; stored again they would go round for ever."""


class Senders:
    """The senders heard of, by resource and run."""

    def __init__(self, cleaner: Cleaner, collector_id: str, run: str, live: Callable[[], Live | None]) -> None:
        self.known: Staged[str, Sender] = Staged()
        self._cleaner = cleaner
        self._id = collector_id
        self._run = run
        self._live = live
        self._earlier: dict[str, tuple[str, ...]] = {}

    def earlier(self, resource: str) -> tuple[str, ...]:
        """The processes that a resource was in an earlier life of this collector."""
        return self._earlier.get(resource, ())

    def remember(self, processes: Iterable[Process], now: float) -> None:
        """Go on with processes of an earlier life of this collector."""
        for process in processes:
            about = (process.attrs or {}).get("otlp")
            if process.proc.startswith(PREFIX) and isinstance(about, dict):
                seen = {key: at for key, at in dict(about.get("seen") or {}).items() if type(at) is int}
                ours = bool(about.get("proc"))
                resource = str(about.get("resource") or "")
                self._earlier[resource] = (*self._earlier.get(resource, ()), process.proc)
                self.known.put(process.proc, Sender(process, ours, resource, ours, now, now, seen))
        self.known.commit()

    def find(self, resource: dict[str, Any], run: str, now: float) -> Sender:
        """The sender of a resource; raises `Looped`, and ValueError when there are too many."""
        via = resource.get(names.VIA)
        if isinstance(via, list) and self._id in via:
            raise Looped("these records have been in this collector already; does an export lead back to it?")
        process = self._ours(resource) if names.is_ours(resource) else self._theirs(resource, run)
        before = self.known.get(process.proc)
        if before is None:
            if len(self.known) >= MAX_SENDERS:
                raise ValueError(f"more than {MAX_SENDERS} different resources have sent; this one is new")
            sender = Sender(process, names.is_ours(resource), resource_key(resource), heard=now, beat=now)
        else:
            process = self._renewed(process, before)
            sender = msgspec.structs.replace(before, process=process, resource=resource_key(resource), heard=now)
        self.known.put(process.proc, sender)
        return sender

    def left(self, sender: Sender) -> bool:
        """Whether a sender is in a run only because it was being recorded, and it is no longer."""
        if not (sender.process.attrs or {}).get("otlp", {}).get("joined"):
            return False
        live = self._live()
        return live is None or live.run != sender.process.run

    def note(self, sender: Sender, name: str, description: str, unit: str) -> Sender:
        """Remember what a metric means."""
        attrs = sender.process.attrs or {}
        for key, said in (("help", description), ("units", unit)):
            notes = attrs.get(key) or {}
            if said and notes.get(name) != said and len(notes) < _MAX_NOTES:
                attrs = {**attrs, key: {**notes, name: self._cleaner.string(said)}}
        if attrs is (sender.process.attrs or {}):
            return sender
        changed = msgspec.structs.replace(
            sender, process=msgspec.structs.replace(sender.process, attrs=attrs), told=sender.ours and sender.told
        )
        self.known.put(sender.process.proc, changed)
        return changed

    def _renewed(self, process: Process, before: Sender) -> Process:
        old = before.process.attrs or {}
        kept = old if before.ours else {key: old[key] for key in old if key in ("help", "units")}
        process = msgspec.structs.replace(process, attrs={**kept, **(process.attrs or {})})
        if before.ours:
            # The resource does not tell; the last process line did.
            process.state, process.clock_offset = before.process.state, before.process.clock_offset
        return process

    def _ours(self, resource: dict[str, Any]) -> Process:
        origin = resource[names.PROC]
        fields: dict[str, Any] = {
            row.field: resource[row.attribute] for row in names.RESOURCE if resource.get(row.attribute) is not None
        }
        fields["attrs"] = {"otlp": {"proc": origin, "via": resource.get(names.VIA) or []}}
        fields["schema"] = SCHEMA_VERSION
        name = PREFIX + origin
        fields |= {"proc": name if len(name) <= 128 else PREFIX + _digest(origin), "seq": 1, "ts": 0, "name": origin}
        try:
            return msgspec.convert({"kind": "process", **fields}, Process)
        except msgspec.ValidationError as error:
            raise ValueError(f"the resource says {names.PROC} but is not one of ours: {error}") from None

    def _theirs(self, resource: dict[str, Any], asked: str) -> Process:
        live = None
        run = self._text(resource, "rl.run") or asked or self._run
        service = self._text(resource, "service.name") or "unknown_service"
        if not run:
            live = self._live()
            run = live.run if live else f"otel-{self._text(resource, 'service.namespace') or service}"
        proc = PREFIX + _digest(f"{run}\n{resource_key(resource)}")
        role = self._first(resource, "role") or service
        via = resource.get(names.VIA)
        about: dict[str, Any] = {"resource": resource_key(resource)}
        if isinstance(via, list):
            about["via"] = via
        if live:
            about["joined"] = True
        attrs: dict[str, Any] = {"otlp": about, names.RESOURCE_ATTRS: self._cleaner.attrs(resource) or {}}
        sdk = self._text(resource, "telemetry.sdk.version")
        versions = {
            key: said
            for key, said in (
                (self._text(resource, "telemetry.sdk.name") or "opentelemetry", sdk),
                (service, self._text(resource, "service.version")),
                ("python", self._text(resource, "process.runtime.version")),
            )
            if said
        }
        instance = self._text(resource, "service.instance.id")
        return Process(
            proc,
            1,
            0,
            self._cleaner.name(service),
            run=self._cleaner.name(run),
            schema=SCHEMA_VERSION,
            project=self._first(resource, "project") or (live.project if live else None),
            experiment=self._first(resource, "experiment") or (live.experiment if live else None),
            role="otel" if role.startswith("unknown_service") else role,
            rank=self._whole(resource, "rl.rank"),
            node=self._first(resource, "node"),
            host=self._text(resource, "host.name"),
            pid=self._whole(resource, "process.pid"),
            heartbeat=HEARTBEAT,
            versions=versions or None,
            aliases={"service.instance.id": instance} if instance else None,
            attrs=attrs,
        )

    def _first(self, resource: dict[str, Any], field: str) -> str | None:
        row = next(row for row in names.RESOURCE if row.field == field)
        return next(filter(None, (self._text(resource, key) for key in (row.attribute, *row.also))), None)

    def _text(self, resource: dict[str, Any], key: str) -> str | None:
        value = resource.get(key)
        if value is None or isinstance(value, (dict, list)):
            return None
        return self._cleaner.optional(text(value)[:512])

    @staticmethod
    def _whole(resource: dict[str, Any], key: str) -> int | None:
        value = resource.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
            return int(value)
        return value if type(value) is int and value in INT64 else None


def resource_key(resource: dict[str, Any]) -> str:
    """What tells one resource from another: all it says."""
    return _digest(msgspec.json.encode(resource, order="sorted").decode())


def _digest(said: str) -> str:
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
