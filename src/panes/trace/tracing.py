"""`trace`: a query is run with the origin of each row beside it, and what came out becomes a Trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from panes import catalog
from panes.catalog import Column
from panes.declare import declare
from panes.engine import Engine
from panes.testing.replay import Stream
from panes.trace.assemble import assemble
from panes.trace.model import Trace
from panes.trace.plans import Plans, plans_of
from panes.trace.runs import Runs, numbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FIRST = datetime(2024, 1, 1)


def trace(
    sql: str,
    streams: Mapping[str, Stream],
    *,
    flush: bool = True,
    spark: SparkSession | None = None,
    setup: Callable[[Engine], None] | None = None,
    shards: int = 1,
    clock: Sequence[str | datetime] = (),
) -> Trace:
    """What became of each row of scripted micro-batches.

    With one shard what comes out of a micro-batch is in one order, whatever the keys. Streams in arrival mode have a
    micro-batch a second, from 2024-01-01, unless `clock` has other times.
    """
    steps = max((len(stream.batches) for stream in streams.values()), default=0)
    arrival = any(stream.time is None for stream in streams.values()) and not clock
    times = [_FIRST + timedelta(seconds=step) for step in range(steps)] if arrival else list(clock)
    engine = knowing(Engine(spark), streams, setup)
    plans = plans_of(sql, engine)
    runs = Runs(sql, numbered(streams), engine.spark, setup, shards, times if plans.takes_clock else ())
    return traced(sql, engine, plans, runs, flush, times)


def traced(
    sql: str, engine: Engine, plans: Plans, runs: Runs, flush: bool, times: Sequence[str | datetime] = ()
) -> Trace:
    """What `runs` gives for the plans of a query, as a trace."""
    declared = {name: _declared(engine, name) for name in runs.streams}
    return assemble(sql, declared, runs.streams, plans, runs, flush, times)


def knowing(engine: Engine, streams: Mapping[str, Stream], setup: Callable[[Engine], None] | None = None) -> Engine:
    """An engine that knows the streams, as they are without numbers."""
    for name, stream in streams.items():
        fields = engine.spark.createDataFrame([], stream.schema).schema.fields
        columns = [Column(field.name, field.dataType.simpleString()) for field in fields]
        engine.catalog.streams.put(declare(name, columns, stream, streaming=True))
    if setup is not None:
        setup(engine)
    return engine


def _declared(engine: Engine, name: str) -> catalog.Stream:
    stream = engine.catalog.streams.get(name)
    assert stream is not None
    return stream
