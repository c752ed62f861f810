"""GROUP BY with a window → Window and Aggregation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from panes.errors import PanesError
from panes.logical.binder import Binder
from panes.logical.checks import Checks
from panes.logical.grouped import Grouped, GroupedScope
from panes.logical.grouping import bare
from panes.logical.plan import (
    Aggregation,
    Computed,
    Field,
    Filter,
    Plan,
    Window,
)
from panes.logical.scope import LONGEST, Scope, resolve, resolve_call, too_long
from panes.logical.traits import traits
from panes.sql.calls import Call
from panes.sql.expr import Expr, conjuncts
from panes.sql.statements import (
    SelectField,
    SelectStmt,
    Star,
)
from panes.sql.window_kinds import TimeWindow, partition_of
from panes.sql.window_kinds import Window as Kinds
from panes.sql.windows import Kind

MOST_QUERIES = 1_000


def aliases_of(stmt: SelectStmt, scope: Scope) -> dict[str, Expr]:
    """What the aliases of the SELECT list stand for, each resolved with those before it; the first of two wins."""
    scope = scope.adding([*stmt.bound_mappings, *stmt.aggregate_mappings, *stmt.over_mappings])
    aliases: dict[str, Expr] = {}
    length = 0
    for item in stmt.select_fields:
        if isinstance(item, SelectField) and item.aliased:
            written_out = resolve(item.expr, scope.with_aliases(aliases))
            length += len(written_out.tokens) - len(item.expr.tokens)
            if length > 3 * LONGEST:
                raise too_long(item.expr)
            aliases.setdefault(item.name.lower(), written_out)
    return aliases


def bind_window(
    stmt: SelectStmt, plan: Plan, scope: Scope, check: Checks, binder: Binder, derived: bool
) -> tuple[Plan, Scope]:
    """The window, and unless its rows come out as they are, the aggregation over it."""
    assert stmt.window is not None
    kind = _window_kind(stmt.window, scope, check)
    _refuse_zone_of_local_times(kind, scope, stmt)
    bounds = _bounds(stmt, kind, binder, read_on=derived or bool(stmt.over_mappings))
    named = tuple(Computed(name, call) for name, call in bounds.items())
    aliases = aliases_of(stmt, scope)
    keys = _keys(stmt, kind, scope.with_aliases(aliases), binder)
    if _is_raw(stmt):
        window = Window(plan, kind, keys, named, stmt.window_span)
        if stmt.having is not None:
            hint = "Without aggregates the window's rows come out: use WHERE."
            raise PanesError("unsupported-clause", "HAVING without groups", stmt.having.span, hint)
        return window, replace(scope, traits=traits(window)).adding(list(bounds)).with_aliases(aliases)

    aggregates: list[Computed] = []
    for name, call in stmt.aggregate_mappings.items():
        _refuse_bounds_inside(call, bounds)
        resolved = resolve_call(call, scope)
        check.call(resolved)
        aggregates.append(Computed(name, resolved))
    grouped: Plan = Aggregation(Window(plan, kind, (), named, stmt.window_span), keys, tuple(aggregates))
    after = Grouped(scope, keys, [*bounds, *stmt.aggregate_mappings], aliases)
    if stmt.having is not None:
        condition = after.resolve(stmt.having.substitute(aliases))  # here an alias comes before a column, as in Spark
        check.boolean(condition, "HAVING")
        grouped = Filter(grouped, conjuncts(condition))
    return grouped, GroupedScope(traits(grouped), scope.alias, grouped=after)


def _bounds(stmt: SelectStmt, kind: Kind, binder: Binder, read_on: bool) -> dict[str, Call]:
    """The bounds that the query names; where something reads on, a time window's end too, for it is the time there."""
    bounds = dict(stmt.bound_mappings)
    if read_on and isinstance(kind, TimeWindow) and all(one.name != "window_end" for one in bounds.values()):
        bounds[binder.allocator.allocate()] = Call("window_end", span=stmt.window_span)
    return bounds


def _is_raw(stmt: SelectStmt) -> bool:
    """Whether the window's rows come out: no aggregate, and the window alone in GROUP BY or `SELECT *`."""
    if stmt.aggregate_mappings:
        return False
    return not stmt.group_by_exprs or any(isinstance(field, Star) for field in stmt.select_fields)


