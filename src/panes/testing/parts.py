"""A query over scripted streams, as a DataFrame that reads files, and the files of its micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, DataType, LongType, TimestampType

from panes.catalog import heartbeats
from panes.engine import Engine
from panes.physical.chain import reads_through_spark
from panes.physical.plan import DataSink
from panes.spark.build import Builder
from panes.spark.pack import CONTROL, NOW, STARTED
from panes.spark.refusals import underlined_in, whole
from panes.testing.declared import DeclaredStream, Stream
from panes.testing.row_files import publish, write_rows

STREAMS, CONTROL_FOLDER = "streams", "control"


@dataclass
class Part:
    """A query, its streams, and how many shards it has; `clock` has the time of each micro-batch, if it is given.

    `plan` makes the plan to run of an engine that has the streams; by default it is that of `sql`.
    """

    sql: str
    streams: Mapping[str, Stream]
    shards: int | None = None
    setup: Callable[[Engine], None] | None = None
    clock: Sequence[str | datetime] = ()
    plan: Callable[[Engine], DataSink] | None = None
    fields: dict[str, list[tuple[str, DataType]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.clock and len(self.clock) != self.count:
            raise ValueError(f"clock has {len(self.clock)} times for {self.count} micro-batches")

    @property
    def count(self) -> int:
        """How many micro-batches there are."""
        return max((len(stream.batches) for stream in self.streams.values()), default=0)

    def folders(self, folder: Path) -> None:
        """Make the folders that its streams are read from."""
        (folder / CONTROL_FOLDER).mkdir(parents=True)
        for name in self.streams:
            (folder / STREAMS / name).mkdir(parents=True)

    def frame(self, spark: SparkSession | None, folder: Path) -> DataFrame:
        """Its result; it is compiled anew at each start, as a user's program would."""
        engine = Engine(spark, shards=self.shards)
        for name, stream in self.streams.items():
            self._declare(engine, name, stream, folder / STREAMS / name)
        if self.setup is not None:
            self.setup(engine)
        ended = engine.spark.readStream.schema("ended boolean").json(str(folder / CONTROL_FOLDER))
        beats = {} if self.clock else heartbeats(engine.catalog.streams)
        builder = Builder(engine.spark, engine.frames, engine.shards, engine.functions, ended, beats)
        plan = self.plan(engine) if self.plan is not None else engine.compile(self.sql).physical
        if self.clock and reads_through_spark(plan):
            raise ValueError("clock= does not reach through a part of the query that Spark runs")
        with underlined_in([whole(self.sql)]):
            return builder.build(plan)

    def _declare(self, engine: Engine, name: str, stream: Stream, folder: Path) -> None:
        schema = f"_change_type string, {stream.schema}" if stream.changelog else stream.schema
        scripted = f", {NOW} timestamp, {STARTED} bigint, {CONTROL} boolean" if self.scripts(stream) else ""
        reader = engine.spark.readStream.schema(schema + scripted)
        df = reader.option("maxFilesPerTrigger", 1).option("mode", "FAILFAST").json(str(folder))
        own = df.drop(NOW, STARTED, CONTROL)
        self.fields[name] = [(one.name, one.dataType) for one in own.schema.fields]
        if isinstance(stream, DeclaredStream):
            engine.catalog.streams.put(stream.declared)
            df = stream.computed(df)
        else:
            engine.stream(name, own, **stream.keywords())
        engine.frames[name.lower()] = df

    def scripts(self, stream: Stream) -> bool:
        """Whether the times of the stream's micro-batches are given."""
        return bool(self.clock) and (stream.time is None or stream.idle_timeout is not None)

    def write(self, folder: Path, number: int, started: int) -> None:
        """A micro-batch as files, in a run that began with another; one without rows still brings its time."""
        for name, stream in self.streams.items():
            rows = stream.batches[number] if number < len(stream.batches) else []
            fields = self.fields[name]
            if self.scripts(stream):
                now, first = self.clock[number], _micros(self.clock[started])
                fields = [*fields, (NOW, TimestampType()), (STARTED, LongType()), (CONTROL, BooleanType())]
                beat = (*[None] * len(self.fields[name]), now, first, None)
                rows = [(*row, now, first, False) for row in rows] or [beat]
            if rows or number < len(stream.batches):
                write_rows(folder / STREAMS / name, number, rows, fields)

    def end(self, folder: Path) -> None:
        """The end of the input."""
        publish(folder / CONTROL_FOLDER / "ended.json", '{"ended": true}')


def _micros(moment: str | datetime) -> int:
    """Microseconds since 1970; a time without a zone is UTC."""
    given = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    zoned = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
