"""Panes on the double of Spark: a query over scripted micro-batches, or over a batch."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark import SparkFiles

from panes import Engine
from panes.catalog import View
from panes.kernels import parts
from panes.spark import operator
from panes.spark.build import Builder
from panes.spark.chunk_cache import chunk_cache

from .batches import Checkpoint, StreamingRun, whole
from .frame import Frame, Metric, Session
from .nodes import Source
from .types import Schema

Tables = Mapping[str, pa.Table]  # under its name, what a query joins with
Options = Mapping[str, Any]  # of Engine.stream
Views = Mapping[str, str]  # their texts, by name
NONE: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def no_spark() -> Iterator[None]:
    """Panes' calls that go to Spark directly go to the double; and a few rows are many to a kernel."""
    functions = SimpleNamespace(**dict.fromkeys(("sum", "min", "max"), Metric))
    with (
        tempfile.TemporaryDirectory(prefix="panes-double-") as folder,
        patch.object(operator, "functions", functions),
        patch.object(parts, "MOST_ROWS", 4),
        patch.object(SparkFiles, "_is_running_on_worker", True),
        patch.object(SparkFiles, "_root_directory", folder),
    ):
        chunk_cache.cache_clear()  # its folder is another one, here and afterwards
        try:
            yield
        finally:
            chunk_cache.cache_clear()


def _engine(tables: Tables, views: Views, shards: int) -> Engine:
    session = Session()
    engine = Engine(session, shards=shards)  # type: ignore[arg-type]
    for name, table in tables.items():
        Frame(session, Source(name, Schema.of_arrow(table.schema), False, table)).createOrReplaceTempView(name)
    for name, sql in views.items():
        engine.catalog.views.put(View(name, sql))
    return engine


def batch(sql: str, rows: pa.Table, options: Options, tables: Tables = NONE, views: Views = NONE) -> pa.Table:
    """The result of a query over all rows of the stream `t` at once."""
    engine = _engine(tables, views, 2)
    frame = Frame(engine.spark, Source("t", Schema.of_arrow(rows.schema), False, rows))  # type: ignore[arg-type]
    engine.stream("t", frame, **options)  # type: ignore[arg-type]
    return whole(engine.sql(sql))  # type: ignore[arg-type]


class Replayed:
    """A query over micro-batches of a stream `t`; `outputs` has what came out of each, the last being the flush."""

    def __init__(
        self,
        sql: str,
        schema: Schema,
        options: Options,
        shards: int,
        seed: int,
        tables: Tables = NONE,
        views: Views = NONE,
    ) -> None:
        self.sql, self.schema, self.options, self.tables, self.views = sql, schema, options, tables, views
        self.shards, self.pick = shards, random.Random(seed)
        self.checkpoint = Checkpoint()
        self.outputs: list[pa.Table] = []
        self.minutes = 0
        self.start()

    def start(self) -> None:
        """Also again, from the checkpoint."""
        engine = _engine(self.tables, self.views, self.shards)
        session: Any = engine.spark
        frame: Any = Frame(session, Source("t", self.schema, True))
        ended: Any = Frame(session, Source("panes_ended", Schema.of("ended boolean"), True))
        engine.stream("t", frame, **self.options)
        builder = Builder(session, engine.frames, engine.shards, engine.functions, ended)
        result: Any = builder.build(engine.compile(self.sql).physical)
        self.result = result
        self.run = StreamingRun(result, self.checkpoint, self.pick)

    def micro_batch(self, partitions: Sequence[pa.Table]) -> None:
        self._run(t=list(partitions))

    def flush(self) -> None:
        self._run(panes_ended=[pa.table({"ended": [True]})])

    def _run(self, **rows: list[pa.Table]) -> None:
        self.minutes += 1
        tables = self.run.micro_batch(f"2030-01-01 {self.minutes // 60:02}:{self.minutes % 60:02}:00", **rows)
        self.outputs.append(pa.concat_tables([self.result.schema.arrow.empty_table(), *tables]))

    def counter(self, name: str) -> int:
        return sum(one[name] for one in self.run.metrics.values())
