"""Running a script: one streaming query and one checkpoint per INSERT, a report per micro-batch.

The checkpoint of a script, with a folder for each INSERT:

    1-totals/panes-query.json     whose state this is: see `record`
    1-totals/panes-lock           held while it runs
    1-totals/panes-control/       a second source of the query; a row in it says that the input has ended
    1-totals/spark/               Spark's checkpoint
    panes-ended.json              all INSERTs were flushed
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Catalog, Sink, Stream, heartbeats
from panes.compile import Compiled
from panes.connectors.kafka import CONNECTOR, check_loop, kafka_sink
from panes.errors import PanesError
from panes.functions import Functions
from panes.physical import plan as physical
from panes.physical.late_rows import WATERMARK
from panes.source import Span
from panes.spark.batch_writers import check_layout
from panes.spark.build import Builder
from panes.spark.failures import failure, refused_by_spark
from panes.spark.folders import Files, check_folders, folder
from panes.spark.heartbeat import NEVER
from panes.spark.kafka.sink import check_columns, check_result
from panes.spark.late_rows import write_both
from panes.spark.lock import locked
from panes.spark.news import News, listening
from panes.spark.progress import counters_of
from panes.spark.record import Record, began, check_record, read_record, spark_identity, write_record
from panes.spark.refusals import underlined_in
from panes.spark.session import check_checkpoint, shards_of
from panes.spark.sink_log import close_gaps
from panes.spark.sinks import check_connector, check_sink, check_unwritten, forgets, write, written_folder
from panes.spark.sources import declared, read_folder, streams_of

SEAL, CONTROL, ENDED = "panes-ended.json", "panes-control", "ended.json"
LOOK = 1.0  # seconds: a run is stopped within them, news or not


@dataclass(frozen=True)
class Insert:
    """An INSERT with what its names stood for when it was read, and the folder of its checkpoint."""

    compiled: Compiled
    sink: Sink
    streams: tuple[Stream, ...]
    views: tuple[Span, ...]
    folder: Path
    late: Sink | None = None  # the one of LATE ROWS INTO

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return (self.sink,) if self.late is None else (self.sink, self.late)

    @property
    def files(self) -> list[Files]:
        found = (read_folder(stream) for stream in self.streams)
        read = tuple(path for path in found if path is not None)
        return [Files(sink.name, written_folder(sink), read) for sink in self.sinks]


def insert(compiled: Compiled, catalog: Catalog, checkpoint: Path, before: Sequence[Insert]) -> Insert:
    """The INSERT of a script; those of one sink are numbered, so that others may come and go."""
    sink = catalog.sinks.get(compiled.physical.sink or "")
    assert sink is not None
    number = 1 + sum(one.sink.name.lower() == sink.name.lower() for one in before)
    folder = checkpoint / f"{number}-{quote(sink.name.lower(), safe='')}"
    streams = streams_of(compiled.physical, catalog)
    late = catalog.sinks.get(compiled.physical.late) if compiled.physical.late is not None else None
    return Insert(compiled, sink, streams, tuple(catalog.view_texts()), folder, late)


@dataclass(frozen=True)
class Report:
    """What one micro-batch of one INSERT did."""

    sink: str
    batch: int
    seconds: float
    counters: Mapping[str, int]


@dataclass(frozen=True)
class Run:
    """How a script's INSERTs are run: `shards` is None where none was asked for, `stopped` says when to stop."""

    spark: SparkSession
    frames: Mapping[str, DataFrame]
    shards: int | None
    functions: Functions
    once: bool
    flush: bool
    report: Callable[[Report], None]
    stopped: Callable[[], bool]


def run(inserts: Sequence[Insert], checkpoint: Path, how: Run) -> None:
    """Run all INSERTs to their end; everything that can be refused is refused before the first one starts."""
    check_seal(checkpoint)
    check_folders([files for one in inserts for files in one.files])
    flush = how.flush or any(flush_began(one.folder) for one in inserts)
    how = replace(how, once=how.once or flush, flush=flush)
    ready = [_ready(one, how) for one in inserts]
    with ExitStack() as stack:
        for one in ready:
            stack.enter_context(locked(one.insert.folder))
            write_record(one.insert.folder, one.record)
            _close_gaps(one.insert, how.spark)
        ended = _run_ready(ready, how)
    if ended and flush:
        _seal(checkpoint)


