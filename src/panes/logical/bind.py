"""Tree → logical plan: names are looked up, conditions checked, and each clause becomes its node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from panes.catalog import Catalog, Column
from panes.errors import PanesError, suggestion
from panes.functions import Functions
from panes.functions.signature import Takes
from panes.logical.booleans import TypeOf, check_boolean
from panes.logical.grouping import bare, check_grouped, put_keys
from panes.logical.plan import (
    Aggregation,
    Computed,
    DataSink,
    DataSource,
    Field,
    Filter,
    OverWindow,
    Plan,
    Project,
    SparkQuery,
    StatefulFunction,
    Window,
    children,
)
from panes.logical.scope import LONGEST, Scope, resolve, resolve_call, scope_of, too_long
from panes.logical.traits import passed_on, traits
from panes.source import Source, Span
from panes.sql import windows
from panes.sql.calls import Call
from panes.sql.expr import Expr, column_expr, conjuncts
from panes.sql.over import OrderKey
from panes.sql.parser import parse_query_text
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.select import foreign_hint
from panes.sql.statements import (
    InsertInto,
    NamedRelation,
    Query,
    SelectField,
    SelectStmt,
    SparkStmt,
    Star,
    SubQuery,
)

MOST_QUERIES = 1_000


@dataclass(frozen=True)
class Binder:
    """What every query of one statement is bound against; `views` are those being expanded.

    `queries` counts them: views that read two views that read two views … are soon more than a plan can hold.
    """

    catalog: Catalog
    functions: Functions
    allocator: ColPlaceholderAllocator
    ctes: Mapping[str, tuple[Query, Binder]]
    queries: Iterator[int]
    views: tuple[str, ...] = ()


def bind(
    statement: Query | InsertInto, catalog: Catalog, functions: Functions, allocator: ColPlaceholderAllocator
) -> DataSink:
    """The logical plan of a query or INSERT."""
    binder = Binder(catalog, functions, allocator, {}, count(1))
    query, sink = (statement.query, statement.sink) if isinstance(statement, InsertInto) else (statement, None)
    if isinstance(statement, InsertInto) and catalog.sinks.get(statement.sink) is None:
        hint = suggestion(statement.sink, catalog.sinks.names()) or "Declare it with CREATE SINK."
        raise PanesError("unknown-sink", f"there is no sink {statement.sink}", statement.span, hint)
    emit = query.emit if isinstance(query, SelectStmt) else None
    return DataSink(bind_query(query, binder, derived=False), sink, emit)


def bind_query(query: Query, binder: Binder, derived: bool) -> Plan:
    """A query over its inputs; `derived` if another query reads it."""
    if next(binder.queries) > MOST_QUERIES:
        message = f"with its views and WITH written out, this is more than {MOST_QUERIES} queries"
        raise PanesError("unsupported-clause", message, query.span, "Declare a part of it as a stream of its own.")
    ctes = dict(binder.ctes)
    for cte in query.ctes:
        ctes[cte.name.lower()] = (cte.query, replace(binder, ctes=dict(ctes)))
    inner = replace(binder, ctes=ctes)
    return _select(query, inner, derived) if isinstance(query, SelectStmt) else _spark(query, inner)


# ── FROM ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _relation(source: NamedRelation | SubQuery, binder: Binder) -> tuple[Plan, str | None]:
    if isinstance(source, SubQuery):
        return bind_query(source.query, binder, derived=True), source.alias
    return _named(source, binder), source.alias or source.name


def _named(source: NamedRelation, binder: Binder) -> Plan:
    name = source.name.lower()
    if name in binder.ctes:
        query, around = binder.ctes[name]
        return bind_query(query, around, derived=True)
    stream = binder.catalog.streams.get(name)
    if stream is None:
        view = binder.catalog.views.get(name)
        if view is not None:
            return _view(view.name, view.sql, source.span, binder)
        stream = binder.catalog.tables(source.name)
    if stream is None:
        known = [*binder.catalog.relations(), *binder.ctes]
        hint = suggestion(source.name, known) or "Declare it with CREATE STREAM or engine.stream."
        raise PanesError("unknown-stream", f"there is no stream or view {source.name}", source.span, hint)
    return DataSource(stream, stream.column_names)


def _view(name: str, sql: str, span: Span, binder: Binder) -> Plan:
    if name.lower() in binder.views:
        raise PanesError("stream-options", f"the view {name} reads itself", span)
    query = parse_query_text(Source(sql, f"view {name}"), binder.functions, binder.allocator)
    return bind_query(query, replace(binder, ctes={}, views=(*binder.views, name.lower())), derived=True)


def _spark(query: SparkStmt, binder: Binder) -> Plan:
    inputs = tuple((table.name, _named(table, binder)) for table in query.tables)
    known = [traits(plan) for _, plan in inputs]
    if any(one.streaming for one in known) and query.clauses:
        clause, span = query.clauses[0]
        raise PanesError("unsupported-clause", f"{clause} on a stream", span, foreign_hint(clause))
    if any(one.changelog for one in known):
        hint = "Over a changelog there are WHERE, projections and OVER windows."
        raise PanesError("changelog-not-supported", "Spark would take a changelog's rows for facts", query.span, hint)
    columns = binder.catalog.analyze(query.sql)
    if columns is None and query.outputs is not None:
        columns = tuple(Column(name) for name in query.outputs)
    return SparkQuery(query.sql, inputs, columns, query.computed)


# ── SELECT ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _select(stmt: SelectStmt, binder: Binder, derived: bool) -> Plan:
    plan, alias = _relation(stmt.source, binder)
    if stmt.has_panes_construct and _joins_streams(plan):
        hint = "FROM takes one stream: join or unite the streams in Spark, and declare the result as a stream."
        raise PanesError("unsupported-clause", "this FROM reads several streams", stmt.source.span, hint)
    scope = scope_of(plan, alias)
    _check_changelog(stmt, scope)
    check = Checks(binder.functions, scope.type_of)

    plan, scope = _stateful(stmt, plan, scope, check)
    if stmt.where_condition is not None:
        condition = resolve(stmt.where_condition, scope)
        check.boolean(condition, "WHERE")
        plan = Filter(plan, conjuncts(condition))
    if stmt.window is not None:
        plan, scope = _windowed(stmt, plan, scope, check, binder, derived)
    else:
        scope = scope.with_aliases(_aliases(stmt, scope))
    plan, scope = _over(stmt, plan, scope, check)
    return Project(plan, _fields(stmt, scope, plan, binder, derived))


def _joins_streams(plan: Plan) -> bool:
    inputs = children(plan)
    return sum(traits(one).streaming for one in inputs) > 1 or any(_joins_streams(one) for one in inputs)


def _check_changelog(stmt: SelectStmt, scope: Scope) -> None:
    if not scope.traits.changelog:
        return
    what, span = None, None
    if stmt.window is not None:
        what, span = "a window", stmt.window_span
    elif stmt.stateful_mappings:
        call = next(iter(stmt.stateful_mappings.values()))
        what, span = f"the stateful call {call.name}", call.span
    if what is not None:
        hint = "Over a changelog there are OVER windows with ORDER BY, WHERE and projections."
        raise PanesError("changelog-not-supported", f"{what} over a changelog", span, hint)


def _stateful(stmt: SelectStmt, plan: Plan, scope: Scope, check: Checks) -> tuple[Plan, Scope]:
    calls: list[Computed] = []
    scope = scope.adding(list(stmt.stateful_mappings))  # inner calls come first, so each finds those it reads
    for name, call in stmt.stateful_mappings.items():
        resolved = resolve_call(call, scope)
        check.call(resolved)
        calls.append(Computed(name, resolved))
    return (StatefulFunction(plan, tuple(calls)) if calls else plan), scope


def _aliases(stmt: SelectStmt, scope: Scope) -> dict[str, Expr]:
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


def _windowed(
    stmt: SelectStmt, plan: Plan, scope: Scope, check: Checks, binder: Binder, derived: bool
) -> tuple[Plan, Scope]:
    """The window, and unless its rows come out as they are, the aggregation over it."""
    assert stmt.window is not None
    kind = _window_kind(stmt.window, scope, check)
    bounds = _bounds(stmt, kind, binder, read_on=derived or bool(stmt.over_mappings))
    named = tuple(Computed(name, call) for name, call in bounds.items())
    aliases = _aliases(stmt, scope)
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


def _bounds(stmt: SelectStmt, kind: windows.WindowKind, binder: Binder, read_on: bool) -> dict[str, Call]:
    """The bounds that the query names; where something reads on, a time window's end too, for it is the time there."""
    bounds = dict(stmt.bound_mappings)
    if read_on and isinstance(kind, windows.TimeWindow) and all(one.name != "window_end" for one in bounds.values()):
        bounds[binder.allocator.allocate()] = Call("window_end", span=stmt.window_span)
    return bounds


