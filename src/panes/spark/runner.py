"""Running a script: one streaming query and one checkpoint per INSERT, a report per micro-batch.

The checkpoint of a script, with a folder for each INSERT:

    1-totals/panes-query.json     whose state this is: see `record`
    1-totals/panes-control/       a second source of the query; a row in it says that the input has ended
    1-totals/spark/               Spark's checkpoint
    panes-ended.json              all INSERTs were flushed
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Catalog, Sink, Stream, heartbeats
from panes.compile import Compiled
from panes.errors import CODES, PanesError
from panes.functions import Functions
from panes.physical import plan as physical
from panes.spark.build import Builder
from panes.spark.progress import counters_of
from panes.spark.record import Record, began, check_record, read_record, write_record
from panes.spark.sinks import check_connector, check_folders, check_sink, check_unwritten, forgets, write
from panes.spark.sources import read

SEAL, CONTROL, ENDED = "panes-ended.json", "panes-control", "ended.json"


@dataclass(frozen=True)
class Insert:
    """An INSERT with what its names stood for when it was read, and the folder of its checkpoint."""

    compiled: Compiled
    sink: Sink
    streams: tuple[Stream, ...]
    folder: Path


def insert(compiled: Compiled, catalog: Catalog, checkpoint: Path, before: Sequence[Insert]) -> Insert:
    """The INSERT of a script; those of one sink are numbered, so that others may come and go."""
    sink = catalog.sinks.get(compiled.physical.sink or "")
    assert sink is not None
    number = 1 + sum(one.sink.name.lower() == sink.name.lower() for one in before)
    found = (catalog.streams.get(name) for name in _streams(compiled.physical))
    streams = tuple(stream for stream in found if stream is not None)
    return Insert(compiled, sink, streams, checkpoint / f"{number}-{quote(sink.name.lower(), safe='')}")


def _streams(plan: physical.Plan) -> Iterator[str]:
    """The names of the streams that a plan reads."""
    if isinstance(plan, physical.DataSource):
        yield plan.stream
    for child in physical.children(plan):
        yield from _streams(child)


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
    check_folders([one.sink for one in inserts])
    flush = how.flush or any(flush_began(one.folder) for one in inserts)
    ready = [_ready(one, how) for one in inserts]
    for one in ready:
        write_record(one.insert.folder, one.record)
    running: list[Running] = []
    try:
        for one in ready:
            running.append(one.start(how.once or flush, flush))  # noqa: PERF401 - a failed start stops those before it
        ended = wait(running, how, flush)
        if ended and flush:
            for now in running:
                now.end_input()
            ended = wait(running, how, flush)
    finally:
        for now in running:
            now.query.stop()
    if ended and flush:
        _seal(checkpoint)


@dataclass(frozen=True)
class Ready:
    """An INSERT that can be started."""

    insert: Insert
    writer: DataStreamWriter
    record: Record

    def start(self, once: bool, flush: bool) -> Running:
        drains = flush and forgets(self.insert.sink)
        with _spark_refuses("stream-options", f"the sink {self.insert.sink.name} cannot be written"):
            writer = self.writer.trigger(availableNow=True) if once and not drains else self.writer
            return Running(self, writer.start(), drains)


@dataclass
class Running:
    """A query of a script. One that `drains` stays up when it has read all: its sink would forget."""

    ready: Ready
    query: StreamingQuery
    drains: bool
    seen: set[int] = field(default_factory=set)

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
        for progress in self.query.recentProgress:
            if progress.batchId in self.seen or "addBatch" not in progress.durationMs:
                continue
            self.seen.add(progress.batchId)
            seconds = progress.durationMs.get("triggerExecution", 0) / 1000
            yield Report(self.sink, progress.batchId, seconds, counters_of(progress))


def _ready(one: Insert, how: Run) -> Ready:
    """Build the query of an INSERT and compare it with what its checkpoint says."""
    check_sink(one.sink, one.compiled.physical.changelog)
    check_connector(one.sink, how.spark)
    if not began(one.folder):
        check_unwritten(one.sink)
        _clear(one.folder)
    old = read_record(one.folder)
    shards = how.shards or (old.shards if old is not None else _partitions(how.spark))
    record = Record.of(one.compiled.physical, one.streams, shards, how.spark)
    if old is not None:
        check_record(old, record)
    frames = {**how.frames, **_declared(one, how)}
    with _spark_refuses("parse-error", f"Spark refuses the query of INSERT INTO {one.sink.name}"):
        df = _builder(one, how, frames, shards).build(one.compiled.physical)
        writer = write(df, one.sink).option("checkpointLocation", str(one.folder / "spark"))
    return Ready(one, writer, record)


def _builder(one: Insert, how: Run, frames: Mapping[str, DataFrame], shards: int) -> Builder:
    beats = {} if how.once or how.flush else heartbeats(one.streams)
    return Builder(how.spark, frames, shards, how.functions, _control(one.folder, how.spark), beats)


def _clear(folder: Path) -> None:
    """Remove what a kill before the first micro-batch left: Spark takes half a file for another query's."""
    for name in ("offsets", "commits", "state"):
        shutil.rmtree(folder / "spark" / name, ignore_errors=True)


