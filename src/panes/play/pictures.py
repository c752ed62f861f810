"""The picture of a trace for each theme of the page."""

from __future__ import annotations

from panes.trace.model import Trace


def pictures(trace: Trace) -> dict[str, str]:
    return {}