def _is_raw(stmt: SelectStmt) -> bool:
    """Whether the window's rows come out: no aggregate, and the window alone in GROUP BY or `SELECT *`."""
    if stmt.aggregate_mappings:
        return False
    return not stmt.group_by_exprs or any(isinstance(field, Star) for field in stmt.select_fields)


def _window_kind(kind: windows.WindowKind, scope: Scope, check: Checks) -> windows.WindowKind:
    match kind:
        case windows.Window.Count():
            return replace(kind, partition_by=_resolved(kind.partition_by, scope))
        case windows.Window.Sliding():
            when = resolve(kind.when, scope) if kind.when is not None else None
            if when is not None:
                check.boolean(when, "WHEN")
            return replace(kind, partition_by=_resolved(kind.partition_by, scope), when=when)
        case windows.Window.State():
            opened, emit = resolve(kind.open, scope), resolve(kind.emit, scope)
            check.boolean(opened, "the open condition", "window-arguments")
            check.boolean(emit, "the emit condition", "window-arguments")
            return replace(kind, open=opened, emit=emit, partition_by=_resolved(kind.partition_by, scope))
        case _:
            return kind


def _resolved(exprs: Iterable[Expr], scope: Scope) -> tuple[Expr, ...]:
    return tuple(resolve(expr, scope) for expr in exprs)


