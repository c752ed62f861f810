"""The aggregate rewrite: `sum(a) / count(*)` becomes `col_1 / col_2` with `{col_1: sum(a), col_2: count(*)}`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.aggregates import AGGREGATES, Aggregate
from panes.functions.refused import REFUSED
from panes.functions.within import Within
from panes.sql.arguments import checked
from panes.sql.calls import Call, Place, calls_in, rewrite_calls
from panes.sql.expr import Expr
from panes.sql.stateful import Mappings
from panes.sql.tokens import Token, span_of


def is_aggregate(place: Place, functions: Functions) -> bool:
    """An aggregate of the window: with OVER it is an OVER function instead."""
    return place.over_start is None and (place.name in functions.aggregates or place.name in REFUSED)


def rewrite_aggregates(tokens: Sequence[Token], functions: Functions, mappings: Mappings) -> tuple[Token, ...]:
    """The tokens with a placeholder for each aggregate."""
    for place in calls_in(tokens):
        if is_aggregate(place, functions):
            _check_not_nested(tokens, place, functions)
    return rewrite_calls(
        tokens,
        lambda _, place: is_aggregate(place, functions),
        lambda call: mappings.placeholder(normalise(call, functions)),
    )


def normalise(call: Call, functions: Functions) -> Call:
    """A checked aggregate under its own name (`mean` is `avg`)."""
    aggregate = functions.aggregates.get(call.name)
    if aggregate is None:
        message = f"the aggregate {call.name} has no incremental form in Panes"
        raise PanesError("unknown-function", message, call.span, REFUSED[call.name])
    call = _checked_within(call, aggregate)
    if call.distinct and not aggregate.distinct:
        *names, last = [one.name for one in AGGREGATES if one.distinct]
        hint = f"DISTINCT goes with {', '.join(names)} and {last}."
        raise PanesError("function-arguments", f"{aggregate.name} takes no DISTINCT", call.span, hint)
    if call.ignore_nulls is not None and not aggregate.ignores_nulls_on_request:
        raise PanesError("function-arguments", f"{aggregate.name} takes no IGNORE or RESPECT NULLS", call.span)
    args: tuple[Expr, ...] = call.args
    ignore = call.ignore_nulls
    if aggregate.ignores_nulls_on_request and len(args) == 2:
        if ignore is not None:
            raise PanesError("function-arguments", "ignoring NULLs is said twice", call.span)
        ignore, args = args[1].boolean, args[:1]
    if any(arg.sql == "*" for arg in args) and (not aggregate.star or len(args) > 1 or call.distinct):
        raise PanesError("function-arguments", f"{aggregate.name} takes no *", call.span, "Only count(*) does.")
    return replace(call, name=aggregate.name, args=args, ignore_nulls=ignore or None)


def _checked_within(call: Call, aggregate: Aggregate) -> Call:
    """The call with its own arguments checked, and those of WITHIN GROUP as far as it takes them."""
    own, keys, usage = call.args[: call.own], call.args[call.own :], f"Usage: {aggregate.usage}."
    if keys and aggregate.within is Within.NOTHING:
        raise PanesError("function-arguments", f"{aggregate.name} takes no WITHIN GROUP", call.span)
    if aggregate.within is Within.VALUE and not keys:
        raise PanesError("function-arguments", f"{aggregate.name} needs WITHIN GROUP (ORDER BY …)", call.span, usage)
    if aggregate.within.is_value and len(keys) > 1:
        raise PanesError("function-arguments", f"{aggregate.name} takes one key in WITHIN GROUP", keys[1].span, usage)
    if aggregate.within is Within.PERHAPS_VALUE:
        if keys and own:
            message = f"{aggregate.name} is given its value twice: as an argument and in WITHIN GROUP"
            raise PanesError("function-arguments", message, call.span, usage)
        return call if keys else replace(call, args=checked(call, aggregate.signature, usage).args[:1])
    if call.distinct and keys and [key.key for key in keys] != [arg.key for arg in own[:1]]:
        message = f"with DISTINCT, WITHIN GROUP of {aggregate.name} orders by the value itself"
        raise PanesError("function-arguments", message, keys[0].span, usage)
    mine = checked(replace(call, args=own, within=()), aggregate.signature, usage)
    return replace(call, args=(*mine.args, *keys))


def _check_not_nested(tokens: Sequence[Token], place: Place, functions: Functions) -> None:
    inside = tokens[place.start + 1 : place.end + 1]
    for inner in calls_in(inside):
        at = span_of(inside[inner.start : inner.end + 1])
        if inner.over_start is not None:
            raise PanesError("over-not-allowed", f"an OVER window inside the aggregate {place.name}", at)
        if is_aggregate(inner, functions):
            hint = "Aggregate twice with a sub-query."
            raise PanesError("aggregate-in-aggregate", f"{inner.name} stands inside {place.name}", at, hint)
