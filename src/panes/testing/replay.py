"""`replay`: a query over scripted micro-batches, on real Structured Streaming."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from panes.catalog import heartbeats
from panes.engine import Engine
from panes.kernels.changelog.changes import BEFORE, CHANGE, DELETE
from panes.options import StreamOptions
from panes.physical.chain import reads_through_spark
from panes.physical.plan import DataSink
from panes.spark.pack import CONTROL, NOW, STARTED
from panes.spark.progress import counters_of
from panes.spark.refusals import underlined_in, whole
from panes.spark.slow_start import MOST_SLOW_STARTS, was_too_slow

Row = dict[str, Any]


@dataclass(frozen=True)
class Stream(StreamOptions):
    """A scripted stream: rows in schema order, one inner list per micro-batch. Times without a zone are UTC.

    Its other options are those of `engine.stream`.
    """

    schema: str
    batches: Sequence[Sequence[Sequence[Any]]] = ()


@dataclass(frozen=True)
class Replay:
    """What came out. `batches` has one list per scripted micro-batch, and one for the flush if there was one."""

    batches: list[list[Row]]
    progress: list[Any] = field(repr=False)
    schemas: list[str] = field(repr=False)  # one for each micro-batch that Spark ran

    @property
    def rows(self) -> list[Row]:
        """All rows that came out."""
        return [row for batch in self.batches for row in batch]

    @property
    def table(self) -> list[Row]:
        """The multiset that the output adds up to: of a changelog, what its changes leave."""
        return table_of(self.rows)

    def counter(self, name: str) -> int:
        """The sum of a counter over all progress reports."""
        return sum(counters_of(progress).get(name, 0) for progress in self.progress)


def table_of(rows: Sequence[Row]) -> list[Row]:
    """What rows add up to; those of a changelog are inserted and deleted as their change type says."""
    kept: list[Row] = []
    for row in rows:
        values = {name: value for name, value in row.items() if name != CHANGE}
        if row.get(CHANGE) in (DELETE, BEFORE):
            kept.remove(values)
        else:
            kept.append(values)
    return kept


def replay(
    sql: str,
    *,
    flush: bool = True,
    restart_after: Sequence[int] = (),
    shards: int | None = None,
    clock: Sequence[str | datetime] = (),
    spark: SparkSession | None = None,
    setup: Callable[[Engine], None] | None = None,
    **streams: Stream,
) -> Replay:
    """Run a query over scripted micro-batches, each with the no-data micro-batches that it causes.

    `flush=False` leaves the end of the input out; `restart_after=[1]` stops and restarts from the checkpoint after
    micro-batch 1; `clock` sets the micro-batch timestamps of streams in arrival mode and of those with an idle_timeout;
    `setup` is called with every engine before the query is compiled.

    >>> from panes.testing import Stream, replay
    >>> out = replay(
    ...     "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k",
    ...     t=Stream(
    ...         "ts timestamp, k string, v int",
    ...         time="ts",
    ...         watermark="0 seconds",
    ...         batches=[[("2024-01-01 00:00:01", "a", 1)], [("2024-01-01 00:00:12", "a", 2)]],
    ...     ),
    ... )
    >>> out.batches
    [[], [{'k': 'a', 's': 1}], [{'k': 'a', 's': 2}]]
    """

    def compiled(engine: Engine) -> DataSink:
        return engine.compile(sql).physical

    return replay_plan(
        sql,
        compiled,
        streams,
        flush=flush,
        restart_after=restart_after,
        shards=shards,
        clock=clock,
        spark=spark,
        setup=setup,
    )


def replay_plan(
    sql: str,
    plan: Callable[[Engine], DataSink],
    streams: Mapping[str, Stream],
    *,
    flush: bool = True,
    restart_after: Sequence[int] = (),
    shards: int | None = None,
    clock: Sequence[str | datetime] = (),
    spark: SparkSession | None = None,
    setup: Callable[[Engine], None] | None = None,
) -> Replay:
    """A replay of what `plan` makes of an engine that has the streams; `sql` is the text that errors underline."""
    folder = Path(tempfile.mkdtemp(prefix="panes-replay-"))
    try:
        return _Run(sql, plan, streams, folder, spark, shards, setup, clock).run(flush, frozenset(restart_after))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class _Outputs:
    """What came out of each micro-batch.

    It does not know the query: Java holds what it calls, and a query that holds it in turn would never go.
    """

    rows: dict[int, list[Row]] = field(default_factory=dict)
    schemas: list[str] = field(default_factory=list)

    def collect(self, df: DataFrame, batch: int) -> None:
        self.schemas.append(df.schema.simpleString())
        self.rows[batch] = [_plain(row) for row in df.toArrow().to_pylist()]

    def take(self) -> list[Row]:
        """What came out since the last call."""
        taken = [row for batch in sorted(self.rows) for row in self.rows[batch]]
        self.rows.clear()
        return taken


@dataclass
class _Run:
    sql: str
    plan: Callable[[Engine], DataSink]
    streams: Mapping[str, Stream]
    folder: Path
    spark: SparkSession | None
    shards: int | None
    setup: Callable[[Engine], None] | None
    clock: Sequence[str | datetime]
    outputs: _Outputs = field(default_factory=_Outputs)
    progress: list[Any] = field(default_factory=list)
    started: int = 0  # the first micro-batch of this run
    query: StreamingQuery = field(init=False)

    def run(self, flush: bool, restarts: frozenset[int]) -> Replay:
        count = max((len(stream.batches) for stream in self.streams.values()), default=0)
        if self.clock and len(self.clock) != count:
            raise ValueError(f"clock has {len(self.clock)} times for {count} micro-batches")
        control = self.folder / "control"
        for name in ("control", *self.streams):
            (self.folder / name).mkdir()
        batches: list[list[Row]] = []
        self.query = self._start()
        try:
            for number in range(count):
                for name in self.streams:
                    self._write(name, number)
                batches.append(self._output())
                if number in restarts:
                    self._stop()
                    self.started = min(number + 1, count - 1)
                    self.query = self._start()
            if flush:
                _publish(control / "ended.json", '{"ended": true}')
                batches.append(self._output())
        finally:
            self._stop()
        return Replay(batches, self.progress, self.outputs.schemas)

    def _start(self) -> StreamingQuery:
        from panes.spark.build import Builder

        engine = Engine(self.spark, shards=self.shards)
        session = engine.spark
        self.fields: dict[str, list[tuple[str, DataType]]] = {}
        for name, stream in self.streams.items():
            schema = f"_change_type string, {stream.schema}" if stream.changelog else stream.schema
            scripted = f", {NOW} timestamp, {STARTED} bigint, {CONTROL} boolean" if self.scripts(stream) else ""
            reader = (
                session.readStream.schema(schema + scripted).option("maxFilesPerTrigger", 1).option("mode", "FAILFAST")
            )
            df = reader.json(str(self.folder / name))
            own = df.drop(NOW, STARTED, CONTROL)
            self.fields[name] = [(one.name, one.dataType) for one in own.schema.fields]
            engine.stream(name, own, **stream.keywords())
            engine.frames[name.lower()] = df
        if self.setup is not None:
            self.setup(engine)
        ended = session.readStream.schema("ended boolean").json(str(self.folder / "control"))
        beats = {} if self.clock else heartbeats(engine.catalog.streams)
        builder = Builder(session, engine.frames, engine.shards, engine.functions, ended, beats)
        plan = self.plan(engine)
        if self.clock and reads_through_spark(plan):
            raise ValueError("clock= does not reach through a part of the query that Spark runs")
        with underlined_in([whole(self.sql)]):
            result = builder.build(plan)
        writer = result.writeStream.foreachBatch(self.outputs.collect).outputMode("append")
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def scripts(self, stream: Stream) -> bool:
        """Whether the times of the stream's micro-batches are given."""
        return bool(self.clock) and (stream.time is None or stream.idle_timeout is not None)

    def _write(self, name: str, number: int) -> None:
        """A micro-batch of a stream as a file; one without rows still brings its time."""
        stream = self.streams[name]
        rows = stream.batches[number] if number < len(stream.batches) else []
        fields = self.fields[name]
        if self.scripts(stream):
            now, started = self.clock[number], _micros(self.clock[self.started])
            fields = [*fields, (NOW, TimestampType()), (STARTED, LongType()), (CONTROL, BooleanType())]
            beat = (*[None] * len(self.fields[name]), now, started, None)
            rows = [(*row, now, started, False) for row in rows] or [beat]
        if rows or number < len(stream.batches):
            _write(self.folder / name, number, rows, fields)

    def _output(self) -> list[Row]:
        """What came out since the last call."""
        self._process()
        self._note()
        return self.outputs.take()

    def _process(self) -> None:
        """Run until there is nothing more to read; a query whose Python was too slow to start is started again."""
        slow_starts = 0
        while True:
            try:
                self.query.processAllAvailable()
                return
            except StreamingQueryException as failure:
                slow_starts += 1
                if slow_starts > MOST_SLOW_STARTS or not was_too_slow(self.query, failure):
                    raise
                self.query = self._start()

    def _stop(self) -> None:
        self._note()
        self.query.stop()

    def _note(self) -> None:
        """Keep the progress reports: Spark itself keeps only the last hundred."""
        seen = {(one.runId, one.batchId) for one in self.progress}
        self.progress += [one for one in self.query.recentProgress if (one.runId, one.batchId) not in seen]


