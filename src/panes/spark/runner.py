"""Running a script: one streaming query and one checkpoint per INSERT, a report per micro-batch.

The checkpoint of a script, with a folder for each INSERT:

    1-totals/panes-query.json     whose state this is: see `record`
    1-totals/panes-lock           held while it runs; on another store, a folder: see `lease`
    1-totals/panes-control/       a second source of the query; a row in it says that the input has ended
    1-totals/spark/               Spark's checkpoint
    dead-letters-orders/          the same, for the malformed records of a stream
    panes-ended.json              all INSERTs were flushed
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Sink, heartbeats
from panes.connectors import delta
from panes.connectors.kafka import CONNECTOR, check_loop, kafka_sink
from panes.errors import PanesError
from panes.physical import plan as physical
from panes.physical.late_rows import WATERMARK
from panes.spark.batch_writers import check_layout
from panes.spark.build import Builder
from panes.spark.dead_letters import begins_at_the_end, wait_for_position
from panes.spark.failures import failure_of, masked_error, refused_by_spark
from panes.spark.folders import check_folders, folder
from panes.spark.heartbeat import NEVER
from panes.spark.inserts import Insert, check_clean_up, insert_folder, with_letters
from panes.spark.kafka.sink import check_columns, check_result
from panes.spark.lock import locked
from panes.spark.news import News, listening
from panes.spark.record import (
    Record,
    began,
    check_places,
    check_record,
    plan_of,
    read_record,
    spark_identity,
    write_record,
)
from panes.spark.refusals import quiet_errors, underlined_in
from panes.spark.report import Report, report_of
from panes.spark.rows import show_rows
from panes.spark.run_options import Run
from panes.spark.session import check_checkpoint, shards_of
from panes.spark.sink_log import begin_log, check_log, close_gaps
from panes.spark.sinks import check_connector, check_sink, check_unwritten, forgets, write, written_folder
from panes.spark.slow_start import MOST_SLOW_STARTS, was_too_slow
from panes.spark.sources import declared
from panes.spark.store import StorePath, store_path
from panes.spark.turns import wait_for_turn

SEAL, CONTROL, ENDED = "panes-ended.json", "panes-control", "ended.json"
LOOK = 1.0  # seconds: a run is stopped within them, news or not


def run(inserts: Sequence[Insert], checkpoint: str, how: Run) -> None:
    """Run all INSERTs to their end; everything that can be refused is refused before the first one starts."""
    check_checkpoint(how.spark, checkpoint)
    whole = store_path(checkpoint, how.spark)
    kept = any(one.number for one in inserts)  # a SELECT alone begins anew each time
    if kept:
        check_seal(whole)
    inserts = with_letters(inserts, how.spark)
    check_clean_up(inserts)
    check_folders([files for one in inserts for files in one.files])
    flush = how.flush or any(flush_began(store_path(one.folder, how.spark)) for one in inserts)
    how = replace(how, once=how.once or flush, flush=flush)
    ready = [_ready(one, how) for one in inserts]
    check_order(ready, checkpoint, how.spark)
    with locked([*([whole] if kept else []), *(one.folder for one in ready)]) as check_lock:
        if kept:
            check_seal(whole)  # another run may just have ended
        ready = [one if one.is_current() else _ready(one.insert, how) for one in ready]
        for one in ready:
            _enter(one, how.spark)
        ended = _run_ready(ready, replace(how, stopped=_checked(check_lock, how.stopped)))
    if ended and flush and kept:
        _seal(whole)


def check_order(ready: Sequence[Ready], checkpoint: str, spark: SparkSession) -> None:
    """INSERTs into one sink stand in the order in which the checkpoint has them, whatever has come and gone."""
    for sink in (one.insert.sink for one in ready if one.insert.number == 1):
        now = [one.record for one in ready if one.insert.number and one.insert.sink.name == sink.name]
        folders = (store_path(insert_folder(checkpoint, sink, number), spark) for number in count(1))
        check_places(sink.name, [read_record(one) for one in takewhile(lambda one: one.names(), folders)], now)


def _checked(check: Callable[[], None], stopped: Callable[[], bool]) -> Callable[[], bool]:
    """Look whether the lock is still held whenever somebody asks whether to stop."""

    def checked() -> bool:
        check()
        return stopped()

    return checked


def _run_ready(ready: Sequence[Ready], how: Run) -> bool:
    """Whether all have come to their end; else the run was stopped."""
    running: list[Running] = []
    try:
        with listening(how.spark) as news:
            ended = _start_all(ready, running, how) and wait(running, how, news)
            for some in _in_order_of_end(running) if how.flush else []:
                ended = ended and _end_inputs(some, how) and wait(some, how, news)
    except BaseException as error:
        try:
            stop(running)
        except Exception as another:
            error.add_note(f"A query could not be stopped either: {another!r}")
        raise
    stop(running)
    for now in running:
        if now.error is not None:
            raise now.error
    return ended


def _start_all(ready: Sequence[Ready], running: list[Running], how: Run) -> bool:
    """Start one query after the other; False if the run was stopped before the last one."""
    how.plans({one.insert.name: plan_of(one.record) for one in ready})
    for one in ready:
        wait_for_turn([now.query for now in running], how.stopped)
        if how.stopped():
            return False
        running.append(one.start(how))
        running[-1].wait_for_position(how.stopped)
    how.started([one.name for one in running])
    return True


def _in_order_of_end(running: Sequence[Running]) -> list[list[Running]]:
    """Dead letters end last: they have read whatever an INSERT may have left out."""
    letters = [one for one in running if one.ready.insert.keeps_letters]
    return [[one for one in running if one not in letters], letters]


def _end_inputs(running: Sequence[Running], how: Run) -> bool:
    """The same for the end of their input; a later run ends that of the others."""
    restarted: list[StreamingQuery] = []
    for one in running:
        if one.error is None:
            wait_for_turn(restarted, how.stopped)
            if how.stopped():
                return False
            one.end_input(how)
            restarted.append(one.query)
    return True


def stop(running: Sequence[Running]) -> None:
    """Stop all queries; where one cannot be stopped, that is told when the others have been."""
    with ExitStack() as stack:
        for one in running:
            stack.callback(one.query.stop)


@dataclass(frozen=True)
class Ready:
    """An INSERT that can be started."""

    insert: Insert
    folder: StorePath
    writer: DataStreamWriter
    record: Record
    old: Record | None  # what its checkpoint says

    def is_current(self) -> bool:
        """Whether nobody has written to its checkpoint since it was built."""
        return read_record(self.folder) == self.old

    def start(self, how: Run) -> Running:
        drains = how.flush and any(forgets(sink) for sink in self.insert.sinks)
        writer = self.writer
        if how.once and not drains:
            writer = writer.trigger(availableNow=True)
        elif how.every is not None and not drains:
            writer = writer.trigger(processingTime=how.every)
        with refused_by_spark("stream-options", f"the sink {self.insert.sink.name} cannot be written"):
            return Running(self, writer.start(), drains)


@dataclass
class Running:
    """A query of a script. One that `drains` stays up when it has read all: its sink would forget."""

    ready: Ready
    query: StreamingQuery
    drains: bool
    looked_at: str = ""  # when the last progress report was made that was looked at
    seen: int = -1  # the last micro-batch that was reported
    error: Exception | None = None  # of one that failed
    slow_starts: int = 0  # that failed, one after the other

    @property
    def name(self) -> str:
        return self.ready.insert.name

    def wait_for_position(self, stopped: Callable[[], bool]) -> None:
        """Dead letters are started first, and begin before what leaves them out."""
        insert = self.ready.insert
        if insert.keeps_letters and any(begins_at_the_end(one) for one in insert.streams):
            wait_for_position(self.query, self.ready.folder / "spark", stopped)

    def is_done(self) -> bool:
        if self.drains and self.query.isActive:
            with quiet_errors(), suppress(StreamingQueryException):  # the query keeps it
                self.query.processAllAvailable()
            return True
        return not self.query.isActive

    def end_input(self, how: Run) -> None:
        """Write the control row, and let the query take it in."""
        (self.ready.folder / CONTROL / ENDED).publish('{"ended": true}\n')
        if not self.drains:
            self.query = self.ready.start(how).query

    def start_again(self, how: Run) -> None:
        self.slow_starts += 1
        self.query = self.ready.start(how).query

    def reports(self) -> Iterator[Report]:
        """The micro-batches since the last call; empty triggers are left out."""
        last = self.query.lastProgress
        if last is None or last.timestamp == self.looked_at:
            return  # all of them would be a hundred times as much to read
        self.looked_at = last.timestamp
        for progress in self.query.recentProgress:
            if progress.batchId > self.seen and "addBatch" in progress.durationMs:
                self.seen = progress.batchId
                yield report_of(self.name, progress)


def _ready(one: Insert, how: Run) -> Ready:
    """Build the query of an INSERT and compare it with what its checkpoint says."""
    for sink in one.sinks:
        check_sink(sink, sink is one.sink and one.compiled.physical.changelog)
        check_loop(sink, one.streams)
        delta.check_loop(sink, one.streams, folder)
        check_connector(sink, how.spark)
        check_layout(sink, one.late is not None, how.spark)
    if one.sink.options["connector"] == CONNECTOR:
        check_result(kafka_sink(one.sink), one.sink.name, one.compiled)
    if one.late is not None and one.late.options["connector"] == CONNECTOR:
        check_columns(kafka_sink(one.late), one.late.name, [*one.streams[0].column_names, WATERMARK])
    own = store_path(one.folder, how.spark)
    for sink in one.sinks:
        path = written_folder(sink)
        if not began(own):
            check_unwritten(sink, how.spark)
        elif path is not None:
            check_log(path, own / "spark", how.spark)
    old = read_record(own)
    shards = how.shards or (old.shards if old is not None else shards_of(how.spark))
    frames = {**how.frames, **declared(one.streams, how.frames, how.spark)}
    span = one.compiled.statement.span
    with (
        refused_by_spark("parse-error", f"Spark refuses the query of INSERT INTO {one.sink.name}"),
        underlined_in([*([span] if span is not None else []), *one.views]),
    ):
        builder = _builder(one, how, frames, shards, _control(own, how.spark))
        df = builder.build(one.compiled.physical)
        _check_streaming(df, one.sink)
        writer = _writer(df, one, own / "spark", how)
    plan = one.compiled.physical
    whole = [spark_identity(plan, one.streams, how.spark)] if physical.spark_keeps_state(plan) else []
    record = Record.of(plan, [*builder.identities, *whole], one.streams, shards)
    if old is not None:
        check_record(old, record)
    return Ready(one, own, writer, record, old)


def _check_streaming(df: DataFrame, sink: Sink) -> None:
    if not df.isStreaming:
        hint = "Write the result of a batch with Spark: engine.sql('SELECT …').write."
        raise PanesError("stream-options", f"INSERT INTO {sink.name} reads tables only, and no stream", None, hint)


def _writer(df: DataFrame, one: Insert, checkpoint: StorePath, how: Run) -> DataStreamWriter:
    if one.compiled.physical.sink is None:
        return show_rows(df, one.sink.name, how.rows, str(checkpoint))
    return write(df, one.sink, one.late, one.compiled, checkpoint)


def _builder(one: Insert, how: Run, frames: Mapping[str, DataFrame], shards: int, control: DataFrame) -> Builder:
    beats = heartbeats(one.streams)
    beats = dict.fromkeys(beats, NEVER) if how.once else beats  # the source stays: Spark counts those of a checkpoint
    return Builder(how.spark, frames, shards, how.functions, control, beats)


def _enter(one: Ready, spark: SparkSession) -> None:
    """Make a checkpoint ready for its query, once nobody else uses it."""
    if not began(one.folder):  # what a kill before the first one left: Spark takes half a file for another query's
        for name in ("offsets", "commits", "state"):
            (one.folder / "spark" / name).remove()
    if not flush_began(one.folder):
        (one.folder / CONTROL / ENDED).remove()  # of a flush that died before Spark saw it
    write_record(one.folder, one.record)
    path = written_folder(one.insert.sink) if one.insert.late is None else None
    if path is not None:
        begin_log(path, one.folder / "spark", spark)
        close_gaps(path, one.folder / "spark", spark)


def _control(folder: StorePath, spark: SparkSession) -> DataFrame:
    """A stream without rows until the input has ended."""
    control = folder / CONTROL
    control.make_folder()
    return spark.readStream.schema("ended boolean").json(str(control))


def wait(running: Sequence[Running], how: Run, news: News) -> bool:
    """Until all queries are done, True, or the run is stopped, False."""
    done = False
    while not done:
        if how.stopped():
            return False
        done = all(one.is_done() for one in running)
        for one in running:
            for report in one.reports():
                how.report(report)
        again = [one for one in running if _look_for_failure(one, how)]
        done = done and not again
        if not done:
            news.wait(LOOK)
    return True


def _look_for_failure(one: Running, how: Run) -> bool:
    """Tell of a query that has failed since; unless the others are to go on, that ends the run. True: it runs again."""
    if one.error is not None:
        return False
    with quiet_errors():
        failed = one.query.exception()
    if failed is None:
        return False
    if one.slow_starts < MOST_SLOW_STARTS and was_too_slow(one.query, failed):
        one.start_again(how)
        return True
    error = failure_of(failed, one.ready.insert.compiled)
    if how.flush and error is not None and error.code == "stream-ended" and flush_began(one.ready.folder):
        return False  # rows that came after the end of the input
    one.error = masked_error(error or failed)
    how.failed(one.name, one.error)
    if not how.keep_going:
        raise one.error
    return False


def flush_began(folder: StorePath) -> bool:
    """Whether Spark has the end of the input in its log: then it comes through, whatever is asked for now."""
    sources = folder / "spark" / "sources"
    logs = (sources / name / "0" for name in sources.names())  # the end of the input is the first that its source sees
    return any(log.exists() and f"{CONTROL}/{ENDED}" in log.read_text() for log in logs)


def check_seal(checkpoint: StorePath) -> None:
    """Refuse a checkpoint whose input has ended."""
    if (checkpoint / SEAL).exists():
        hint = "Take a new checkpoint folder to run it again."
        raise PanesError("stream-ended", f"{checkpoint} was flushed: its stream has ended", None, hint)


def _seal(checkpoint: StorePath) -> None:
    (checkpoint / SEAL).publish(json.dumps({"ended": True}))


@contextmanager
def checkpoint_folder(given: str | Path | None) -> Iterator[str]:
    """The folder that was given, or a temporary one that is gone afterwards."""
    if given is not None:
        yield folder(str(given))
        return
    with tempfile.TemporaryDirectory(prefix="panes-checkpoint-", ignore_cleanup_errors=True) as temporary:
        yield temporary
