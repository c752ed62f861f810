"""The query that a case tests, with all that was declared before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from panes.catalog import Catalog, Sink, Stream, View
from panes.compile import Compiled
from panes.errors import PanesError, suggestion
from panes.functions import Functions
from panes.script import steps
from panes.source import Source
from panes.sql.variables import with_variables
from panes.testing.cases import Case
from panes.testing.inputs import CaseError
from panes.testing.markdown import Block


@dataclass(frozen=True)
class Query:
    """A query and what its names stand for."""

    text: str
    compiled: Compiled
    streams: Mapping[str, Stream]  # by lower-case name
    views: tuple[View, ...] = ()
    sinks: tuple[Sink, ...] = ()

    @classmethod
    def of(cls, compiled: Compiled, catalog: Catalog) -> Query:
        """A query as the catalog stands where it is written."""
        span = compiled.statement.span
        assert span is not None
        streams = {stream.name.lower(): stream for stream in catalog.streams}
        return cls(span.text, compiled, streams, tuple(catalog.views), tuple(catalog.sinks))


def query_of(case: Case, catalog: Catalog, functions: Functions, values: Mapping[str, str]) -> Query:
    """The query of a case; PanesError where its SQL is refused."""
    *before, own = case.sql
    for block in before:
        _declare(block, case, catalog, functions, values)
    found: dict[str, Query] = {}
    written = own.option("script")
    if written is not None:
        found = _queries(_script(case.path.parent / written, own), written, own, catalog, functions, values)
    in_block = _queries(own.text, "", own, catalog, functions, values, found)
    wanted = own.option("query")
    if wanted is not None:
        return _called(wanted, {**found, **in_block}, own)
    if in_block:
        return list(in_block.values())[-1]
    if len(found) == 1:
        return next(iter(found.values()))
    names = ", ".join(found)
    which = f"the script has the queries {names}: say query=NAME" if found else "there is no query here"
    raise CaseError(own.line, which)


def _declare(block: Block, case: Case, catalog: Catalog, functions: Functions, values: Mapping[str, str]) -> None:
    """What an earlier block declares; if one of its statements is refused, a case of its own says so."""
    written = block.option("script")
    texts = [_script(case.path.parent / written, block)] if written is not None else []
    try:
        for text in (*texts, block.text):
            _queries(text, written or "", block, catalog, functions, values)
    except PanesError:
        return


def _script(path: Path, block: Block) -> str:
    try:
        return path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise CaseError(block.line, f"cannot read {path}: {error.strerror}") from None


def _queries(
    text: str,
    name: str,
    block: Block,
    catalog: Catalog,
    functions: Functions,
    values: Mapping[str, str],
    before: Mapping[str, Query] | None = None,
) -> dict[str, Query]:
    """The queries of a text by the names that a run would give them."""
    script = with_variables(Source(text, name), {**values, **_values(block)})
    found: dict[str, Query] = {}
    try:
        for step in steps(script.text, catalog, functions, name):
            if isinstance(step, Compiled):
                found[_name(step, [*(before or ()), *found])] = Query.of(step, catalog)
    except PanesError as error:
        raise script.as_written(error) from None
    return found


def _values(block: Block) -> dict[str, str]:
    said = [one.partition("=") for one in block.options("set")]
    return {name: value for name, _, value in said}


def _name(step: Compiled, taken: list[str]) -> str:
    """As `panes run` calls it: `totals`, `totals-2`, `select-1`."""
    sink = step.physical.sink
    names = _numbered("select", 1) if sink is None else _numbered(sink, 0)
    return next(name for name in names if name not in taken)


def _numbered(word: str, first: int) -> Iterator[str]:
    number = first
    while True:
        yield word if number == 0 else f"{word}-{number}"
        number += 1 if number else 2


def _called(wanted: str, found: Mapping[str, Query], block: Block) -> Query:
    for name, query in found.items():
        if name.lower() == wanted.lower():
            return query
    raise CaseError(block.line, f"there is no query {wanted}. {suggestion(wanted, found) or ''}".strip())