def _keys(stmt: SelectStmt, kind: windows.WindowKind, scope: Scope, binder: Binder) -> tuple[Field, ...]:
    """Group keys, then the window's partition keys; a key that is a column keeps its name, as it was declared."""
    scope = scope.adding([*stmt.bound_mappings, *stmt.aggregate_mappings, *stmt.over_mappings])
    exprs: list[Expr] = []
    for written in stmt.group_by_exprs:
        expr = bare(resolve(_ordinal(written, stmt), scope))
        _refuse_computed_key(expr, written, stmt)
        exprs.append(expr)
    if isinstance(kind, windows.Window.Count | windows.Window.Sliding | windows.Window.State):
        exprs += kind.partition_by
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


@dataclass(frozen=True)
class Grouped:
    """Names after grouping: keys, bounds and aggregates; keys by their expressions."""

    scope: Scope
    keys: tuple[Field, ...]
    computed: Sequence[str]
    aliases: Mapping[str, Expr]

    def resolve(self, expr: Expr) -> Expr:
        resolved = put_keys(resolve(expr, self._after), self.keys)
        check_grouped(resolved, self._known)
        return resolved

    @cached_property
    def _after(self) -> Scope:
        return self.scope.adding(self.computed).with_aliases(self.aliases)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(name.lower() for name in (*(key.name for key in self.keys), *self.computed))


@dataclass(frozen=True)
class GroupedScope(Scope):
    """The scope after an aggregation."""

    grouped: Grouped | None = None


def _in(expr: Expr, scope: Scope) -> Expr:
    """Resolve in a scope, grouped or not."""
    if isinstance(scope, GroupedScope) and scope.grouped is not None:
        return scope.grouped.resolve(expr)
    return resolve(expr, scope)


# ── OVER, QUALIFY, the SELECT list ────────────────────────────────────────────────────────────────────────────────


def _over(stmt: SelectStmt, plan: Plan, scope: Scope, check: Checks) -> tuple[Plan, Scope]:
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
        condition = _in(stmt.qualify, scope)
        check.boolean(condition, "QUALIFY")
        plan = Filter(plan, conjuncts(condition))
    return plan, scope


def _over_call(call: Call, scope: Scope) -> Call:
    over = call.over
    assert over is not None
    order = tuple(OrderKey(_in(key.expr, scope), key.descending, key.nulls_first) for key in over.order_by)
    return replace(
        call,
        args=tuple(_in(arg, scope) for arg in call.args),
        filter=_in(call.filter, scope) if call.filter is not None else None,
        over=replace(over, partition_by=tuple(_in(e, scope) for e in over.partition_by), order_by=order),
    )


def _fields(stmt: SelectStmt, scope: Scope, plan: Plan, binder: Binder, derived: bool) -> tuple[Field, ...]:
    fields: list[Field] = []
    for item in stmt.select_fields:
        if isinstance(item, Star):
            fields += _star(item, scope)
        else:
            fields.append(Field(_in(item.expr, scope), item.name))
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
    return [Field(_in(column_expr(name, star.span), scope), name) for name in names]


@dataclass(frozen=True)
class Checks:
    """What the compiler itself must know of expressions."""

    functions: Functions
    type_of: TypeOf

    def boolean(self, condition: Expr, what: str, code: str = "not-boolean") -> None:
        check_boolean(condition, what, self.type_of, code)

    def call(self, call: Call) -> None:
        """Conditions of a call are Booleans, and everything in it parses."""
        for condition in (call.filter, call.over.when if call.over else None):
            if condition is not None:
                self.boolean(condition, "the condition")
        function = (
            (self.functions.stateful.get(call.name) if call.over and not call.over.order_by else None)
            or self.functions.over.get(call.name)
            or self.functions.aggregates.get(call.name)
        )
        if function is None:
            return
        for index, arg in enumerate(call.args):
            if function.signature.params and function.signature.param(index).takes == Takes.CONDITION:
                self.boolean(arg, f"an argument of {call.name}", "function-arguments")
