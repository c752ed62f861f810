"""What the blocks of a case expect, beside what its query gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import SparkSession

from panes.engine import Engine
from panes.errors import CODES, PanesError
from panes.testing.cases import Case, Way, way_of
from panes.testing.differences import rows_differ
from panes.testing.inputs import CaseError, Input, input_of, table_of_block
from panes.testing.markdown import Block
from panes.testing.queries import Query, query_of
from panes.testing.replay import Replay
from panes.testing.run_case import Runnable, check_inputs, rows_as_frame, run_stream
from panes.testing.sameness import Row
from panes.testing.setup import Setup
from panes.testing.tables import NO_ROWS, read_tables, text_of_rows


@dataclass(frozen=True)
class Mismatch:
    """A block that says something else than what is so: the text that would be right, and how they differ."""

    block: Block
    actual: str
    difference: str


@dataclass(frozen=True)
class Options:
    """What the command line says for all cases."""

    values: Mapping[str, str]
    setups: tuple[Setup, ...] = ()


NO_OPTIONS = Options({})


@contextmanager
def prepared(case: Case, options: Options, setups: Sequence[Setup], spark: SparkSession) -> Iterator[Runnable]:
    """A case's query with its rows, while its tables are there; PanesError where its SQL is refused."""
    tables = [table_of_block(block) for block in case.tables]
    engine = Engine(spark)
    registered = (*options.setups, *setups)
    try:
        for table in tables:
            rows_as_frame(spark, table.schema, table.rows).createOrReplaceTempView(table.name)
        for setup in registered:
            setup(engine)
        query = query_of(case, engine.catalog, engine.functions, options.values)
        inputs = {block.words[1].lower(): _input(block, query) for block in case.inputs}
        check_inputs(query.compiled.physical, query, inputs, case.line)
        yield Runnable(query, inputs, tuple(case.clock), registered)
    finally:
        for table in tables:
            spark.catalog.dropTempView(table.name)


def _input(block: Block, query: Query) -> Input:
    stream = query.streams.get(block.words[1].lower())
    if stream is None:
        raise CaseError(block.line, f"no stream {block.words[1]} is declared above")
    return input_of(block, stream)


def mismatches(case: Case, options: Options, setups: Sequence[Setup], spark: SparkSession) -> list[Mismatch]:
    """All blocks of a case that do not say what is so; PanesError where no error is expected."""
    try:
        with prepared(case, options, setups, spark) as ready:
            return _mismatches(case, ready, spark)
    except PanesError as error:
        if not case.refused:
            raise
        blocks = [block for block in case.expected if block.language == "error"]
        return [one for block in blocks for one in _other_error(block, error)]


def _mismatches(case: Case, ready: Runnable, spark: SparkSession) -> list[Mismatch]:
    runs: dict[Way, Replay] = {}
    found: list[Mismatch] = []
    for block in case.expected:
        way = way_of(block)
        if way not in runs:
            batches = {name: given.rows() for name, given in ready.streams.items()}
            runs[way] = run_stream(ready, batches, way, spark)
        if block.language == "error":
            found.append(Mismatch(block, block.text, "an error is expected, but the query does not fail"))
        else:
            found += _mismatch(block, actual_text(block, runs[way]), inexact_columns(runs[way].rows))
    return found


def actual_text(block: Block, done: Replay) -> str:
    """What a block would have to say."""
    if block.language == "counters":
        names = [str(name) for name in read_tables(block.text)[0][0]] if block.text.strip() else ["late_rows"]
        return text_of_rows(names, [[[done.counter(name) for name in names]]])
    if "table" in block.words:
        return rows_text([done.table])
    if "late" in block.words:
        return rows_text(done.late)
    return rows_text(done.batches)


def rows_text(batches: Sequence[Sequence[Mapping[str, object]]]) -> str:
    """Rows by micro-batch, below their names; where there are none at all, a line that says so."""
    columns = next((list(row) for batch in batches for row in batch), [])
    if not columns:
        return NO_ROWS
    return text_of_rows(columns, [[[row[name] for name in columns] for row in batch] for batch in batches])


def inexact_columns(rows: Sequence[Row]) -> frozenset[str]:
    """The columns that hold numbers that may be written with other digits."""
    return frozenset(name for row in rows for name, value in row.items() if isinstance(value, float | Decimal))


def _mismatch(block: Block, actual: str, inexact: frozenset[str]) -> list[Mismatch]:
    difference = rows_differ(block.text, actual, inexact)
    return [Mismatch(block, actual, difference)] if difference is not None else []


def _other_error(block: Block, error: PanesError) -> list[Mismatch]:
    wanted, text = block.text.strip(), str(error)
    if wanted == text or (wanted in CODES and wanted == error.code):
        return []
    shown = [*(f"- {line}" for line in wanted.split("\n")), *(f"+ {line}" for line in text.split("\n"))]
    return [Mismatch(block, text, "\n".join(shown))]
