"""A script as one types it: its streams, its queries, and the first error with its place. No Spark is needed for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from panes.catalog import Catalog, Sink, Stream, View
from panes.compile import Compiled
from panes.errors import PanesError
from panes.functions import Functions
from panes.physical import plan as physical
from panes.physical.plan import children
from panes.script import Explanation, steps


@dataclass(frozen=True)
class Query:
    """A query, and the views and sinks that it can name where it stands."""

    text: str
    line: int
    reads: tuple[str, ...]  # streams, in lower case
    views: tuple[View, ...] = ()
    sinks: tuple[Sink, ...] = ()


@dataclass(frozen=True)
class Script:
    """What was understood of a text: all that stands before its first error."""

    text: str
    streams: tuple[Stream, ...]
    queries: tuple[Query, ...]
    words: tuple[str, ...] = ()
    error: PanesError | None = None

    def stream(self, name: str) -> Stream | None:
        return next((one for one in self.streams if one.name.lower() == name.lower()), None)


def script_of(text: str) -> Script:
    """What a text says, as far as that is understood."""
    catalog, functions = Catalog(), Functions()
    queries: list[Query] = []
    error = None
    try:
        for step in steps(text, catalog, functions):
            compiled = step.compiled if isinstance(step, Explanation) else step
            if isinstance(compiled, Compiled):
                queries.append(_query(compiled, catalog))
        if not queries and text.strip():
            hint = "Write SELECT … FROM stream GROUP BY …"
            error = PanesError("parse-error", "the script has no query yet", None, hint)
    except PanesError as found:
        error = found
    names = [*(name for stream in catalog.streams for name in stream.column_names), *catalog.relations()]
    return Script(text, tuple(catalog.streams), tuple(queries), tuple(dict.fromkeys(names)), error)


def _query(compiled: Compiled, catalog: Catalog) -> Query:
    span = compiled.statement.span
    assert span is not None
    reads = tuple(dict.fromkeys(_read(compiled.physical)))
    return Query(span.text, span.line, reads, tuple(catalog.views), tuple(catalog.sinks))


def _read(plan: physical.Plan) -> Iterator[str]:
    if isinstance(plan, physical.DataSource):
        yield plan.stream.lower()
    for child in children(plan):
        yield from _read(child)


def place_of(error: PanesError, text: str) -> tuple[int, int] | None:
    """Where an error stands in a text; None where it has no place, or one in another text, such as a view's."""
    span = error.span
    if span is None:
        return None
    if span.source.text == text:
        return span.start, span.end
    at = text.find(span.source.text) if span.source.text else -1  # one statement of it, as it was run
    return (at + span.start, at + span.end) if at >= 0 else None
