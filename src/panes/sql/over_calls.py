"""The OVER rewrite: every call with an OVER becomes a placeholder, after stateful calls and aggregates have theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.errors import PanesError, suggestion
from panes.frames import Edge, Unit
from panes.functions import Functions
from panes.functions.refused import REFUSED
from panes.sql import aggregates
from panes.sql.arguments import checked
from panes.sql.calls import Call, Place, calls_in, rewrite_calls
from panes.sql.over import Over
from panes.sql.stateful import Mappings
from panes.sql.tokens import Token, span_of


def is_over_call(place: Place) -> bool:
    return place.over_start is not None


def rewrite_over_calls(tokens: Sequence[Token], functions: Functions, mappings: Mappings) -> tuple[Token, ...]:
    """The tokens with a placeholder for each OVER call."""
    for place in calls_in(tokens):
        if is_over_call(place):
            _check_not_nested(tokens, place)
    return rewrite_calls(
        tokens,
        lambda _, place: is_over_call(place),
        lambda call: mappings.placeholder(normalise(call, functions)),
    )


def normalise(call: Call, functions: Functions) -> Call:
    """A checked OVER call."""
    over = call.over
    assert over is not None
    if over.when is not None:
        hint = "Use FILTER (WHERE …), or leave ORDER BY out for a stateful call."
        raise PanesError("over-not-allowed", "WHEN goes with stateful calls and sliding windows", over.when.span, hint)
    _check_frame(over)
    function = functions.over.get(call.name)
    if function is None:
        if call.name not in functions.aggregates and call.name not in REFUSED:
            close = suggestion(call.name, [*functions.over, *functions.aggregates, *functions.stateful.names()])
            raise PanesError("unknown-function", f"{call.name} is not an OVER function", call.span, close)
        return aggregates.normalise(call, functions)
    if call.within:
        raise PanesError("function-arguments", f"{call.name} takes no WITHIN GROUP", call.span)
    call = checked(call, function.signature)
    if call.distinct or call.filter is not None:
        what = "DISTINCT" if call.distinct else "FILTER"
        raise PanesError("function-arguments", f"{call.name} takes no {what}", call.span)
    if call.ignore_nulls is not None and not function.ignores_nulls_on_request:
        raise PanesError("function-arguments", f"{call.name} takes no IGNORE or RESPECT NULLS", call.span)
    if not over.order_by:
        raise PanesError("over-arguments", f"{call.name} needs an ORDER BY in its OVER", over.span)
    if over.frame is not None and not function.takes_frame:
        raise PanesError("over-arguments", f"{call.name} takes no frame", over.frame.span)
    return replace(call, ignore_nulls=call.ignore_nulls or None)


def _check_frame(over: Over) -> None:
    frame = over.frame
    if frame is None:
        return
    offsets = [bound for bound in frame.ends if bound.offset is not None]
    if frame.unit is Unit.RANGE and offsets and len(over.order_by) != 1:
        message = "a RANGE frame with an offset needs exactly one ORDER BY expression"
        raise PanesError("over-arguments", message, frame.span)
    if not over.order_by and not (
        frame.start.edge is Edge.UNBOUNDED_PRECEDING and frame.end.edge is Edge.UNBOUNDED_FOLLOWING
    ):
        raise PanesError("over-arguments", "a frame needs an ORDER BY", frame.span)


def _check_not_nested(tokens: Sequence[Token], place: Place) -> None:
    inside = tokens[place.start + 1 : place.end + 1]
    for inner in calls_in(inside):
        if inner.over_start is not None:
            at = span_of(inside[inner.start : inner.end + 1])
            raise PanesError("over-not-allowed", "an OVER window inside another", at, "Use a sub-query.")