def _declared(one: Insert, how: Run) -> dict[str, DataFrame]:
    """The streams of an INSERT that the script declares."""
    frames: dict[str, DataFrame] = {}
    for stream in one.streams:
        name = stream.name.lower()
        if name not in how.frames or "connector" in stream.options:
            with _spark_refuses("stream-options", f"the stream {stream.name} cannot be read"):
                frames[name] = read(stream, how.spark)
    return frames


def _control(folder: Path, spark: SparkSession) -> DataFrame:
    """A stream without rows until the input has ended."""
    control = folder / CONTROL
    control.mkdir(parents=True, exist_ok=True)
    if not flush_began(folder):
        (control / ENDED).unlink(missing_ok=True)  # of a flush that died before Spark saw it
    return spark.readStream.schema("ended boolean").json(str(control))


def _partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def wait(running: Sequence[Running], how: Run, flush: bool) -> bool:
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
            _raise_failure(one, flush)
        if not done:
            time.sleep(0.1)
    return True


def _raise_failure(one: Running, flush: bool) -> None:
    failed = one.query.exception()
    if failed is None:
        return
    error = panes_error(str(failed), one.sink)
    if flush and error is not None and error.code == "stream-ended" and flush_began(one.ready.insert.folder):
        return  # rows that came after the end of the input
    raise error or failed


RAISED = re.compile(r"\bPanesError: (?P<code>[a-z-]+): (?P<message>.*)(?:\nhint: (?P<hint>.*))?")


def panes_error(text: str, sink: str) -> PanesError | None:
    """The error that Panes raised in a Python worker, read from what Spark made of it.

    >>> text = "Traceback …\\npanes.errors.PanesError: stream-ended: it is over\\nhint: Begin anew.\\n SQLSTATE: 38000"
    >>> print(panes_error(text, "totals"))
    stream-ended: it is over (INSERT INTO totals)
    hint: Begin anew.
    """
    found = RAISED.search(text)
    if found is None or found["code"] not in CODES:
        return None
    return PanesError(found["code"], f"{found['message']} (INSERT INTO {sink})", None, found["hint"])


CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*")  # how Spark's errors begin, whatever their class


@contextmanager
def _spark_refuses(code: str, what: str) -> Iterator[None]:
    """What Spark finds wrong before a query runs, as an error of Panes."""
    try:
        yield
    except PanesError:
        raise
    except Exception as error:
        found = CONDITION.search(str(error))
        if found is None:
            raise
        raise PanesError(code, f"{what}: {found[0]}") from error


def flush_began(folder: Path) -> bool:
    """Whether Spark has the end of the input in its log: then it comes through, whatever is asked for now."""
    logs = (log for log in (folder / "spark" / "sources").glob("*/*") if not log.name.startswith("."))
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


def temporary_checkpoint() -> Path:
    return Path(tempfile.mkdtemp(prefix="panes-checkpoint-"))
