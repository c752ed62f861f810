"""The options with which a stream was declared."""

from __future__ import annotations

from datetime import timedelta

from panes.catalog import Stream
from panes.options import StreamOptions


def options_of(stream: Stream) -> StreamOptions:
    """Declared with these, it is the same stream again."""
    return StreamOptions(
        time=stream.time,
        watermark=_length(stream.delay),
        key=stream.key,
        changelog=stream.changelog,
        sequence=stream.sequence,
        state_ttl=_length(stream.state_ttl),
        heartbeat=_length(stream.heartbeat),
        idle_timeout=_length(stream.idle_timeout),
        on_inconsistency=stream.on_inconsistency,
        preimages=stream.preimages,
    )


def _length(microseconds: int | None) -> timedelta | None:
    return timedelta(microseconds=microseconds) if microseconds is not None else None
