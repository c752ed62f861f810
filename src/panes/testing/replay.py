"""`replay`: a query over scripted micro-batches, on real Structured Streaming."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import BooleanType, DataType, LongType, TimestampType

from panes.catalog import heartbeats
from panes.engine import Engine
from panes.kernels.late_rows import CLOCK, LATE, ROW
from panes.physical.chain import reads_through_spark
from panes.physical.late_rows import WATERMARK
from panes.spark.pack import CONTROL, NOW, STARTED
from panes.spark.progress import counters_of
from panes.spark.refusals import underlined_in, whole
from panes.spark.slow_start import MOST_SLOW_STARTS, was_too_slow
from panes.testing.declared import DeclaredStream, Stream
from panes.testing.row_files import plain, publish, write_rows
from panes.testing.sameness import Row, table_of


@dataclass(frozen=True)
class Replay:
    """What came out. `batches` has one list per scripted micro-batch, and one for the flush if there was one.

    `late` has the late rows of an INSERT with LATE ROWS INTO, in as many lists.
    """

    batches: list[list[Row]]
    progress: list[Any] = field(repr=False)
    schemas: list[str] = field(repr=False)  # one for each micro-batch that Spark ran
    late: list[list[Row]] = field(default_factory=list, repr=False)
    columns: list[str] = field(default_factory=list, repr=False)

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


def replay(
    sql: str,
    *,
    flush: bool = True,
    restart_after: Sequence[int] = (),
    kill_in: Sequence[int] = (),
    shards: int | None = None,
    clock: Sequence[str | datetime] = (),
    spark: SparkSession | None = None,
    setup: Callable[[Engine], None] | None = None,
    **streams: Stream,
) -> Replay:
    """Run a query over scripted micro-batches, each with the no-data micro-batches that it causes.

    `flush=False` leaves the end of the input out; `restart_after=[1]` stops and restarts from the checkpoint after
    micro-batch 1; `kill_in=[1]` lets micro-batch 1 die when its output has been computed, and run again after a
    restart, so that its output counts once (the flush has the number behind the last one); `clock` sets the
    micro-batch timestamps of streams in arrival mode and of those with an idle_timeout; `setup` is called with every
    engine before the query is compiled.

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
    folder = Path(tempfile.mkdtemp(prefix="panes-replay-"))
    try:
        run = _Run(sql, streams, folder, spark, shards, setup, clock)
        return run.run(flush, frozenset(restart_after), frozenset(kill_in))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Killed(Exception):  # noqa: N818 - nothing is wrong with it
    """A micro-batch that dies because the test says so."""


def _is_no_kill(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], Killed)


logging.getLogger("py4j.clientserver").addFilter(_is_no_kill)  # it logs whatever a callback raises, with its stack


@dataclass
class _Outputs:
    """What came out of each micro-batch.

    It does not know the query: Java holds what it calls, and a query that holds it in turn would never go.
    """

    rows: dict[int, list[Row]] = field(default_factory=dict)
    schemas: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)
    kill: bool = False  # the next micro-batch is to die
    killed: bool = False

    def collect(self, df: DataFrame, batch: int) -> None:
        self.schemas.append(df.schema.simpleString())
        self.columns = [name for name in df.columns if name != LATE]
        rows = [plain(row) for row in df.toArrow().to_pylist()]
        if self.kill:
            self.kill, self.killed = False, True
            raise Killed
        self.rows[batch] = rows

    def take(self) -> tuple[list[Row], list[Row]]:
        """What came out since the last call, and the late rows."""
        taken = [row for batch in sorted(self.rows) for row in self.rows[batch]]
        self.rows.clear()
        late = [{**row[LATE][ROW], WATERMARK: row[LATE][CLOCK]} for row in taken if row.get(LATE) is not None]
        kept = [row for row in taken if row.get(LATE) is None]
        return [{name: value for name, value in row.items() if name != LATE} for row in kept], late


@dataclass
class _Run:
    sql: str
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

    def run(self, flush: bool, restarts: frozenset[int], kills: frozenset[int]) -> Replay:
        count = max((len(stream.batches) for stream in self.streams.values()), default=0)
        if self.clock and len(self.clock) != count:
            raise ValueError(f"clock has {len(self.clock)} times for {count} micro-batches")
        control = self.folder / "control"
        for name in ("control", *self.streams):
            (self.folder / name).mkdir()
        outputs: list[tuple[list[Row], list[Row]]] = []
        self.query = self._start()
        try:
            for number in range(count):
                for name in self.streams:
                    self._write(name, number)
                outputs.append(self._output(number in kills))
                if number in restarts:
                    self._stop()
                    self.started = min(number + 1, count - 1)
                    self.query = self._start()
            if flush:
                publish(control / "ended.json", '{"ended": true}')
                outputs.append(self._output(count in kills))
        finally:
            self._stop()
        (batches, late) = ([one[part] for one in outputs] for part in (0, 1))
        return Replay(batches, self.progress, self.outputs.schemas, late, self.outputs.columns)

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
            if isinstance(stream, DeclaredStream):
                engine.catalog.streams.put(stream.declared)
                df = stream.computed(df)
            else:
                engine.stream(name, own, **stream.keywords())
            engine.frames[name.lower()] = df
        if self.setup is not None:
            self.setup(engine)
        ended = session.readStream.schema("ended boolean").json(str(self.folder / "control"))
        beats = {} if self.clock else heartbeats(engine.catalog.streams)
        builder = Builder(session, engine.frames, engine.shards, engine.functions, ended, beats)
        plan = engine.compile(self.sql).physical
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
            write_rows(self.folder / name, number, rows, fields)

    def _output(self, kill: bool) -> tuple[list[Row], list[Row]]:
        """What came out since the last call, and late rows; `kill` lets a micro-batch die on the way."""
        self.outputs.kill = kill
        self._process()
        self._note()
        self.outputs.kill = False
        return self.outputs.take()

    def _process(self) -> None:
        """Run until there is nothing more to read; a query whose Python was too slow to start is started again."""
        slow_starts = 0
        while True:
            try:
                self.query.processAllAvailable()
                return
            except StreamingQueryException as failure:
                if self.outputs.killed:
                    self.outputs.killed = False
                    self._note()
                    self.query = self._start()
                    continue
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


def _micros(moment: str | datetime) -> int:
    """Microseconds since 1970; a time without a zone is UTC."""
    given = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    zoned = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
