"""The rules of all connectors: each looks at the streams and sinks that are its own."""

from __future__ import annotations

from panes.catalog import Sink, Stream
from panes.connectors import delta, jdbc, kafka, postgres

CONNECTORS = (kafka, postgres, jdbc, delta)


def check_stream(stream: Stream) -> None:
    """Refuse options of a stream that cannot work."""
    for connector in CONNECTORS:
        connector.check_stream(stream)


def check_sink(sink: Sink) -> None:
    """Refuse options of a sink that cannot work."""
    for connector in CONNECTORS:
        connector.check_sink(sink)
