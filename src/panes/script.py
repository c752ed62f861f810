"""A script's statements one after the other: those that declare and list are carried out here, the rest is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, assert_never

from panes.catalog import Catalog, Column, Shelf, Sink, Stream, View
from panes.compile import Compiled, compile_statement
from panes.connectors.checks import check_sink
from panes.connectors.malformed import dead_letter_sink
from panes.declare import declare_from, underlined
from panes.errors import PanesError, suggestion
from panes.functions import Functions
from panes.logical.traits import traits
from panes.options import read_options, shown_options
from panes.physical import plan as physical
from panes.sql.duration import spelled
from panes.sql.parser import allocator, deep, only_part, parse_query_text, parse_statement, script_parts
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.statements import (
    CreateSink,
    CreateStream,
    CreateView,
    Describe,
    Drop,
    Explain,
    ExplainFormat,
    InsertInto,
    ObjectKind,
    SelectStmt,
    Show,
    SparkStmt,
)
from panes.sql.tokens import Token

SINK_OPTIONS = ("changelog",)  # of CREATE SINK … WITH that are Panes'


@dataclass(frozen=True)
class Done:
    """A declaration that was carried out."""

    message: str


@dataclass(frozen=True)
class Listing:
    """The answer of SHOW and DESCRIBE."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def documents(self) -> list[dict[str, str]]:
        """The rows as plain data."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Explanation:
    """The answer of EXPLAIN, and the query that it is about."""

    text: str
    compiled: Compiled


Step: TypeAlias = Done | Listing | Explanation | Compiled


def steps(sql: str, catalog: Catalog, functions: Functions, name: str = "") -> Iterator[Step]:
    """Each statement's outcome, in order; declarations change `catalog` as the script goes on."""
    source = catalog.source(sql, name)
    for part in deep(source, lambda: script_parts(source)):
        yield deep(source, partial(_step, part, sql, catalog, functions))


def only_step(sql: str, catalog: Catalog, functions: Functions) -> Step:
    """The outcome of the only statement of a text."""
    source = catalog.source(sql)
    return deep(source, lambda: _step(only_part(source), sql, catalog, functions))


def _step(part: tuple[Token, ...], sql: str, catalog: Catalog, functions: Functions) -> Step:
    names = allocator("\n".join([sql, *(view.sql for view in catalog.views)]), catalog.column_names())
    statement = parse_statement(part, functions, names)
    match statement:
        case SelectStmt() | SparkStmt():
            return compile_statement(statement, catalog, functions, names)
        case InsertInto(span=span):
            compiled = compile_statement(statement, catalog, functions, names)
            with underlined(span):
                _check_dead_letters(compiled.physical, catalog)
            return compiled
        case Explain(statement=inner, format=format_):
            compiled = compile_statement(inner, catalog, functions, names)
            text = compiled.explain_json() if format_ == ExplainFormat.JSON else compiled.explain()
            return Explanation(text, compiled)
        case CreateView():
            compile_statement(statement.query, catalog, functions, names)
            return _create(statement, catalog)
        case CreateStream() | CreateSink():
            return _create(statement, catalog)
        case Drop():
            return _drop(statement, catalog)
        case Show(kind=kind):
            return _show(kind, catalog)
        case Describe():
            return _describe(statement, catalog, functions, names)
        case _:
            assert_never(statement)


def _check_dead_letters(plan: physical.Plan, catalog: Catalog) -> None:
    """Refuse an INSERT that reads a stream whose dead letters have no sink."""
    stream = catalog.streams.get(plan.stream) if isinstance(plan, physical.DataSource) else None
    if stream is not None and stream.dead_letter is not None:
        dead_letter_sink(stream, catalog)
    for child in physical.children(plan):
        _check_dead_letters(child, catalog)


def _create(statement: CreateStream | CreateView | CreateSink, catalog: Catalog) -> Done:
    name = statement.name
    taken = catalog.sinks.get(name) if isinstance(statement, CreateSink) else _relation(name, catalog)
    if taken is not None:
        if statement.if_not_exists:
            return Done(f"{name} exists already")
        if not statement.or_replace:
            hint = "Take another name, or CREATE OR REPLACE."
            raise PanesError("duplicate-name", f"there is a {name} already", statement.span, hint)
        if type(taken).__name__ != type(statement).__name__.removeprefix("Create"):
            kind = type(taken).__name__.lower()
            raise PanesError(
                "duplicate-name", f"{name} is a {kind}", statement.span, f"DROP {kind.upper()} {name} first."
            )
    match statement:
        case CreateStream():
            catalog.streams.put(declare_from(statement))
            return Done(f"stream {name} created")
        case CreateView(sql=sql):
            catalog.views.put(View(name, sql))
            return Done(f"view {name} created")
        case CreateSink(options=given):
            with underlined(statement.span):
                options = read_options(given, SINK_OPTIONS)
            if "connector" not in options:
                hint = "WITH (connector = 'console')"
                raise PanesError("stream-options", f"the sink {name} has no connector", statement.span, hint)
            sink = Sink(name, options)
            with underlined(statement.span):
                check_sink(sink)
            catalog.sinks.put(sink)
            return Done(f"sink {name} created")
        case _:
            assert_never(statement)


