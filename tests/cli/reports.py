"""Reports of micro-batches, as the runner makes them."""

from __future__ import annotations

from panes.spark.report import Report


def report(sink: str = "out", /, batch: int = 0, **fields: int) -> Report:
    """A micro-batch of half a second; all fields but the report's own are counters."""
    own = {name: fields.pop(name) for name in ("rows_read", "watermark", "backlog") if name in fields}
    return Report(sink, batch, 0.5, fields, **own)
