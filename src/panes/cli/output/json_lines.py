"""A run as JSON, one object a line: for machines, and for logs."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO, assert_never

from panes.cli.output.failure_text import in_short
from panes.cli.output.rows import json_of
from panes.compile import Compiled
from panes.errors import PanesError
from panes.script import Done, Explanation, Listing, Step
from panes.source import shown

if TYPE_CHECKING:
    from panes.spark.report import Report
    from panes.spark.rows import Rows


class JsonLines:
    """Writes events; those of a log have a time and a level, and there are none of micro-batches if it is `quiet`."""

    def __init__(self, out: TextIO | None = None, *, log: bool = False, quiet: bool = False) -> None:
        self._out, self._log, self._quiet = out, log, quiet
        self._lock = Lock()  # rows come on a thread of Spark's

    def started(self, queries: list[str], ui: str | None) -> None:
        self._write("started", queries=queries, ui=ui)

    def step(self, step: Step) -> None:
        match step:
            case Done(message=message):
                self._write("statement", message=message)
            case Explanation(text=text):
                self._write("statement", plan=text)
            case Listing():
                self._write("statement", rows=step.documents())
            case Compiled():
                pass
            case _:
                assert_never(step)

    def batch(self, report: Report) -> None:
        if not self._quiet:
            self._write("batch", **batch_document(report))

    def rows(self, rows: Rows) -> None:
        head = self._line("row", query=rows.query, batch=rows.batch).removesuffix("}")
        for row in json_of(rows):
            self._put(f'{head}, "row": {row}}}')  # as Spark wrote it: Python would round a DECIMAL

    def failed(self, query: str, error: Exception) -> None:
        self._write("failed", "error", query=query, **error_document(error))

    def refused(self, error: Exception) -> None:
        self._write("refused", "error", **error_document(error))

    def warned(self, message: str) -> None:
        self._write("warning", "warning", message=message)

    def ended(self, reason: str) -> None:
        self._write("ended", reason=reason)

    def _write(self, event: str, level: str = "info", **fields: Any) -> None:
        self._put(self._line(event, level, **fields))

    def _line(self, event: str, level: str = "info", **fields: Any) -> str:
        head = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level} if self._log else {}
        return json.dumps({**head, "event": event, **fields})

    def _put(self, line: str) -> None:
        out = self._out or (sys.stderr if self._log else sys.stdout)
        with self._lock:
            out.write(line + "\n")
            out.flush()


def batch_document(report: Report) -> dict[str, Any]:
    """All that is known of a micro-batch; times in microseconds since 1970."""
    return {
        "query": report.sink,
        "batch": report.batch,
        "seconds": report.seconds,
        "rows_read": report.rows_read,
        "watermark": report.watermark,
        "backlog": report.backlog,
        **{name: value for name, value in report.counters.items() if name != "watermark"},
    }


def error_document(error: Exception) -> dict[str, Any]:
    """The code and the words of an error, and where it stands in the script."""
    if not isinstance(error, PanesError):
        return {"code": None, "message": in_short(error)}
    span = error.span
    place = {"line": span.line, "column": span.column, "text": shown(span)} if span is not None else {}
    return {"code": error.code, "message": error.message, "hint": error.hint, **place}
