"""Every error a user can get: one class, one table of codes."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from panes.source import Span, underline

CODES: dict[str, str] = {
    "parse-error": "the text is not a statement that Panes or Spark understands",
    "unknown-stream": "FROM names something that is not a stream, view or table",
    "unknown-column": "a column that the stream, view or sub-query does not have",
    "unknown-function": "a window, aggregate or stateful function that does not exist here",
    "unknown-view": "a view that does not exist",
    "unknown-sink": "a sink that does not exist",
    "unknown-variable": "a variable of a script, ${name}, that nobody has set",
    "ambiguous-column": "a name that two columns carry",
    "duplicate-name": "a name that is taken already",
    "multiple-windows": "more than one window in GROUP BY",
    "window-not-in-group-by": "a window outside GROUP BY, or its bounds without a window",
    "window-arguments": "wrong arguments of a window function",
    "unknown-time-unit": "a time unit other than ms, ss, mi, hh, dd",
    "over-not-allowed": "OVER where it has no meaning",
    "over-needs-partition-by": "an OVER with nothing in it",
    "over-order-by-not-allowed": "ORDER BY in the OVER of a window that knows its own order",
    "over-arguments": "an OVER window that lacks its order, or whose frame cannot be",
    "function-arguments": "wrong arguments of a stateful, aggregate or OVER function",
    "not-boolean": "a condition that is not a Boolean",
    "type-mismatch": "an expression whose types do not go together",
    "aggregate-in-where": "an aggregate in WHERE",
    "aggregate-in-group-by": "an aggregate in GROUP BY or in a window's arguments",
    "aggregate-in-aggregate": "an aggregate inside another",
    "aggregate-in-stateful": "an aggregate inside a stateful call",
    "stateful-in-having": "a stateful call in HAVING",
    "column-not-grouped": "a column that is neither grouped nor aggregated",
    "watermark-required": "a feature that needs event time on a stream that has none",
    "watermark-already-set": "an input DataFrame with a watermark of its own that cannot be adopted",
    "stream-options": "a stream, view or sink declared in a way that cannot work",
    "unbounded-state": "a result that could never be completed, or state that could never expire",
    "changelog-not-supported": "a window or stateful call over a changelog",
    "unsupported-clause": "a clause that has no meaning on a stream, or not in this place",
    "not-executable": "a query that compiles but holds a value of a type that no kernel can keep or compare",
    "state-mismatch": "a checkpoint that belongs to another query or other settings",
    "stream-ended": "a checkpoint that was flushed and sealed",
    "checkpoint-in-use": "a checkpoint on which a query is running",
    "cannot-rescale": "a checkpoint whose state cannot be spread over so many partitions",
    "unsafe-checkpoint": "a Spark that writes checkpoints in a way that no restart can rely on",
    "function-failed": "a stateful function of your own raised an error, or returned what is not of its type",
    "value-failed": "a value that cannot be computed: an overflow, a cast, a division by zero",
    "malformed-record": "a record of a stream that is not what its format and columns say",
    "broker-failed": "a Kafka broker that does not answer, lets nobody in, or lacks a topic",
    "store-failed": "a folder that cannot be reached, or that cannot be written",
    "missing-secret": "a variable or a file that an option names and that is not there",
    "database-failed": "a database that does not answer, lets nobody in, or refuses what is written",
    "sink-mismatch": "a table that is missing, or has other columns, types or keys than the result",
    "delta-failed": "a Delta table that is not there, has no change feed, or lost a version that is needed",
    "missing-spark": "PySpark is not installed, has no Java to run on, or is older than Panes can run on",
    "spark-settings": "a setting that is needed, and that the session has not and does not let Panes set",
    "unfit-workers": "Spark's Python workers have no Panes, or another version of it or of DuckDB than the driver",
    "missing-package": "a connector whose jars Spark does not have, or whose Python package is not installed",
    "inconsistent-change": "a change that does not fit: of a key that is not there, or of an unknown type",
}


class PanesError(Exception):
    """What went wrong (`code`), where (`span`) and the way out (`hint`)."""

    def __init__(self, code: str, message: str, span: Span | None = None, hint: str | None = None) -> None:
        if code not in CODES:
            raise ValueError(f"{code!r} is not a code of panes.errors.CODES")
        super().__init__(code, message, span, hint)
        self.code = code
        self.message = message
        self.span = span
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.span is not None:
            lines.append(underline(self.span))
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """A hint for a mistyped name.

    >>> suggestion("user_ids", ["user_id", "region"])
    'Did you mean user_id?'
    """
    names = sorted(set(known))
    lowered = {one.lower(): one for one in reversed(names)}
    close = get_close_matches(name.lower(), lowered, n=1)
    if close:
        return f"Did you mean {lowered[close[0]]}?"
    if not names:
        return None
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    return f"Use one of: {shown}."
