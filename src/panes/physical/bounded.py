"""Bounded state: on a stream, what can never be completed or can never expire is refused."""

from __future__ import annotations

from panes.errors import PanesError
from panes.frames import Edge
from panes.functions import Functions
from panes.functions.over import Reach, reach_of
from panes.logical.plan import OverWindow
from panes.logical.traits import Clock, Traits, closes_with_window
from panes.source import Span
from panes.sql.calls import Call
from panes.sql.over import Frame

CHANGES = "Add EMIT CHANGES to see results that later rows may still change."


def check_over(plan: OverWindow, inner: Traits, functions: Functions) -> None:
    """An OVER that emits on window close must order by time and look no further than the watermark allows."""
    if not inner.streaming or closes_with_window(plan, inner):
        return
    first = plan.calls[0].call
    if inner.clock != Clock.EVENT_TIME or inner.time is None:
        hint = f"Select the stream's time column, declare a time and a watermark, or: {CHANGES}"
        raise PanesError("watermark-required", f"{first.name} OVER needs event time to be final", first.span, hint)
    _check_order(plan, inner, first)
    for one in plan.calls:
        _check_call(one.call, functions)


def could_stream(plan: OverWindow, inner: Traits) -> bool:
    """Whether an OVER of a batch could emit on window close, too: its rows are final in the order of their times."""
    key = plan.order_by[0] if plan.order_by else None
    if key is None or key.descending or key.expr.column is None or key.expr.column.lower() != inner.time:
        return False
    frames = [one.call.over.frame for one in plan.calls if one.call.over is not None]
    whole = any(frame is not None and frame.end.edge is Edge.UNBOUNDED_FOLLOWING for frame in frames)
    return not whole and not any(reach_of(one.call.name) is Reach.PARTITION for one in plan.calls)


def _check_order(plan: OverWindow, inner: Traits, call: Call) -> None:
    span = call.over.order_span if call.over is not None and call.over.order_span is not None else call.span
    time = "window_end()" if inner.time_shift else inner.time
    if not plan.order_by:
        message = f"{call.name} OVER without ORDER BY is over all rows, which never end"
        raise PanesError("unbounded-state", message, call.span, f"Add ORDER BY {time}. {CHANGES}")
    key = plan.order_by[0]
    if key.expr.column is None or key.expr.column.lower() not in inner.in_time_order:
        hint = f"ORDER BY must start with {time}. {CHANGES}"
        raise PanesError("unbounded-state", "a row may still come before any other in this order", span, hint)
    if key.descending:
        hint = f"Order by {time} ascending. {CHANGES}"
        raise PanesError("unbounded-state", "in descending time every row to come is the first", span, hint)


def _check_call(call: Call, functions: Functions) -> None:
    frame = call.over.frame if call.over is not None else None
    if reach_of(call.name) is Reach.PARTITION:
        raise PanesError(
            "unbounded-state",
            f"{call.name} needs the number of all rows, which is never known",
            call.span,
            CHANGES,
        )
    if frame is not None and frame.end.edge is Edge.UNBOUNDED_FOLLOWING:
        raise _unbounded("a frame to UNBOUNDED FOLLOWING never completes", frame.span)
    if starts_unbounded(frame) and holds_rows(call, functions):
        what = f"{call.name}(DISTINCT …)" if call.distinct else call.name
        raise _unbounded(f"{what} over UNBOUNDED PRECEDING keeps all rows forever", call.span)


def starts_unbounded(frame: Frame | None) -> bool:
    """Whether a frame reaches back to the start of the partition; the default frame does."""
    return frame is None or frame.start.edge is Edge.UNBOUNDED_PRECEDING


def holds_rows(call: Call, functions: Functions) -> bool:
    over, aggregate = functions.over.get(call.name), functions.aggregates.get(call.name)
    if over is not None:
        return over.holds_rows
    return aggregate is not None and (aggregate.holds_rows or call.distinct)


def _unbounded(message: str, span: Span | None) -> PanesError:
    return PanesError("unbounded-state", message, span, f"Bound the frame. {CHANGES}")


def check_order(feature: str, span: Span | None, inner: Traits) -> None:
    """An order-sensitive feature needs an order: where the stream's time was lost on the way, there is none."""
    if inner.clock == Clock.NONE:
        hint = "Select the stream's time column in the sub-query; count, state and sliding windows have none."
        raise PanesError("watermark-required", f"{feature} needs rows in an order", span, hint)


def check_time(feature: str, span: Span | None, inner: Traits) -> None:
    """A window of time needs a time: the stream's, or in arrival mode that of the micro-batch."""
    if inner.time is not None or (inner.clock == Clock.ARRIVAL and inner.streaming):
        return
    hint = "Declare the stream with a time column and a watermark, and select that column in the sub-query."
    if inner.clock == Clock.ARRIVAL:
        hint = "Declare the input with its time column: engine.stream(name, df, time='ts')."
    raise PanesError("watermark-required", f"{feature} needs rows with a time", span, hint)
