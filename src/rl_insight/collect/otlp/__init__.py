"""OTLP in: traces, metrics and logs of any OpenTelemetry component, as lines in the same log."""

from rl_insight.collect.otlp.receiver import Outcome, Receiver, ReceiverStatus
from rl_insight.collect.otlp.senders import PREFIX, Live
from rl_insight.collect.otlp.wire import BadMessage, read

__all__ = ["PREFIX", "BadMessage", "Live", "Outcome", "Receiver", "ReceiverStatus", "read"]
