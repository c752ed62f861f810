"""The stateful rewrite: every stateful call becomes a placeholder, equal calls the same one.

`SELECT lag(a), lag(a)` becomes `SELECT col_1, col_1` with `{col_1: lag(a)}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.stateful.built_ins import BuiltIn
from panes.sql.arguments import checked
from panes.sql.calls import Call, Place, calls_in, rewrite_calls
from panes.sql.over import Over
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.tokens import Token, name_token, span_of, top_level


def has_order_by(tokens: Sequence[Token], place: Place) -> bool:
    """Whether the OVER of a call has an ORDER BY."""
    if place.over_start is None:
        return False
    inside = tokens[place.over_start + 2 : place.end]
    return any(inside[index].word == "ORDER BY" for index in top_level(inside))


def is_stateful(tokens: Sequence[Token], place: Place, functions: Functions) -> bool:
    """Registered as stateful, and without ORDER BY in OVER (`lag` with one is an OVER function)."""
    return functions.stateful.is_registered(place.name) and not has_order_by(tokens, place)


@dataclass
class Mappings:
    """Placeholders by call: equal calls share one."""

    allocator: ColPlaceholderAllocator
    calls: dict[str, Call] = field(default_factory=dict)
    _names: dict[Call, str] = field(default_factory=dict)

    def placeholder(self, call: Call) -> Token:
        name = self._names.get(call)
        if name is None:
            name = self._names[call] = self.allocator.allocate()
            self.calls[name] = call
        assert call.span is not None
        return name_token(name, call.span)


def rewrite_stateful(tokens: Sequence[Token], functions: Functions, mappings: Mappings) -> tuple[Token, ...]:
    """The tokens with a placeholder for each stateful call."""

    return rewrite_calls(
        tokens,
        lambda part, place: is_stateful(part, place, functions),
        lambda call: mappings.placeholder(normalise(call, functions)),
    )


def normalise(call: Call, functions: Functions) -> Call:
    """A checked stateful call: its condition in `filter`, only PARTITION BY left in `over`."""
    function = functions.stateful.get(call.name)
    assert function is not None and call.span is not None
    if call.within:
        raise PanesError("unsupported-clause", f"WITHIN GROUP in the stateful call {call.name}", call.span)
    call = checked(call, function.signature)
    _refuse_over_inside(call)
    if call.distinct:
        raise PanesError("unsupported-clause", f"DISTINCT in the stateful call {call.name}", call.span)
    ignores_nulls = isinstance(function, BuiltIn) and function.ignores_nulls_on_request
    if call.ignore_nulls is not None and not ignores_nulls:
        raise PanesError("unsupported-clause", f"{call.name} takes no IGNORE NULLS", call.span)
    over = call.over or Over()
    if call.over is not None and over.is_empty:
        raise PanesError(
            "over-needs-partition-by",
            f"{call.name} OVER () has no PARTITION BY",
            over.span,
            "Write OVER (PARTITION BY key), or leave OVER out for one state over the whole stream.",
        )
    if over.frame is not None:
        hint = f"With ORDER BY, {call.name} is an OVER function and takes its order from there."
        raise PanesError("over-not-allowed", f"the stateful call {call.name} takes no frame", over.frame.span, hint)
    if call.filter is not None and over.when is not None:
        raise PanesError("unsupported-clause", "FILTER and WHEN are the same condition: write one", over.when.span)
    condition = call.filter or over.when
    ignore = call.ignore_nulls or None
    return replace(call, ignore_nulls=ignore, filter=condition, over=Over(partition_by=over.partition_by))


def _refuse_over_inside(call: Call) -> None:
    for part in call.parts:
        for place in calls_in(part.tokens):
            at = span_of(part.tokens[place.start : place.end + 1])
            if place.over_start is not None:
                raise PanesError("over-not-allowed", f"an OVER window inside the stateful call {call.name}", at)
