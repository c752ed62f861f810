"""Tree → logical plan: names are looked up, conditions checked, and each clause becomes its node."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from panes.catalog import Catalog, Column
from panes.errors import PanesError, suggestion
from panes.functions import Functions
from panes.logical.bind_output import bind_fields, bind_over
from panes.logical.bind_window import aliases_of, bind_window
from panes.logical.binder import Binder
from panes.logical.checks import Checks
from panes.logical.plan import (
    Computed,
    DataSink,
    DataSource,
    Filter,
    Plan,
    Project,
    SparkQuery,
    StatefulFunction,
    children,
    has_panes_construct,
)
from panes.logical.scope import Scope, resolve, resolve_call, scope_of
from panes.logical.spark_query import SparkReader
from panes.logical.traits import traits
from panes.logical.whole_rows import carrying
from panes.source import Span
from panes.sql.expr import conjuncts
from panes.sql.parser import parse_query_text
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.select import foreign_hint
from panes.sql.statements import (
    InsertInto,
    NamedRelation,
    Query,
    SelectStmt,
    SparkStmt,
    SubQuery,
)

MOST_QUERIES = 1_000
STATE_HINT = "Take Panes' windows for all of it, or write one result to a sink and declare that as a stream."


def bind(
    statement: Query | InsertInto, catalog: Catalog, functions: Functions, allocator: ColPlaceholderAllocator
) -> DataSink:
    """The logical plan of a query or INSERT."""
    query, sink = (statement.query, statement.sink) if isinstance(statement, InsertInto) else (statement, None)
    late = statement.late if isinstance(statement, InsertInto) else None
    binder = Binder(catalog, functions, allocator, {}, count(1), whole_rows=late is not None)
    if isinstance(statement, InsertInto):
        _check_sink(statement.sink, statement.span, catalog)
    if late is not None:
        _check_sink(late.sink, late.span, catalog)
        if late.sink.lower() == (sink or "").lower():
            hint = "Declare another sink for them: they have the columns of the stream."
            raise PanesError("unsupported-clause", "late rows beside the results in one sink", late.span, hint)
    emit = query.emit if isinstance(query, SelectStmt) else None
    return DataSink(bind_query(query, binder, derived=False), sink, emit, late)


def _check_sink(name: str, span: Span, catalog: Catalog) -> None:
    if catalog.sinks.get(name) is None:
        hint = suggestion(name, catalog.sinks.names()) or "Declare it with CREATE SINK."
        raise PanesError("unknown-sink", f"there is no sink {name}", span, hint)


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
    query = parse_query_text(binder.catalog.source(sql, f"view {name}"), binder.functions, binder.allocator)
    return bind_query(query, replace(binder, ctes={}, views=(*binder.views, name.lower())), derived=True)


def _spark(query: SparkStmt, binder: Binder) -> Plan:
    inputs = tuple((table.name, _named(table, binder)) for table in query.tables)
    known = [traits(plan) for _, plan in inputs]
    if any(one.streaming for one in known) and query.clauses:
        clause, span = query.clauses[0]
        raise PanesError("unsupported-clause", f"{clause} on a stream", span, foreign_hint(clause))
    if any(one.changelog for one in known):
        hint = "Over a changelog there are WHERE, projections and OVER windows."
        raise PanesError(
            "changelog-not-supported", "Spark would count every change of a changelog as a row", query.span, hint
        )
    by_name = {name.lower(): traits(plan) for name, plan in inputs}
    reader = SparkReader(by_name, query.tokens)
    keeps_state = reader.keeps_state(query.tree)
    if keeps_state and any(has_panes_construct(plan) for _, plan in inputs):
        raise PanesError("unsupported-clause", "Spark's own state over a result of Panes", query.span, STATE_HINT)
    outputs = reader.outputs(query.tree)
    if outputs is None:
        return SparkQuery(query.sql, query.template, inputs, None, (), keeps_state)
    origins = tuple((one.name.lower(), one.origin) for one in outputs if one.origin is not None)
    types = {one: by_name[origin.input].type_of(origin.column) for one, origin in origins}
    columns = tuple(Column(one.name, types.get(one.name.lower())) for one in outputs)
    plan = SparkQuery(query.sql, query.template, inputs, columns, origins, keeps_state)
    return replace(plan, template=carrying(query, reader)) if binder.whole_rows and _may_be_late(plan) else plan


def _may_be_late(plan: SparkQuery) -> bool:
    """Whether rows of a stream come through Spark's part, with their time, to a first operator above it."""
    known = traits(plan)
    return known.streaming and known.time is not None and not has_panes_construct(plan)


# ── SELECT ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _select(stmt: SelectStmt, binder: Binder, derived: bool) -> Plan:
    plan, alias = _relation(stmt.source, binder)
    if stmt.has_panes_construct and _spark_keeps_state(plan):
        raise PanesError("unsupported-clause", "a result of Panes over Spark's own state", stmt.source.span, STATE_HINT)
    if stmt.has_panes_construct and _joins_streams(plan):
        hint = "FROM takes one stream: join or unite the streams in Spark, and declare the result as a stream."
        raise PanesError("unsupported-clause", "this FROM reads several streams", stmt.source.span, hint)
    scope = scope_of(plan, alias)
    _check_changelog(stmt, scope)
    check = Checks(binder.functions, scope.type_of)

    plan, scope = bind_stateful(stmt, plan, scope, check)
    if stmt.where_condition is not None:
        condition = resolve(stmt.where_condition, scope)
        check.boolean(condition, "WHERE")
        plan = Filter(plan, conjuncts(condition))
    if stmt.window is not None:
        plan, scope = bind_window(stmt, plan, scope, check, binder, derived)
    else:
        scope = scope.with_aliases(aliases_of(stmt, scope))
    plan, scope = bind_over(stmt, plan, scope, check)
    return Project(plan, bind_fields(stmt, scope, plan, binder, derived))


def _spark_keeps_state(plan: Plan) -> bool:
    own = isinstance(plan, SparkQuery) and plan.keeps_state
    return own or any(_spark_keeps_state(one) for one in children(plan))


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


def bind_stateful(stmt: SelectStmt, plan: Plan, scope: Scope, check: Checks) -> tuple[Plan, Scope]:
    calls: list[Computed] = []
    scope = scope.adding(list(stmt.stateful_mappings))  # inner calls come first, so each finds those it reads
    for name, call in stmt.stateful_mappings.items():
        resolved = resolve_call(call, scope)
        check.call(resolved)
        calls.append(Computed(name, resolved))
    return (StatefulFunction(plan, tuple(calls)) if calls else plan), scope
