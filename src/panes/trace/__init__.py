"""What became of each row of a query's streams, micro-batch by micro-batch; `tracing` makes it, with Spark."""

from panes.trace.document import from_json, to_json
from panes.trace.model import (
    Fate,
    FrameTrace,
    Growth,
    Lane,
    Level,
    Point,
    Result,
    Row,
    StreamTrace,
    Trace,
    Value,
    WindowTrace,
)

__all__ = [
    "Fate",
    "FrameTrace",
    "Growth",
    "Lane",
    "Level",
    "Point",
    "Result",
    "Row",
    "StreamTrace",
    "Trace",
    "Value",
    "WindowTrace",
    "from_json",
    "to_json",
]
