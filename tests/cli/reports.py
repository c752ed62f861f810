"""Reports of micro-batches, as the runner makes them."""

from __future__ import annotations

from panes.spark.report import Report

OWN = ("watermark", "backlog", "earliest", "latest")


def report(sink: str = "out", /, batch: int = 0, **fields: int) -> Report:
    """A micro-batch of half a second; all fields but the report's own are counters."""
    rows_read = fields.pop("rows_read", 0)
    watermark, backlog, earliest, latest = (fields.pop(name, None) for name in OWN)
    return Report(sink, batch, 0.5, fields, rows_read, watermark, backlog, {0: fields}, (), earliest, latest)
