"""OVER, QUALIFY and the SELECT list → OverWindow, Filter and Project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from panes.errors import PanesError, suggestion
from panes.logical.binder import Binder
from panes.logical.checks import Checks
from panes.logical.grouped import GroupedScope, in_scope
from panes.logical.plan import (
    Computed,
    Field,
    Filter,
    OverWindow,
    Plan,
)
from panes.logical.scope import Scope
from panes.logical.traits import passed_on, traits
from panes.sql.calls import Call
from panes.sql.expr import column_expr, conjuncts
from panes.sql.over import OrderKey
from panes.sql.statements import (
    SelectStmt,
    Star,
)

MOST_QUERIES = 1_000


def bind_over(stmt: SelectStmt, plan: Plan, scope: Scope, check: Checks) -> tuple[Plan, Scope]:
    """One node per window specification, in the order in which they were written."""
    for name, call in stmt.over_mappings.items():
        resolved = _over_call(call, scope)
        check.call(resolved)
        assert resolved.over is not None
        plan = OverWindow(plan, resolved.over.partition_by, resolved.over.order_by, (Computed(name, resolved),))
    names = list(stmt.over_mappings)
    if isinstance(scope, GroupedScope) and scope.grouped is not None:
        scope = replace(scope, grouped=replace(scope.grouped, computed=[*scope.grouped.computed, *names]))
    else:
        scope = scope.adding(names)
    if stmt.qualify is not None:
        condition = in_scope(stmt.qualify, scope)
        check.boolean(condition, "QUALIFY")
        plan = Filter(plan, conjuncts(condition))
    return plan, scope


def _over_call(call: Call, scope: Scope) -> Call:
    over = call.over
    assert over is not None
    order = tuple(OrderKey(in_scope(key.expr, scope), key.descending, key.nulls_first) for key in over.order_by)
    return replace(
        call,
        args=tuple(in_scope(arg, scope) for arg in call.args),
        filter=in_scope(call.filter, scope) if call.filter is not None else None,
        over=replace(over, partition_by=tuple(in_scope(e, scope) for e in over.partition_by), order_by=order),
    )


def bind_fields(stmt: SelectStmt, scope: Scope, plan: Plan, binder: Binder, derived: bool) -> tuple[Field, ...]:
    fields: list[Field] = []
    for item in stmt.select_fields:
        if isinstance(item, Star):
            fields += _star(item, scope)
        else:
            fields.append(Field(in_scope(item.expr, scope), item.name))
    if not fields:
        raise PanesError("unsupported-clause", "no column is left in the SELECT list", stmt.span)
    return (*fields, *_hidden(plan, fields, binder)) if derived else tuple(fields)


def _hidden(plan: Plan, fields: Sequence[Field], binder: Binder) -> Iterable[Field]:
    """What a derived stream carries along unless it is selected under a name of its own: key, sequence, time.

    The time of rows is carried only where it is selected, that of a time window always.
    """
    inner = traits(plan)
    passed = passed_on(fields)
    selected = {one.expr.column.lower() for one in fields if one.expr.column is not None}
    carried = [*inner.key, *([inner.sequence] if inner.sequence is not None else [])]
    if inner.time is not None and (inner.time_shift or inner.time in selected):
        carried.append(inner.time)
    for name in dict.fromkeys(carried):
        if name not in passed:
            yield Field(column_expr(name, fields[0].expr.span), binder.allocator.allocate(), hidden=True)


def _star(star: Star, scope: Scope) -> list[Field]:
    if star.qualifier is not None and (scope.alias is None or star.qualifier.lower() != scope.alias.lower()):
        hint = suggestion(star.qualifier, [scope.alias] if scope.alias else [])
        raise PanesError("unknown-stream", f"{star.qualifier} is not in FROM", star.span, hint)
    rows = scope.grouped.scope if isinstance(scope, GroupedScope) and scope.grouped is not None else scope
    if rows.traits.columns is None:
        raise PanesError("unsupported-clause", "* over a query whose columns only Spark knows", star.span, "Name them.")
    excluded = set()
    for expr in star.excluded:
        if expr.column is None or not rows.count(expr.column):
            hint = suggestion(expr.sql, rows.visible())
            raise PanesError("unknown-column", f"there is no column {expr.sql}", expr.span, hint)
        excluded.add(expr.column.lower())
    names = [name for name in rows.visible() if name.lower() not in excluded | rows.computed]
    if len({name.lower() for name in names}) < len(names):
        raise PanesError("ambiguous-column", "* stands for two columns of one name", star.span, "Name them with AS.")
    return [Field(in_scope(column_expr(name, star.span), scope), name) for name in names]
