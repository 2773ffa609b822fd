"""Where lines are exported to: the settings, and the variables that OpenTelemetry's own exporters go by."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from rl_insight.config import ConfigError, OtlpExport

logger = logging.getLogger(__name__)

SIGNALS = ("traces", "metrics", "logs")
_PREFIX = "OTEL_EXPORTER_OTLP_"


class Destination(NamedTuple):
    """One destination, with the URL of each signal it takes."""

    name: str
    urls: dict[str, str]
    headers: dict[str, str]
    gzip: bool = True
    timeout: float = 10.0
    begin: str = "now"
    received: bool = True
    heartbeats: bool = True
    batch_lines: int = 2000

    def shown(self) -> str:
        """Its address for people, without anything secret."""
        url = urlsplit(next(iter(self.urls.values())))
        return f"{url.scheme}://{url.hostname}" + (f":{url.port}" if url.port else "")


def destinations(settings: list[OtlpExport], environ: Mapping[str, str]) -> list[Destination]:
    """All there are: those of the settings, then what the environment names."""
    found = [_of_settings(one) for one in settings] + _of_environment(environ)
    seen: set[str] = set()
    for place, one in enumerate(found):
        name = one.name
        while name in seen:
            name += "-2"
        seen.add(name)
        found[place] = one._replace(name=name)
    return found


def resource_attributes(environ: Mapping[str, str]) -> dict[str, str]:
    """What `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` add to every resource."""
    said = _pairs(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    if environ.get("OTEL_SERVICE_NAME"):
        said["service.name"] = environ["OTEL_SERVICE_NAME"]
    return said


def _of_settings(given: OtlpExport) -> Destination:
    own = {"traces": given.traces_endpoint, "metrics": given.metrics_endpoint, "logs": given.logs_endpoint}
    urls: dict[str, str] = {}
    for signal in given.signals:
        urls[signal] = _checked(own[signal] or _joined(given.endpoint, signal))
    if not urls:
        raise ConfigError(f"setting collector.otlp_export: {given.endpoint} has no signals; leave the list out for all")
    return Destination(
        given.name or _name(next(iter(urls.values()))),
        urls,
        given.headers,
        given.compression == "gzip",
        given.timeout,
        given.begin,
        given.received,
        given.heartbeats,
        given.batch_lines,
    )


def _of_environment(environ: Mapping[str, str]) -> list[Destination]:
    """A signal with variables of its own is a destination of its own: it may be another server's."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return []
    base = environ.get(_PREFIX + "ENDPOINT", "")
    apart: dict[tuple[str, tuple[tuple[str, str], ...], bool, float], dict[str, str]] = {}
    for signal in SIGNALS:
        own = f"{_PREFIX}{signal.upper()}_"
        url = environ.get(own + "ENDPOINT", "") or (base and _joined(base, signal))
        if not url or environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp") != "otlp":
            continue
        protocol = environ.get(own + "PROTOCOL") or environ.get(_PREFIX + "PROTOCOL") or "http/protobuf"
        if not protocol.startswith("http/"):
            logger.warning(
                "otlp: %s are not exported to %s: its protocol is %s, and we speak http/protobuf", signal, url, protocol
            )
            continue
        headers = _pairs(environ.get(_PREFIX + "HEADERS", "")) | _pairs(environ.get(own + "HEADERS", ""))
        compression = environ.get(own + "COMPRESSION") or environ.get(_PREFIX + "COMPRESSION") or "none"
        timeout = _seconds(environ.get(own + "TIMEOUT") or environ.get(_PREFIX + "TIMEOUT"))
        key = (urlsplit(_checked(url)).netloc, tuple(sorted(headers.items())), compression == "gzip", timeout)
        apart.setdefault(key, {})[signal] = url
    return [
        Destination(_name(f"http://{server}"), urls, dict(headers), zipped, timeout)
        for (server, headers, zipped, timeout), urls in apart.items()
    ]


def _joined(base: str, signal: str) -> str:
    return f"{base.rstrip('/')}/v1/{signal}"


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for a port that there is not
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"OTLP endpoint {url!r} is not of the form http://host:port")
    if parts.username or parts.password:
        raise ConfigError("an OTLP endpoint holds a user or password; put them into its headers instead")
    return url


def _name(url: str) -> str:
    return re.sub(r"[^A-Za-z0-9._:-]", "-", urlsplit(url).netloc) or "otlp"


def _pairs(text: str) -> dict[str, str]:
    """`key=value,key=value`, percent-encoded, as the variables have it."""
    items = (item.partition("=") for item in text.split(",") if "=" in item)
    return {unquote(key.strip()): unquote(value.strip()) for key, _, value in items if key.strip()}


def _seconds(text: str | None) -> float:
    """OpenTelemetry's variables are in milliseconds, or (Python's exporter) in seconds: nobody waits for 100 s."""
    try:
        given = float(text or 10)
    except ValueError:
        return 10.0
    return given / 1000 if given >= 100 else given if given > 0 else 10.0
