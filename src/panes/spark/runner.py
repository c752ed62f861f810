"""Running a script: one streaming query and one checkpoint per INSERT, a report per micro-batch."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from panes.catalog import Catalog
from panes.compile import Compiled
from panes.errors import PanesError
from panes.spark.build import Builder
from panes.spark.sinks import check_sink, write
from panes.spark.sources import read

SEAL = "panes-ended.json"


@dataclass(frozen=True)
class Report:
    """What one micro-batch of one INSERT did."""

    sink: str
    batch: int
    seconds: float
    counters: Mapping[str, int]


@dataclass
class Running:
    """A query of a script."""

    sink: str
    query: StreamingQuery
    checkpoint: Path
    control: Path
    seen: set[int] = field(default_factory=set)

    def reports(self) -> Iterator[Report]:
        """The micro-batches since the last call; empty triggers are left out."""
        for progress in self.query.recentProgress:
            if progress.batchId in self.seen:
                continue
            counters = counters_of(progress)
            if "addBatch" not in progress.durationMs:
                continue
            self.seen.add(progress.batchId)
            seconds = progress.durationMs.get("triggerExecution", 0) / 1000
            yield Report(self.sink, progress.batchId, seconds, counters)


def counters_of(progress: Any) -> dict[str, int]:
    """Panes' counters and gauges in a progress report of a running query; empty where it has none."""
    found = progress.observedMetrics.get("panes")
    return {name: value or 0 for name, value in found.asDict().items()} if found is not None else {}


def start(
    compiled: Compiled,
    catalog: Catalog,
    frames: dict[str, DataFrame],
    spark: SparkSession,
    shards: int,
    checkpoint: Path,
    once: bool,
) -> Running:
    """Start the query of an INSERT; everything that can be refused is refused before."""
    name = compiled.physical.sink
    assert name is not None
    sink = catalog.sinks.get(name)
    assert sink is not None
    check_sink(sink, compiled.physical.changelog)
    for stream in catalog.streams:
        if stream.name.lower() not in frames:
            frames[stream.name.lower()] = read(stream, spark)
    control = checkpoint / "panes-control"
    control.mkdir(parents=True, exist_ok=True)
    ended = spark.readStream.schema("ended boolean").json(str(control))
    df = Builder(spark, frames, shards, ended).build(compiled.physical)
    writer = write(df, sink).option("checkpointLocation", str(checkpoint / "spark"))
    query = (writer.trigger(availableNow=True) if once else writer).start()
    return Running(name, query, checkpoint, control)


def check_seal(checkpoint: Path) -> None:
    """Refuse a checkpoint whose input has ended."""
    if (checkpoint / SEAL).exists():
        hint = "Take a new checkpoint folder to run it again."
        raise PanesError("stream-ended", f"{checkpoint} was flushed: its stream has ended", None, hint)


def seal(one: Running) -> None:
    (one.checkpoint / SEAL).write_text(json.dumps({"ended": True}))


def wait(running: list[Running], report: Callable[[Report], None]) -> None:
    """Until all queries have ended; a failed one ends the others."""
    while any(one.query.isActive for one in running):
        _report(running, report)
        for one in running:
            error = one.query.exception()
            if error is not None:
                for other in running:
                    other.query.stop()
                raise error
        time.sleep(0.2)
    _report(running, report)
    for one in running:
        error = one.query.exception()
        if error is not None:
            raise error


def _report(running: list[Running], report: Callable[[Report], None]) -> None:
    for one in running:
        for each in one.reports():
            report(each)


def end_input(
    was: Running,
    compiled: Compiled,
    catalog: Catalog,
    frames: dict[str, DataFrame],
    spark: SparkSession,
    shards: int,
) -> Running:
    """Write the control row, and run the query once more to take it in."""
    (was.control / "ended.json").write_text('{"ended": true}\n')
    return start(compiled, catalog, frames, spark, shards, was.checkpoint, once=True)


def temporary_checkpoint() -> Path:
    return Path(tempfile.mkdtemp(prefix="panes-checkpoint-"))