def _run_ready(ready: Sequence[Ready], how: Run) -> bool:
    """Whether all have come to their end; else the run was stopped."""
    running: list[Running] = []
    try:
        with listening(how.spark) as news:
            for one in ready:
                running.append(one.start(how.once, how.flush))  # noqa: PERF401 - a failed start stops those before it
            ended = wait(running, how, news)
            if ended and how.flush:
                for now in running:
                    now.end_input()
                ended = wait(running, how, news)
    except BaseException as error:
        try:
            stop(running)
        except Exception as another:
            error.add_note(f"A query could not be stopped either: {another!r}")
        raise
    stop(running)
    return ended


def stop(running: Sequence[Running]) -> None:
    """Stop all queries; where one cannot be stopped, that is told when the others have been."""
    with ExitStack() as stack:
        for one in running:
            stack.callback(one.query.stop)


@dataclass(frozen=True)
class Ready:
    """An INSERT that can be started."""

    insert: Insert
    writer: DataStreamWriter
    record: Record

    def start(self, once: bool, flush: bool) -> Running:
        drains = flush and any(forgets(sink) for sink in self.insert.sinks)
        with refused_by_spark("stream-options", f"the sink {self.insert.sink.name} cannot be written"):
            writer = self.writer.trigger(availableNow=True) if once and not drains else self.writer
            return Running(self, writer.start(), drains)


@dataclass
class Running:
    """A query of a script. One that `drains` stays up when it has read all: its sink would forget."""

    ready: Ready
    query: StreamingQuery
    drains: bool
    looked_at: str = ""  # when the last progress report was made that was looked at
    seen: int = -1  # the last micro-batch that was reported

    @property
    def sink(self) -> str:
        return self.ready.insert.sink.name

    def is_done(self) -> bool:
        if self.drains and self.query.isActive:
            with suppress(StreamingQueryException):  # the query keeps it
                self.query.processAllAvailable()
            return True
        return not self.query.isActive

    def end_input(self) -> None:
        """Write the control row, and let the query take it in."""
        _publish(self.ready.insert.folder / CONTROL / ENDED, '{"ended": true}\n')
        if not self.drains:
            self.query = self.ready.start(once=True, flush=True).query

    def reports(self) -> Iterator[Report]:
        """The micro-batches since the last call; empty triggers are left out."""
        last = self.query.lastProgress
        if last is None or last.timestamp == self.looked_at:
            return  # all of them would be a hundred times as much to read
        self.looked_at = last.timestamp
        for progress in self.query.recentProgress:
            if progress.batchId > self.seen and "addBatch" in progress.durationMs:
                self.seen = progress.batchId
                seconds = progress.durationMs.get("triggerExecution", 0) / 1000
                yield Report(self.sink, progress.batchId, seconds, counters_of(progress))


def _ready(one: Insert, how: Run) -> Ready:
    """Build the query of an INSERT and compare it with what its checkpoint says."""
    for sink in one.sinks:
        check_sink(sink, sink is one.sink and one.compiled.physical.changelog)
        check_loop(sink, one.streams)
        check_connector(sink, how.spark)
        check_layout(sink, by_batch=one.late is not None)
    if one.sink.options["connector"] == CONNECTOR:
        check_result(kafka_sink(one.sink), one.sink.name, one.compiled)
    if one.late is not None and one.late.options["connector"] == CONNECTOR:
        check_columns(kafka_sink(one.late), one.late.name, [*one.streams[0].column_names, WATERMARK])
    check_checkpoint(how.spark, str(one.folder))
    if not began(one.folder):
        for sink in one.sinks:
            check_unwritten(sink)
        _clear(one.folder)
    old = read_record(one.folder)
    shards = how.shards or (old.shards if old is not None else shards_of(how.spark))
    frames = {**how.frames, **declared(one.streams, how.frames, how.spark)}
    span = one.compiled.statement.span
    with (
        refused_by_spark("parse-error", f"Spark refuses the query of INSERT INTO {one.sink.name}"),
        underlined_in([*([span] if span is not None else []), *one.views]),
    ):
        builder = _builder(one, how, frames, shards)
        df = builder.build(one.compiled.physical)
        writer = _writer(df, one)
    plan = one.compiled.physical
    whole = [spark_identity(plan, one.streams, how.spark)] if physical.spark_keeps_state(plan) else []
    record = Record.of([*builder.identities, *whole], one.streams, shards)
    if old is not None:
        check_record(old, record)
    return Ready(one, writer, record)


