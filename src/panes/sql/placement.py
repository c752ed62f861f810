"""What may stand where: each construct that stands in the wrong clause is refused, with the way out."""

from __future__ import annotations

from difflib import get_close_matches

from panes.errors import PanesError, suggestion
from panes.functions import Functions
from panes.sql.aggregates import is_aggregate
from panes.sql.bounds import refuse_bounds
from panes.sql.calls import calls_in, find_call
from panes.sql.clauses import Clauses, Tokens
from panes.sql.stateful import is_stateful
from panes.sql.tokens import span_of
from panes.sql.windows import USAGE, is_window


def check_placement(clauses: Clauses, functions: Functions) -> None:
    """Windows only in GROUP BY, stateful calls not in HAVING nor around aggregates, aggregates not in WHERE, …"""
    window_items = [item for item in clauses.group_by if is_window_item(item)]
    if len(window_items) > 1:
        hint = "Compute one window in a sub-query, and the other over its result."
        raise PanesError("multiple-windows", "GROUP BY has more than one window", span_of(window_items[1]), hint)
    _refuse_windows(clauses)
    for item in clauses.group_by:
        _refuse_aggregates(item, functions, "aggregate-in-group-by", "GROUP BY")
        refuse_bounds(item, "GROUP BY")
        _refuse_over_calls(item[1:] if is_window_item(item) else item, functions, "GROUP BY")
    _refuse_aggregates(clauses.where, functions, "aggregate-in-where", "WHERE")
    refuse_bounds(clauses.where, "WHERE")
    _refuse_over_calls(clauses.where, functions, "WHERE")
    _refuse_over_calls(clauses.having, functions, "HAVING")
    _refuse_stateful(clauses.having, functions)
    for part in (*clauses.items, clauses.qualify):
        _refuse_aggregates_in_stateful(part, functions)


SPARK_WINDOWS = ("session_window", "window")


def refuse_mistyped_windows(clauses: Clauses) -> None:
    """Refuse `GROUP BY tumblingwindw(…)` here: Spark would only say that it knows no such function."""
    for item in clauses.group_by:
        place = find_call(item, 0)
        if place is None or is_window(place.name) or place.name in SPARK_WINDOWS:
            continue
        if get_close_matches(place.name, USAGE, n=1, cutoff=0.85):
            at = span_of(item[place.start : place.end + 1])
            raise PanesError("unknown-function", f"there is no window {place.name}", at, suggestion(place.name, USAGE))


def is_window_item(item: Tokens) -> bool:
    """Whether an item of GROUP BY is a window and nothing else."""
    place = find_call(item, 0)
    return place is not None and is_window(place.name) and place.end == len(item) - 1


def _refuse_aggregates_in_stateful(tokens: Tokens, functions: Functions) -> None:
    checked = -1
    for place in calls_in(tokens):
        if place.end <= checked or not is_stateful(tokens, place, functions):
            continue
        checked = place.end  # calls inside were looked at with this one
        inside = tokens[place.start + 1 : place.end + 1]
        for inner in calls_in(inside):
            if is_aggregate(inner, functions):
                raise PanesError(
                    "aggregate-in-stateful",
                    f"the aggregate {inner.name} stands inside the stateful call {place.name}",
                    span_of(inside[inner.start : inner.end + 1]),
                    "Stateful calls see rows, before any window: aggregate their result, or aggregate in a sub-query.",
                )


def _refuse_windows(clauses: Clauses) -> None:
    keys = [item for item in clauses.group_by if not is_window_item(item)]
    for part in (*clauses.items, clauses.where, *keys, clauses.having, clauses.qualify, clauses.windows):
        for place in calls_in(part):
            if is_window(place.name):
                at = span_of(part[place.start : place.end + 1])
                hint = f"Write it as an item of GROUP BY: GROUP BY {place.name}(…), key."
                raise PanesError("window-not-in-group-by", f"{place.name} outside GROUP BY", at, hint)


def _refuse_aggregates(tokens: Tokens, functions: Functions, code: str, where: str) -> None:
    for place in calls_in(tokens):
        if is_aggregate(place, functions):
            at = span_of(tokens[place.start : place.end + 1])
            hint = "Conditions on aggregates go into HAVING." if where == "WHERE" else None
            raise PanesError(code, f"the aggregate {place.name} in {where}", at, hint)


def _refuse_over_calls(tokens: Tokens, functions: Functions, where: str) -> None:
    for place in calls_in(tokens):
        if place.over_start is not None and not is_stateful(tokens, place, functions):
            at = span_of(tokens[place.start : place.end + 1])
            hint = "Conditions on OVER windows go into QUALIFY, or into an outer query."
            raise PanesError("over-not-allowed", f"{place.name} OVER in {where}", at, hint)


def _refuse_stateful(tokens: Tokens, functions: Functions) -> None:
    for place in calls_in(tokens):
        if is_stateful(tokens, place, functions):
            at = span_of(tokens[place.start : place.end + 1])
            hint = "Stateful calls see rows, HAVING sees groups: use WHERE, or an aggregate of the call."
            raise PanesError("stateful-in-having", f"the stateful call {place.name} in HAVING", at, hint)
