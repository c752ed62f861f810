"""Runs variants of a case on Spark: as streams, and what the promise has them give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr

from panes.errors import PanesError
from panes.spark.expressions import quoted
from panes.spark.failures import failure_of
from panes.spark.sources import with_computed
from panes.testing.inputs import Input, schema_of
from panes.testing.parts import Part
from panes.testing.promise import Freedom
from panes.testing.run_case import Runnable, declared_stream, rows_as_frame, run_batch
from panes.testing.run_parts import run_parts
from panes.testing.sameness import table_of
from panes.testing.search import Failed, Result
from panes.testing.variants import Arrival, Batches, Variant


@dataclass(frozen=True)
class SparkRunner:
    """Runs a case; what is promised is remembered by its rows."""

    case: Runnable
    freedom: Freedom
    spark: SparkSession
    known: dict[object, Result] = field(default_factory=dict)

    def streams(self, variants: Sequence[Variant]) -> list[Result]:
        """What variants give that restart and die together."""
        try:
            return self._side_by_side(variants)
        except (StreamingQueryException, PanesError) as error:
            if len(variants) > 1:  # which of them it was, each alone tells
                return [result for one in variants for result in self.streams([one])]
            return [self._failed(error)]

    def _side_by_side(self, variants: Sequence[Variant]) -> list[Result]:
        first = variants[0]
        parts = [self._part(one) for one in variants]
        done = run_parts(parts, self.spark, True, first.restarts, first.kills)
        return [_added_up([row for batch in one.batches for row in batch]) for one in done]

    def _part(self, variant: Variant) -> Part:
        clock = self.case.clock[: len(variant.batches)]
        streams = {
            name: declared_stream(given, variant.of_stream(name), bool(clock))
            for name, given in self.case.streams.items()
        }
        return Part(self.case.query.text, streams, variant.shards, self.case.prepare, clock)

    def promised(self, variants: Sequence[Variant]) -> list[Result]:
        """What variants must give: what their rows give as one batch, or without restarts and kills."""
        return [self._remembered(one) for one in variants]

    def _remembered(self, variant: Variant) -> Result:
        key: object = tuple(tuple(map(id, batch)) for batch in variant.batches)
        if self.freedom is not Freedom.RESTARTS:
            key = tuple(sorted(map(id, variant.rows)))
        if key not in self.known:
            self.known[key] = self._promised(variant)
        return self.known[key]

    def _promised(self, variant: Variant) -> Result:
        if self.freedom is Freedom.RESTARTS:
            (result,) = self.streams([Variant(variant.batches)])
            return result
        rows = {name: [row for batch in variant.of_stream(name) for row in batch] for name in self.case.streams}
        try:
            return _added_up(run_batch(self.case, rows, self.spark))
        except Exception as error:  # whatever it is: these rows have no result
            return self._failed(error)

    def _failed(self, error: Exception) -> Failed:
        told = failure_of(error, self.case.query.compiled) if not isinstance(error, PanesError) else error
        return Failed(str(told) if told is not None else str(error).strip().split("\n")[0])


def _added_up(rows: list[dict[str, object]]) -> Result:
    try:
        return table_of(rows)
    except ValueError as error:
        return Failed(str(error))


def arrivals(case: Runnable, spark: SparkSession) -> Batches:
    """The rows of a case with their times, in the micro-batches in which they are written."""
    streams = {name: _arrivals(given, spark) for name, given in case.streams.items()}
    count = max((len(batches) for batches in streams.values()), default=0)
    return tuple(
        tuple(row for batches in streams.values() if number < len(batches) for row in batches[number])
        for number in range(count)
    )


def _arrivals(given: Input, spark: SparkSession) -> list[list[Arrival]]:
    rows = given.rows()
    times = iter(_times(given, [row for batch in rows for row in batch], spark))
    places = [at for at, column in enumerate(given.stored()) if column.name in given.stream.key]
    name = given.stream.name.lower()
    return [[Arrival(name, row, next(times), tuple(row[at] for at in places)) for row in batch] for batch in rows]


def _times(given: Input, rows: Sequence[tuple[object, ...]], spark: SparkSession) -> list[int | None]:
    """The times of rows in microseconds; a time may be a column that Spark computes."""
    if given.stream.time is None or given.stream.changelog:
        return [None] * len(rows)
    frame = with_computed(rows_as_frame(spark, schema_of(given.stored()), rows), given.stream)
    time = col(quoted(given.stream.time)).cast("timestamp").alias("at")
    return [row.at for row in frame.select(time).select(expr("unix_micros(at)").alias("at")).collect()]


def timeless(batches: Batches) -> Batches:
    """Rows whose order is that of their arrival, whatever their times."""
    return tuple(tuple(replace(row, time=None) for row in batch) for batch in batches)
