"""Where LATE ROWS INTO can stand: a row must be able to be late, and to come whole to the operator that drops it."""

from __future__ import annotations

from collections.abc import Iterator

from panes.errors import PanesError
from panes.logical import plan as logical
from panes.physical.chain import Stateful, operators_below
from panes.physical.plan import Plan, SparkQuery, children
from panes.sql.statements import LateRowsClause

WATERMARK = "_watermark"  # the column with the clock that a late row has missed


def check_late_rows(statement: logical.DataSink, plan: Plan, clause: LateRowsClause) -> None:
    """Refuse LATE ROWS INTO where no row is late, or where late rows would have to pass a part that Spark runs."""
    nodes = list(_nodes(plan))
    if not any(isinstance(node, Stateful) and node.placement.late for node in nodes):
        hint = "Rows are late for windows, stateful functions and OVER on a stream with a watermark: leave it out here."
        raise PanesError("unsupported-clause", "LATE ROWS INTO where nothing can be late", clause.span, hint)
    if any(isinstance(node, SparkQuery) and operators_below(node) for node in nodes):
        text = "LATE ROWS INTO of a query in which Spark runs a part above the first operator"
        hint = "Write the result of that operator to a sink, and read that as a stream."
        raise PanesError("unsupported-clause", text, clause.span, hint)
    for stream in _sources(statement):
        taken = stream.stream.column(WATERMARK) if stream.stream.streaming else None
        if taken is not None:
            text = f"the stream {stream.stream.name} has a column {taken.name}, as late rows have"
            raise PanesError("unsupported-clause", text, clause.span, "Give the column another name.")


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in children(plan):
        yield from _nodes(child)


def _sources(plan: logical.Plan) -> Iterator[logical.DataSource]:
    if isinstance(plan, logical.DataSource):
        yield plan
    for child in logical.children(plan):
        yield from _sources(child)
