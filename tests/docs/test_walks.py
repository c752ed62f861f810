"""The walks through the code: their query is traced, and the files that they name and count are those that it crosses.

What Spark does is left to the double of `tests/queries`.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from queries.double.batches import Checkpoint, StreamingRun
from queries.double.engine import no_spark
from queries.double.frame import Frame, Session
from queries.double.nodes import Source
from queries.double.types import Schema

import panes
from panes import Engine
from panes.kernels.duck import connection
from panes.spark.shards import shard_ids
from panes.testing.declared import options_of
from panes.testing.inputs import Input

from .page_runner import input_of, play
from .test_pages import ROOT

ROOM = f"{Path(panes.__file__).parent}/"
WALKS = sorted(ROOT.glob("docs/internals/walk-*.md"))
OPTIMIZED = 1  # a flag of the code of functions, which modules and classes have not


@contextmanager
def crossed() -> Iterator[set[str]]:
    """The files of Panes in which any function is called."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & OPTIMIZED and code.co_filename.startswith(ROOM):
            found.add(code.co_filename.removeprefix(ROOM))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


@cache
def traced(page: Path) -> dict[str, set[str]]:
    """The files that the query of a page crosses, by heading, and those up to its physical plan."""
    (outcome,) = (one for one in play(page.read_text(encoding="utf-8")) if one.example.inputs)
    (block,) = outcome.example.inputs
    given, query = input_of(block, outcome), outcome.example.block.text
    known = {"_change_type": "string", **{column.name: column.type for column in given.stream.columns}}
    schema = Schema.of(", ".join(f"{name} {known[name]}" for name in given.columns))
    connection()  # a worker sets it up once, before its first row
    with no_spark():
        session: Any = Session()
        engine = Engine(session, shards=2)
        frame: Any = Frame(session, Source(given.stream.name, schema, True))
        engine.stream(given.stream.name, frame, **options_of(given.stream).keywords())
        engine.sql(query)  # imports what it needs, and functions that run then are not the query's
        shard_ids.cache_clear()
        with crossed() as planning:
            engine.compile(query)
        with crossed() as compiling:
            result: Any = engine.sql(query)
        run = StreamingRun(result, Checkpoint(), random.Random(0))
        with crossed() as running:
            for number, rows in enumerate(given.batches):
                run.micro_batch(f"2030-01-01 00:0{number}:00", **{given.stream.name: [_table(rows, given, schema)]})
    return {"Plans": planning, "Compile time": compiling, "Run time": running}


def _table(rows: tuple[tuple[str | None, ...], ...], given: Input, schema: Schema) -> pa.Table:
    columns = [_column([row[at] for row in rows], field.type) for at, field in enumerate(schema.arrow)]
    return pa.table(columns, schema=schema.arrow)


def _column(texts: list[str | None], type_: pa.DataType) -> pa.Array:
    cells = pa.array(texts, pa.string())
    if pa.types.is_timestamp(type_):
        return pc.assume_timezone(cells.cast(pa.timestamp("us")), "UTC").cast(type_)
    return cells.cast(type_)


def section_of(page: Path, heading: str) -> str:
    return page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def named(page: Path, heading: str) -> set[str]:
    """The files that stand in the tables of a section."""
    rows = re.findall(r"^\|.*$", section_of(page, heading), flags=re.MULTILINE)
    return {path for row in rows for path in re.findall(r"`([\w/]+\.py)`", row)}


def each(test: Callable[[Path, str], None]) -> Any:
    pages = pytest.mark.parametrize("page", WALKS, ids=lambda path: path.stem)
    return pages(pytest.mark.parametrize("heading", ["Compile time", "Run time"])(test))


@each
def test_a_walk_counts_the_files_that_its_query_crosses(page: Path, heading: str) -> None:
    counted = re.search(r"\*\*(\d+) files\*\*", section_of(page, heading))
    assert counted is not None and int(counted[1]) == len(traced(page)[heading])


@pytest.mark.parametrize("page", WALKS, ids=lambda path: path.stem)
def test_a_walk_counts_the_files_up_to_the_physical_plan(page: Path) -> None:
    assert f"Of these, {len(traced(page)['Plans'])} lead to the physical plan" in section_of(page, "Compile time")


@each
def test_a_walk_names_no_file_that_its_query_does_not_cross(page: Path, heading: str) -> None:
    assert named(page, heading) - traced(page)[heading] == set()


def test_the_first_walk_names_every_file_of_the_compiler() -> None:
    page = ROOT / "docs/internals/walk-tumbling-sum.md"
    assert traced(page)["Compile time"] - named(page, "Compile time") == set()


@pytest.mark.parametrize("page", WALKS, ids=lambda path: path.stem)
def test_a_walk_names_every_file_that_a_row_crosses(page: Path) -> None:
    assert traced(page)["Run time"] - named(page, "Run time") == set()


@pytest.mark.parametrize("page", [*WALKS, ROOT / "docs/internals/state.md"], ids=lambda path: path.stem)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named_ = re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))
    assert [path for path in named_ if not (Path(ROOM) / path).exists() and not (ROOT / path).exists()] == []
