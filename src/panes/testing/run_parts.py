"""Runs scripted queries micro-batch by micro-batch; several side by side are one query of Spark's, which is quicker.

    parts        a: rows 1 2 | 3 4        b: rows 2 | 1 3 | 4
    one query    union of a and b, each with a number, so that what comes out can be told apart

They restart and die together. Their watermark is Spark's for the whole query, so that of the part that is furthest
behind: a part's windows close later than if it ran alone, and never earlier.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.streaming.query import StreamingQuery

from panes.kernels.late_rows import CLOCK, LATE, ROW
from panes.physical.late_rows import WATERMARK
from panes.spark.slow_start import MOST_SLOW_STARTS, was_too_slow
from panes.testing.parts import Part
from panes.testing.row_files import plain
from panes.testing.sameness import Row

PART = "panes_part"  # a column with the number of a row's part


@dataclass
class Done:
    """What came out of a part, per micro-batch and at the flush; `progress` is that of the whole query."""

    progress: list[Any]
    schemas: list[str]
    columns: list[str]
    batches: list[list[Row]] = field(default_factory=list)
    late: list[list[Row]] = field(default_factory=list)


def run_parts(
    parts: Sequence[Part],
    spark: SparkSession | None,
    flush: bool,
    restarts: Collection[int] = (),
    kills: Collection[int] = (),
) -> list[Done]:
    """Run parts side by side; they restart after some micro-batches, and some die when their output is computed."""
    folder = Path(tempfile.mkdtemp(prefix="panes-replay-"))
    try:
        return _Run(parts, folder, spark).run(flush, restarts, kills)
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
    kill: bool = False  # the next micro-batch is to die
    killed: bool = False

    def collect(self, df: DataFrame, batch: int) -> None:
        self.schemas.append(df.schema.simpleString())
        self.columns[:] = [name for name in df.columns if name not in (LATE, PART)]
        rows = [plain(row) for row in df.toArrow().to_pylist()]
        if self.kill:
            self.kill, self.killed = False, True
            raise Killed
        self.rows[batch] = rows

    def take(self) -> list[Row]:
        """What came out since the last call."""
        taken = [row for batch in sorted(self.rows) for row in self.rows[batch]]
        self.rows.clear()
        return taken


@dataclass
class _Run:
    parts: Sequence[Part]
    folder: Path
    spark: SparkSession | None
    outputs: _Outputs = field(default_factory=_Outputs)
    progress: list[Any] = field(default_factory=list)
    query: StreamingQuery = field(init=False)

    def run(self, flush: bool, restarts: Collection[int], kills: Collection[int]) -> list[Done]:
        done = [Done(self.progress, self.outputs.schemas, self.outputs.columns) for _ in self.parts]
        count = max(part.count for part in self.parts)
        started = 0  # the first micro-batch of this run
        for part, folder in self._with_folders():
            part.folders(folder)
        self.query = self._start()
        try:
            for number in range(count):
                for part, folder in self._with_folders():
                    part.write(folder, number, started)
                self._process(number in kills, done)
                if number in restarts:
                    self._stop()
                    started = min(number + 1, count - 1)
                    self.query = self._start()
            if flush:
                for part, folder in self._with_folders():
                    part.end(folder)
                self._process(count in kills, done)
        finally:
            self._stop()
        return done

    def _with_folders(self) -> list[tuple[Part, Path]]:
        return [(part, self.folder / str(number)) for number, part in enumerate(self.parts)]

    def _start(self) -> StreamingQuery:
        frames = [part.frame(self.spark, folder) for part, folder in self._with_folders()]
        if len(frames) > 1:
            frames = [frame.withColumn(PART, lit(number)) for number, frame in enumerate(frames)]
        result = reduce(DataFrame.unionByName, frames)
        writer = result.writeStream.foreachBatch(self.outputs.collect).outputMode("append")
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def _process(self, kill: bool, done: Sequence[Done]) -> None:
        """Run until there is nothing more to read, and hand out what came; `kill` lets a micro-batch die on the way."""
        self.outputs.kill = kill
        self._wait()
        self._note()
        self.outputs.kill = False
        rows = self.outputs.take()
        for number, one in enumerate(done):
            own = [row for row in rows if row.get(PART, 0) == number]
            kept, late = without_late(own)
            one.batches.append(kept)
            one.late.append(late)

    def _wait(self) -> None:
        """A query whose Python was too slow to start is started again, and one that was killed, too."""
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


def without_late(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Results, and the late rows among them, each with the watermark that it missed."""
    late = [row[LATE] for row in rows if row.get(LATE) is not None]
    kept = [row for row in rows if row.get(LATE) is None]
    results = [{name: row[name] for name in row if name not in (LATE, PART)} for row in kept]
    return results, [{**row[ROW], WATERMARK: row[CLOCK]} for row in late]