def described(column: Column) -> str:
    """The type of a column, and where it comes from.

    >>> described(Column("ts", "timestamp", computed="to_timestamp(at)"))
    'timestamp AS to_timestamp(at)'
    """
    computed = f" AS {column.computed}" if column.computed is not None else ""
    metadata = f" METADATA FROM '{column.metadata}'" if column.metadata is not None else ""
    return f"{column.type or ''}{computed}{metadata}"


def _relation(name: str, catalog: Catalog) -> Stream | View | None:
    return catalog.streams.get(name) or catalog.views.get(name)


def _drop(statement: Drop, catalog: Catalog) -> Done:
    name = statement.name
    shelves: dict[ObjectKind, Shelf[Stream] | Shelf[View] | Shelf[Sink]] = {
        ObjectKind.STREAM: catalog.streams,
        ObjectKind.VIEW: catalog.views,
        ObjectKind.SINK: catalog.sinks,
    }
    shelf = shelves[statement.kind]
    kind = statement.kind.value.lower()
    if shelf.get(name) is None and statement.if_exists:
        return Done(f"there is no {kind} {name}")
    try:
        shelf.drop(name)
    except PanesError as error:
        raise PanesError(error.code, error.message, statement.span, error.hint) from None
    return Done(f"{kind} {name} dropped")


def _show(kind: ObjectKind, catalog: Catalog) -> Listing:
    match kind:
        case ObjectKind.STREAM:
            rows = [
                (
                    one.name,
                    ", ".join(f"{c.name} {c.type}" for c in one.columns),
                    one.time or "",
                    ", ".join(one.key),
                )
                for one in catalog.streams
            ]
            return Listing(("stream", "columns", "time", "key"), tuple(rows))
        case ObjectKind.VIEW:
            return Listing(("view", "query"), tuple((one.name, one.sql) for one in catalog.views))
        case ObjectKind.SINK:
            return Listing(("sink", "connector"), tuple((one.name, one.options["connector"]) for one in catalog.sinks))
        case _:
            assert_never(kind)


def _describe(statement: Describe, catalog: Catalog, functions: Functions, names: ColPlaceholderAllocator) -> Listing:
    name = statement.name
    stream = catalog.streams.get(name)
    if stream is not None:
        facts = {
            "time": stream.time,
            "watermark": f"{stream.time} - {spelled(stream.delay)}" if stream.delay is not None else None,
            "key": ", ".join(stream.key) or None,
            "changelog": "yes" if stream.changelog else None,
            "sequence": stream.sequence,
            "state_ttl": spelled(stream.state_ttl) if stream.state_ttl is not None else None,
            "heartbeat": spelled(stream.heartbeat) if stream.heartbeat is not None else None,
            "idle_timeout": spelled(stream.idle_timeout) if stream.idle_timeout is not None else None,
            "on_inconsistency": stream.on_inconsistency if stream.changelog else None,
            "preimages": stream.preimages if stream.preimages != "maybe" else None,
            "on_error": stream.on_error if stream.on_error != "fail" else None,
            "dead_letter": stream.dead_letter,
            **shown_options(stream.options, catalog.redacted),
        }
        columns = [(column.name, described(column)) for column in stream.columns]
        return Listing(("column", "type"), (*columns, *((f"({k})", v) for k, v in facts.items() if v is not None)))
    view = catalog.views.get(name)
    if view is not None:
        query = parse_query_text(catalog.source(view.sql, f"view {view.name}"), functions, names)
        compiled = compile_statement(query, catalog, functions, names)
        known = traits(compiled.logical).columns or ()
        return Listing(("column", "type"), tuple((column.name, column.type or "") for column in known))
    sink = catalog.sinks.get(name)
    if sink is not None:
        return Listing(("option", "value"), tuple(shown_options(sink.options, catalog.redacted).items()))
    hint = suggestion(name, [*catalog.relations(), *catalog.sinks.names()])
    raise PanesError("unknown-stream", f"there is no stream, view or sink {name}", statement.span, hint)
