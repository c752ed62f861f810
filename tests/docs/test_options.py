"""Every option that the code knows stands on a page, and in an example that runs: of streams and of sinks, each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from panes.connectors.checks import CONNECTORS
from panes.connectors.options import Known
from panes.declare import OWN_OPTIONS
from panes.sql import parse
from panes.sql.statements import CreateSink, CreateStream

from .page_runner import examples_of

DOCS = Path(__file__).parents[2] / "docs"
STREAMS = {one.CONNECTOR: one.STREAM_OPTIONS for one in CONNECTORS if hasattr(one, "STREAM_OPTIONS")}
SINKS = {one.CONNECTOR: one.SINK_OPTIONS for one in CONNECTORS}
Declared = CreateStream | CreateSink


@cache
def declared_on(page: Path) -> tuple[Declared, ...]:
    """The streams and sinks of a page, without those that it says are refused."""
    examples = examples_of(page.read_text(encoding="utf-8"))
    runs = [
        one.block.text
        for one in examples
        if one.block.language == "sql" and not any(block.language == "error" for block in one.expected)
    ]
    return tuple(found for text in runs for found in parse(text) if isinstance(found, CreateStream | CreateSink))


def used_on(page: Path, connector: str, kind: type[Declared]) -> set[str]:
    """The options of the connector's streams, or sinks, on a page."""
    found = [one.options for one in declared_on(page) if isinstance(one, kind)]
    return {name for options in found if options.get("connector") == connector for name in options}


def named_on(page: Path) -> set[str]:
    """What the tables of a page say about options: those of WITH, by name, or how they begin."""
    text = page.read_text(encoding="utf-8")
    tables = re.findall(r"^\| option \|.*\n\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    cells = (row.split("|")[1] for table in tables for row in table.splitlines())
    return {name.rstrip("…") for cell in cells for name in re.findall("`([^`]+)`", cell)}


def kinds() -> Iterator[object]:
    for kind, known in ((CreateStream, STREAMS), (CreateSink, SINKS)):
        for connector, options in known.items():
            yield pytest.param(connector, kind, options, id=f"{connector}-{kind.__name__.removeprefix('Create')}")


@pytest.mark.parametrize(("connector", "kind", "known"), list(kinds()))
def test_every_option_of_a_connector_has_an_example(connector: str, kind: type[Declared], known: Known) -> None:
    page = DOCS / "reference" / f"{connector}.md"
    used = used_on(page, connector, kind)
    without = [name for name in known.names if name not in used]
    assert without + [prefix for prefix in known.prefixes if not any(one.startswith(prefix) for one in used)] == []
    assert {*known.names, *known.prefixes} - named_on(page) == set()


@pytest.mark.parametrize("connector", SINKS)
def test_a_page_names_no_option_that_is_not_there(connector: str) -> None:
    known = [one[connector] for one in (STREAMS, SINKS) if connector in one]
    names = {name for one in known for name in (*one.names, *one.prefixes)}
    assert named_on(DOCS / "reference" / f"{connector}.md") - names <= OWN_OPTIONS


def test_every_option_of_all_streams_has_an_example() -> None:
    pages = DOCS.glob("**/*.md")
    used = {
        name for page in pages for one in declared_on(page) if isinstance(one, CreateStream) for name in one.options
    }
    assert OWN_OPTIONS - used == set()
    assert OWN_OPTIONS - named_on(DOCS / "reference" / "statements.md") == set()
