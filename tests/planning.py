"""Streams of every kind to plan queries over, and short ways from SQL to plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from panes.catalog import Catalog, Column, Sink, Stream, View
from panes.compile import Compiled, compile_query
from panes.declare import declare
from panes.errors import PanesError
from panes.functions import Functions
from panes.logical import plan as logical
from panes.logical.bind import bind
from panes.options import StreamOptions
from panes.physical import plan as physical
from panes.source import Source
from panes.sql.parser import allocator, only_part, parse_statement

COLUMNS = (
    Column("ts", "timestamp"),
    Column("k", "string"),
    Column("a", "int"),
    Column("b", "int"),
    Column("v", "double"),
    Column("ok", "boolean"),
    Column("s", "struct<x:int,y:int>"),
)
STATIC = Stream("dim", (Column("k", "string"), Column("name", "string")), streaming=False)


def static_table(name: str) -> Stream | None:
    return STATIC if name.lower() == "dim" else None


def catalog(*views: tuple[str, str], state_ttl: str | None = None) -> Catalog:
    """`t` has event time, `arrivals` has none; `files` and `rows` are the same as batches; `changes` is a changelog."""
    known = Catalog(tables=static_table)
    for stream in (
        declare(
            "t",
            COLUMNS,
            StreamOptions(time="ts", watermark="10 seconds", key=["k"], state_ttl=state_ttl),
            streaming=True,
        ),
        declare("arrivals", COLUMNS, streaming=True),
        declare("files", COLUMNS, StreamOptions(time="ts", key=["k"]), streaming=False),
        declare("rows", COLUMNS, streaming=False),
        declare("changes", COLUMNS, StreamOptions(changelog=True, key=["k"], sequence="b"), streaming=True),
        declare("odd", [Column("a b", "int"), Column("x`y", "int")], streaming=True),
    ):
        known.streams.put(stream)
    for name, sql in views:
        known.views.put(View(name, sql))
    known.sinks.put(Sink("out", {"connector": "console"}))
    return known


def compiled(sql: str, known: Catalog | None = None) -> Compiled:
    return compile_query(sql, known or catalog(), Functions())


def bound(sql: str, known: Catalog | None = None) -> logical.DataSink:
    """The logical plan before any rule."""
    known, functions = known or catalog(), Functions()
    names = allocator("\n".join([sql, *(view.sql for view in known.views)]), known.column_names())
    statement: Any = parse_statement(only_part(Source(sql)), functions, names)
    return bind(statement, known, functions, names)


def selected_from(sink: logical.DataSink) -> logical.Plan:
    """What the SELECT list of a query reads."""
    assert isinstance(sink.input, logical.Project)
    return sink.input.input


def walk(plan: Any, children: Callable[[Any], tuple[Any, ...]]) -> Iterator[Any]:
    yield plan
    for child in children(plan):
        yield from walk(child, children)


def logical_nodes(plan: logical.Plan) -> list[Any]:
    """Every node, top to bottom."""
    return list(walk(plan, logical.children))


def physical_nodes(plan: physical.Plan) -> list[Any]:
    return list(walk(plan, physical.children))


def node_names(nodes: list[Any]) -> list[str]:
    return [type(node).__name__ for node in nodes]


def operators(sql: str, known: Catalog | None = None) -> list[Any]:
    """The physical operators of a query's features, last evaluated first."""
    return [node for node in stateful(sql, known) if not isinstance(node, physical.Normalize)]


def stateful(sql: str, known: Catalog | None = None) -> list[Any]:
    """The physical operators that keep state."""
    return [node for node in physical_nodes(compiled(sql, known).physical) if hasattr(node, "placement")]


def fields(plan: logical.Plan) -> list[str]:
    """The SELECT list of the outermost Project, as `expression -> name`."""
    project = next(node for node in logical_nodes(plan) if isinstance(node, logical.Project))
    return [f"{one.expr.sql} -> {one.name}" for one in project.fields if not one.hidden]


def refused(sql: str, known: Catalog | None = None) -> str:
    """The code with which a query is refused."""
    with pytest.raises(PanesError) as caught:
        compiled(sql, known)
    return caught.value.code
