"""Runs a query over the rows of a case: on real Structured Streaming, and as one batch."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from panes import catalog
from panes.engine import Engine
from panes.kernels.late_rows import LATE
from panes.physical import plan as physical
from panes.spark.build import Builder
from panes.spark.failures import failure_of
from panes.spark.refusals import underlined_in, whole
from panes.spark.sources import with_computed
from panes.sql.statements import InsertInto
from panes.testing.cases import Way
from panes.testing.declared import DeclaredStream, options_of
from panes.testing.inputs import CaseError, Input, schema_of
from panes.testing.parts import Part
from panes.testing.queries import Query
from panes.testing.replay import Replay, replayed
from panes.testing.row_files import plain, write_rows
from panes.testing.sameness import Row
from panes.testing.setup import Setup

Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Runnable:
    """A query with all that it needs to run, but for the rows of its streams."""

    query: Query
    inputs: Mapping[str, Input]  # by the stream's lower-case name
    clock: tuple[str, ...] = ()
    setups: tuple[Setup, ...] = ()

    @property
    def streams(self) -> dict[str, Input]:
        """The inputs that are streams; the others are tables of a connector."""
        return {name: one for name, one in self.inputs.items() if one.stream.streaming}

    def prepare(self, engine: Engine) -> None:
        """What the query names besides its streams."""
        for setup in self.setups:
            setup(engine)
        for name, given in self.inputs.items():
            if not given.stream.streaming:
                engine.catalog.streams.put(given.stream)
                rows = [row for batch in given.rows() for row in batch]
                frame = rows_as_frame(engine.spark, schema_of(given.stored()), rows)
                engine.frames[name] = with_computed(frame, given.stream)
        for view in self.query.views:
            engine.catalog.views.put(view)
        for sink in self.query.sinks:
            engine.catalog.sinks.put(sink)


def check_inputs(plan: physical.Plan, query: Query, inputs: Mapping[str, Input], line: int) -> None:
    """Refuse a case that gives no rows for a stream that is read."""
    if isinstance(plan, physical.DataSource):
        name = plan.stream.lower()
        if name in query.streams and name not in inputs:
            text = f"nothing says which rows {plan.stream} has: add an input {plan.stream} block, if only with columns"
            raise CaseError(line, text)
    for child in physical.children(plan):
        check_inputs(child, query, inputs, line)


def run_stream(
    case: Runnable,
    batches: Mapping[str, Sequence[Rows]],
    way: Way,
    spark: SparkSession | None = None,
) -> Replay:
    """What comes out of a case's query over these micro-batches; what fails in it is raised as an error of Panes."""
    streams = {name: declared_stream(given, batches[name], bool(case.clock)) for name, given in case.streams.items()}
    part = Part(case.query.text, streams, way.shards, case.prepare, case.clock)
    try:
        return replayed(part, spark, way.flush, way.restarts, way.kills)
    except StreamingQueryException as error:
        failed = failure_of(error, case.query.compiled)
        raise (failed if failed is not None else error) from None


def declared_stream(given: Input, batches: Sequence[Rows], has_clock: bool) -> DeclaredStream:
    """The stream as SQL declares it, without dead letters; without a clock none is idle, and no time passes."""
    stream = replace(
        given.stream,
        heartbeat=None,
        idle_timeout=given.stream.idle_timeout if has_clock else None,
        dead_letter=None,
        on_error="fail",
    )
    schema = schema_of([column for column in given.stored() if column.name != catalog.CHANGE_TYPE])
    return DeclaredStream(schema, batches, declared=stream, **options_of(stream).keywords())


def run_batch(case: Runnable, rows: Mapping[str, Rows], spark: SparkSession | None = None) -> list[Row]:
    """The result of a case's query over all rows at once."""
    engine = Engine(spark)
    for name, given in case.streams.items():
        stream = replace(given.stream, streaming=False, heartbeat=None, idle_timeout=None, dead_letter=None)
        engine.catalog.streams.put(replace(stream, on_error="fail"))
        frame = rows_as_frame(engine.spark, schema_of(given.stored()), rows[name])
        engine.frames[name] = with_computed(frame, stream)
    case.prepare(engine)
    builder = Builder(engine.spark, engine.frames, engine.shards, engine.functions)
    text = _without_sink(case.query)
    with underlined_in([whole(text)]):
        result = builder.build(engine.compile(text).physical)
    found = [plain(row) for row in result.toArrow().to_pylist()]
    return [{name: value for name, value in row.items() if name != LATE} for row in found]


def _without_sink(query: Query) -> str:
    """The text of a query; what an INSERT says of its sinks means nothing to a batch, in which no row is late."""
    statement = query.compiled.statement
    inner = statement.query if isinstance(statement, InsertInto) else statement
    assert inner.span is not None
    return inner.span.text


def rows_as_frame(spark: SparkSession, schema: str, rows: Rows) -> DataFrame:
    """Rows in one partition, in their order, with values as a scripted stream reads them."""
    with tempfile.TemporaryDirectory(prefix="panes-rows-") as folder:
        fields = [(one.name, one.dataType) for one in spark.createDataFrame([], schema).schema.fields]
        write_rows(Path(folder), 0, rows, fields)
        df = spark.read.schema(schema).option("mode", "FAILFAST").json(folder).coalesce(1)
        found = df.toArrow()
    return spark.createDataFrame(found, df.schema).coalesce(1)
