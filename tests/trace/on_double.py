"""Traces on the double of Spark's runtime: Panes' own kernels, in a fraction of a second."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from queries.double.batches import Checkpoint, StreamingRun
from queries.double.engine import no_spark
from queries.double.frame import Frame, Session
from queries.double.nodes import Source
from queries.double.types import DataType, Schema

from panes import Engine
from panes.kernels.late_rows import CLOCK, LATE, ROW, WHOLE
from panes.logical.plan import DataSink
from panes.logical.rules import optimise
from panes.physical import plan as physical
from panes.physical.lower import lower
from panes.spark import chain
from panes.spark.build import Builder
from panes.testing import Stream
from panes.testing.replay import _plain
from panes.trace import Trace
from panes.trace.plans import plans_of
from panes.trace.runs import Out, Runs, Variant, numbered, rows_at_once
from panes.trace.tracing import knowing, traced
from panes.trace.values import micros_of


def trace_on_double(
    sql: str, streams: Mapping[str, Stream], flush: bool = True, setup: Callable[[Engine], None] | None = None
) -> Trace:
    session: Any = Session()
    engine = knowing(Engine(session), streams, setup)
    return traced(sql, engine, plans_of(sql, engine), OnDouble(sql, numbered(streams), None, None, 1, ()), flush)


def plain_on_double(sql: str, streams: Mapping[str, Stream]) -> Out:
    """What comes out of the plain query."""
    with no_spark():
        return _steps(lambda engine: engine.compile(sql).physical, streams, flush=True)


@dataclass(frozen=True)
class OnDouble(Runs):
    """Runs of variants on the double."""

    def run(self, variants: Mapping[str, Variant]) -> dict[str, Out]:
        with no_spark(), patch.object(chain, "_late_type", _late_type):
            return {name: self._run(one) for name, one in variants.items()}

    def _run(self, variant: Variant) -> Out:
        def plan(engine: Engine) -> physical.DataSink:
            done = optimise(variant.plan)
            assert isinstance(done, DataSink)
            return lower(done, engine.functions)

        return _steps(plan, rows_at_once(self.streams, variant), variant.flush)


def _late_type(projection: Any) -> DataType | None:
    """The type of late rows, without PySpark's classes."""
    types = {one.name: one.dataType for one in projection.below.schema.fields}
    if projection.placement.late_into is None:
        return types.get(LATE)
    return DataType(f"struct<{ROW}:{types[WHOLE].name},{CLOCK}:timestamp>")


def _steps(plan: Any, streams: Mapping[str, Stream], flush: bool) -> Out:
    session: Any = Session()
    engine = Engine(session, shards=1)
    schemas = {name: _schema(stream) for name, stream in streams.items()}
    for name, stream in streams.items():
        frame: Any = Frame(session, Source(name, schemas[name], True))
        engine.stream(name, frame, **stream.keywords())
    ended: Any = Frame(session, Source("panes_ended", Schema.of("ended boolean"), True))
    result: Any = Builder(session, engine.frames, 1, engine.functions, ended).build(plan(engine))
    run = StreamingRun(result, Checkpoint(), random.Random(0))
    count = max(len(stream.batches) for stream in streams.values())
    out: Out = []
    for step in range(count):
        rows = {name: [_table(schemas[name], stream, step)] for name, stream in streams.items()}
        out.append(_rows(result.schema, run.micro_batch(f"2030-01-01 00:{step:02}:00", **rows)))
    if flush:
        ends = run.micro_batch("2030-01-01 01:00:00", panes_ended=[pa.table({"ended": [True]})])
        out.append(_rows(result.schema, ends))
    return out


def _schema(stream: Stream) -> Schema:
    return Schema.of(f"_change_type string, {stream.schema}" if stream.changelog else stream.schema)


def _table(schema: Schema, stream: Stream, step: int) -> pa.Table:
    rows = stream.batches[step] if step < len(stream.batches) else ()
    kinds = {one.name: one.dataType.name for one in schema.fields}
    records = [
        {name: _value(value, kinds[name]) for name, value in zip(schema.names, row, strict=True)} for row in rows
    ]
    return pa.Table.from_pylist(records, schema.arrow)


def _value(value: Any, kind: str) -> Any:
    return micros_of(value) if kind.startswith("timestamp") and isinstance(value, str) else value


def _rows(schema: Schema, tables: list[pa.Table]) -> list[dict[str, Any]]:
    whole = pa.concat_tables([schema.arrow.empty_table(), *tables])
    return [_plain(row) for row in whole.to_pylist()]