def _write(folder: Path, number: int, rows: Sequence[Sequence[Any]], fields: Sequence[tuple[str, DataType]]) -> None:
    lines = []
    for row in rows:
        if len(row) != len(fields):
            raise ValueError(f"a row has {len(row)} values for {len(fields)} columns: {row!r}")
        values = {name: _encoded(value, type_) for (name, type_), value in zip(fields, row, strict=True)}
        lines.append(json.dumps({name: value for name, value in values.items() if value is not None}, default=str))
    _publish(folder / f"{number:06}.json", "\n".join(lines))


def _publish(path: Path, text: str) -> None:
    """A file that Spark's file source sees only when it is complete."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text + "\n", encoding="utf-8")
    hidden.rename(path)


def _encoded(value: Any, type_: DataType) -> Any:
    """A value as Spark's JSON reader takes it. A struct is a dictionary, or its values in order."""
    if value is None:
        return None
    match type_:
        case TimestampType() | TimestampNTZType():
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
            zoned = isinstance(type_, TimestampType) and moment.tzinfo is None
            return (moment.replace(tzinfo=UTC) if zoned else moment).isoformat()
        case StructType(fields=fields):
            values = [value.get(one.name) for one in fields] if isinstance(value, dict) else value
            return {one.name: _encoded(each, one.dataType) for one, each in zip(fields, values, strict=True)}
        case ArrayType(elementType=inner):
            return [_encoded(one, inner) for one in value]
        case MapType(valueType=inner):
            return {key: _encoded(one, inner) for key, one in value.items()}
        case _:
            return value.isoformat() if isinstance(value, date) else value


def _micros(moment: str | datetime) -> int:
    """Microseconds since 1970; a time without a zone is UTC."""
    given = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    zoned = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _plain(row: Row) -> Row:
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    """Times as naive UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, list):
        return [_plain_value(one) for one in value]
    if isinstance(value, dict):
        return _plain(value)
    return value
