"""OTLP out: lines as spans, metrics and log records for Tempo, an OpenTelemetry collector, or another of ours."""

from rl_insight.export.otlp.destination import Destination, destinations, resource_attributes
from rl_insight.export.otlp.exporter import Exporter, Exporters, ExporterStatus

__all__ = ["Destination", "Exporter", "ExporterStatus", "Exporters", "destinations", "resource_attributes"]
