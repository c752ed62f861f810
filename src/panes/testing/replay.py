"""`replay`: a query over scripted micro-batches, on real Structured Streaming."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from panes.engine import Engine
from panes.spark.progress import counters_of
from panes.testing.declared import Stream
from panes.testing.parts import Part
from panes.testing.run_parts import run_parts
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
    return replayed(Part(sql, streams, shards, setup, clock), spark, flush, restart_after, kill_in)


def replayed(
    part: Part,
    spark: SparkSession | None,
    flush: bool,
    restart_after: Collection[int],
    kill_in: Collection[int],
) -> Replay:
    """What comes out of one query alone."""
    (done,) = run_parts([part], spark, flush, restart_after, kill_in)
    return Replay(done.batches, done.progress, done.schemas, done.late, done.columns)