def _window_kind(kind: Kind, scope: Scope, check: Checks) -> Kind:
    match kind:
        case Kinds.Count():
            return replace(kind, partition_by=_resolved(kind.partition_by, scope))
        case Kinds.Sliding():
            when = resolve(kind.when, scope) if kind.when is not None else None
            if when is not None:
                check.boolean(when, "WHEN")
            return replace(kind, partition_by=_resolved(kind.partition_by, scope), when=when)
        case Kinds.State():
            opened, emit = resolve(kind.open, scope), resolve(kind.emit, scope)
            check.boolean(opened, "the open condition", "window-arguments")
            check.boolean(emit, "the emit condition", "window-arguments")
            return replace(kind, open=opened, emit=emit, partition_by=_resolved(kind.partition_by, scope))
        case Kinds.Tumbling() | Kinds.Hopping() | Kinds.Session():
            return kind
        case _:
            assert_never(kind)


def _refuse_zone_of_local_times(kind: Kind, scope: Scope, stmt: SelectStmt) -> None:
    """Of a time without a zone nobody knows the instant."""
    time = scope.traits.time
    zoned = isinstance(kind, Kinds.Tumbling | Kinds.Hopping) and kind.zone is not None
    if zoned and time is not None and scope.traits.type_of(time) == "timestamp_ntz":
        hint = "Its days begin at 00:00 of its own clock: leave zone out, or declare the time as TIMESTAMP."
        raise PanesError("window-arguments", f"a zone for {time}, a TIMESTAMP_NTZ", stmt.window_span, hint)


def _resolved(exprs: Iterable[Expr], scope: Scope) -> tuple[Expr, ...]:
    return tuple(resolve(expr, scope) for expr in exprs)


def _keys(stmt: SelectStmt, kind: Kind, scope: Scope, binder: Binder) -> tuple[Field, ...]:
    """Group keys, then the window's partition keys; a key that is a column keeps its name, as it was declared."""
    scope = scope.adding([*stmt.bound_mappings, *stmt.aggregate_mappings, *stmt.over_mappings])
    exprs: list[Expr] = []
    for written in stmt.group_by_exprs:
        expr = bare(resolve(_ordinal(written, stmt), scope))
        _refuse_computed_key(expr, written, stmt)
        exprs.append(expr)
    exprs += partition_of(kind) or ()
    spelled = {name.lower(): name for name in scope.visible()}
    return tuple(
        Field(expr, spelled.get(expr.column.lower(), expr.column) if expr.column else binder.allocator.allocate())
        for expr in dict.fromkeys(exprs)
    )


def _refuse_computed_key(key: Expr, written: Expr, stmt: SelectStmt) -> None:
    """By way of an alias or a position, GROUP BY can name what is only known after it."""
    for name in key.column_names:
        if name in stmt.bound_mappings:
            hint = "A window's bounds need not be grouped: they are known with the window."
            message = f"{stmt.bound_mappings[name].name}() in GROUP BY"
            raise PanesError("window-not-in-group-by", message, written.span, hint)
        if name in stmt.aggregate_mappings or name in stmt.over_mappings:
            raise PanesError("aggregate-in-group-by", "GROUP BY names an aggregate", written.span)


def _ordinal(expr: Expr, stmt: SelectStmt) -> Expr:
    """`GROUP BY 2` is the second item of the SELECT list."""
    position = expr.unsigned
    if position is None:
        return expr
    fields = stmt.select_fields
    field = fields[position - 1] if 1 <= position <= len(fields) else None
    if not isinstance(field, SelectField):
        raise PanesError("parse-error", f"GROUP BY {position} is not an item of the SELECT list", expr.span)
    return field.expr


def _refuse_bounds_inside(call: Call, bounds: Mapping[str, Call]) -> None:
    parts = [*call.args, *([call.filter] if call.filter is not None else [])]
    for part in parts:
        for ref in part.columns:
            if ref.parts[0] in bounds:
                name = bounds[ref.parts[0]].name
                hint = "A window's bounds are known when its rows are aggregated: use them outside the aggregate."
                raise PanesError("window-not-in-group-by", f"{name}() inside {call.name}", part.span, hint)
