"""A script and rows for its streams → the trace of its last query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from panes import catalog
from panes.engine import Engine
from panes.errors import PanesError
from panes.functions import Functions
from panes.options import StreamOptions
from panes.script import steps
from panes.source import Source
from panes.sql.parser import script_parts
from panes.sql.tokens import Token, span_of
from panes.testing.replay import Stream
from panes.trace.given import Given, values_of
from panes.trace.model import Trace
from panes.trace.tracing import trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUERIES = ("SELECT", "WITH", "INSERT", "EXPLAIN", "FROM")


def trace_script(
    script: str, given: Mapping[str, Given], *, name: str = "", flush: bool = True, spark: SparkSession | None = None
) -> Trace:
    """The trace of the last query of a script, over these rows of its streams, by name."""
    query, streams, declare = prepared(script, given, name)
    return trace(query, streams, flush=flush, spark=spark, setup=declare)


def prepared(
    script: str, given: Mapping[str, Given], name: str = ""
) -> tuple[str, dict[str, Stream], Callable[[Engine], None]]:
    """The last query of a script, the streams that have rows, and what declares the rest to an engine."""
    parts = script_parts(Source(script, name))
    queries = [part for part in parts if _is_query(part)]
    if not queries:
        hint = "Write a SELECT or an INSERT as its last statement."
        raise PanesError("parse-error", "there is no query in this script", None, hint)
    before = [span_of(part).text for part in parts if not _is_query(part)]
    known = catalog.Catalog()
    for step in steps(";\n".join(before), known, Functions(), name):
        del step  # declarations take effect as they are gone through
    rows = {one.lower(): value for one, value in given.items()}
    _check_names(given, known)
    streams = {one.name: _scripted(one, rows[one.name.lower()]) for one in known.streams if one.name.lower() in rows}

    def declare(engine: Engine) -> None:
        for stream in known.streams:
            if stream.name not in streams:
                engine.catalog.streams.put(stream)
        for view in known.views:
            engine.catalog.views.put(view)

    return span_of(queries[-1]).text, streams, declare


def _is_query(part: tuple[Token, ...]) -> bool:
    return part[0].word in _QUERIES or part[0].text == "("


def _check_names(given: Mapping[str, Given], known: catalog.Catalog) -> None:
    for name in given:
        if known.streams.get(name) is None:
            hint = "Declare it with CREATE STREAM in the script."
            raise PanesError("unknown-stream", f"rows are given for {name}, which is no stream", None, hint)
    if not given:
        names = ", ".join(known.streams.names()) or "none"
        hint = f"Give them with --rows NAME=FILE. The streams are: {names}."
        raise PanesError("unknown-stream", "no rows are given", None, hint)


def _scripted(stream: catalog.Stream, given: Given) -> Stream:
    schema = ", ".join(f"`{column.name}` {column.type}" for column in stream.columns)
    options = StreamOptions(
        time=stream.time,
        watermark=_length(stream.delay),
        key=stream.key,
        changelog=stream.changelog,
        sequence=stream.sequence,
        state_ttl=_length(stream.state_ttl),
        on_inconsistency=stream.on_inconsistency,
        preimages=stream.preimages,
    )
    return Stream(schema, values_of(given, stream), **options.keywords())


def _length(microseconds: int | None) -> timedelta | None:
    return timedelta(microseconds=microseconds) if microseconds is not None else None