def _writer(df: DataFrame, one: Insert) -> DataStreamWriter:
    changelog, checkpoint = one.compiled.physical.changelog, one.folder / "spark"
    if one.late is not None:
        return write_both(df, one.sink, one.late, changelog, checkpoint)
    return write(df, one.sink, changelog, checkpoint)


def _builder(one: Insert, how: Run, frames: Mapping[str, DataFrame], shards: int) -> Builder:
    beats = heartbeats(one.streams)
    beats = dict.fromkeys(beats, NEVER) if how.once else beats  # the source stays: Spark counts those of a checkpoint
    return Builder(how.spark, frames, shards, how.functions, _control(one.folder, how.spark), beats)


def _close_gaps(one: Insert, spark: SparkSession) -> None:
    path = written_folder(one.sink) if one.late is None else None
    if path is not None:
        close_gaps(path, one.folder / "spark", spark)


def _clear(folder: Path) -> None:
    """Remove what a kill before the first micro-batch left: Spark takes half a file for another query's."""
    for name in ("offsets", "commits", "state"):
        shutil.rmtree(folder / "spark" / name, ignore_errors=True)


def _control(folder: Path, spark: SparkSession) -> DataFrame:
    """A stream without rows until the input has ended."""
    control = folder / CONTROL
    control.mkdir(parents=True, exist_ok=True)
    if not flush_began(folder):
        (control / ENDED).unlink(missing_ok=True)  # of a flush that died before Spark saw it
    return spark.readStream.schema("ended boolean").json(str(control))


def wait(running: Sequence[Running], how: Run, news: News) -> bool:
    """Until all queries are done, True, or the run is stopped, False; a failed query is raised as its error."""
    done = False
    while not done:
        if how.stopped():
            return False
        done = all(one.is_done() for one in running)
        for one in running:
            for report in one.reports():
                how.report(report)
        for one in running:
            _raise_failure(one, how.flush)
        if not done:
            news.wait(LOOK)
    return True


def _raise_failure(one: Running, flush: bool) -> None:
    failed = one.query.exception()
    if failed is None:
        return
    error = failure(str(failed), one.ready.insert.compiled)
    if flush and error is not None and error.code == "stream-ended" and flush_began(one.ready.insert.folder):
        return  # rows that came after the end of the input
    raise error or failed


def flush_began(folder: Path) -> bool:
    """Whether Spark has the end of the input in its log: then it comes through, whatever is asked for now."""
    logs = (folder / "spark" / "sources").glob("*/0")  # the end of the input is the first that its source sees
    return any(f"{CONTROL}/{ENDED}" in log.read_text() for log in logs)


def check_seal(checkpoint: Path) -> None:
    """Refuse a checkpoint whose input has ended."""
    if (checkpoint / SEAL).exists():
        hint = "Take a new checkpoint folder to run it again."
        raise PanesError("stream-ended", f"{checkpoint} was flushed: its stream has ended", None, hint)


def _seal(checkpoint: Path) -> None:
    _publish(checkpoint / SEAL, json.dumps({"ended": True}))


def _publish(path: Path, text: str) -> None:
    """A file that is there as a whole or not at all."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text, encoding="utf-8")
    hidden.replace(path)


@contextmanager
def checkpoint_folder(given: str | Path | None) -> Iterator[Path]:
    """The folder that was given, or a temporary one that is gone afterwards."""
    if given is not None:
        yield Path(folder(str(given)))
        return
    with tempfile.TemporaryDirectory(prefix="panes-checkpoint-", ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)
