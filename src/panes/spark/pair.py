"""The pairs of a changelog that promises all its preimages: they may be apart, in other tasks or other micro-batches.

Rows are shuffled by key, and nothing is kept. Where a micro-batch has only one side of an update, a preimage becomes a
delete and a postimage an insert: that adds up to the same table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import LongType, StructField, StructType

from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE, DELETE, INSERT
from panes.kernels.changelog.table import WORDS, unknown_word
from panes.kernels.duck import query, quoted
from panes.physical import plan as physical
from panes.spark.counters import CLOCK, OLDEST, SUMS
from panes.spark.expressions import quoted as spark_quoted
from panes.spark.memory import Memory, memory_of
from panes.spark.pack import PLACE
from panes.spark.worker import set_up


def paired(plan: physical.Pair, changes: DataFrame, metrics: tuple[str, str]) -> DataFrame:
    """The changes with the sides of each update side by side; `_change_type` is one of its four words.

    `metrics` are the names of the counters before and after the shuffle.
    """
    known = functions.coalesce(functions.col(CHANGE).isin(*WORDS), functions.lit(False))
    if changes.isStreaming:
        one, unknown = functions.lit(1), functions.when(known, 0).otherwise(1)
        changes = changes.observe(metrics[0], *_counters(rows_in=one, inconsistent_rows=unknown))
    if plan.on_inconsistency == "skip":
        changes = changes.where(known)
    with_place = StructType([*changes.schema.fields, StructField(PLACE, LongType())])
    placed = changes.mapInArrow(placed_by_arrival, with_place)
    names = tuple(next(name for name in changes.columns if name.lower() == wanted) for wanted in plan.key)
    shuffled = placed.repartition(*(functions.col(spark_quoted(name)) for name in names))
    done = shuffled.mapInArrow(Pairs(names, memory_of(changes.sparkSession)), changes.schema)
    return done.observe(metrics[1], *_counters(rows_out=functions.lit(1))) if changes.isStreaming else done


def _counters(**counted: Column) -> list[Column]:
    sums = [functions.sum(counted.get(name, functions.lit(0))).cast("bigint").alias(name) for name in SUMS]
    return [*sums, *(functions.max(functions.lit(None).cast("bigint")).alias(name) for name in (OLDEST, CLOCK))]


def placed_by_arrival(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with their place in the source."""
    context = TaskContext.get()
    at = (context.partitionId() if context is not None else 0) << 40
    for batch in batches:
        yield batch.append_column(PLACE, pa.array(np.arange(at, at + batch.num_rows)))
        at += batch.num_rows


@dataclass(frozen=True)
class Pairs:
    """The function that runs in `mapInArrow`, over all rows of some keys."""

    key: tuple[str, ...]
    memory: Memory = field(default_factory=Memory)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        set_up(self.memory)
        gathered = [batch for batch in batches if batch.num_rows]
        if gathered:
            yield from self.pairs(pa.Table.from_batches(gathered)).combine_chunks().to_batches(max_chunksize=100_000)

    def pairs(self, rows: pa.Table) -> pa.Table:
        """As the rows arrived, but each postimage directly behind its preimage."""
        bad = rows.filter(pc.invert(pc.fill_null(pc.is_in(rows[CHANGE], pa.array(WORDS)), False)))
        if bad.num_rows:
            row = bad.select([*self.key, CHANGE]).slice(0, 1).to_pylist()[0]
            raise unknown_word(row.pop(CHANGE), row)
        keys = ", ".join(quoted(name) for name in self.key)
        found = query(
            f"""
            SELECT row_at, CASE
                WHEN {CHANGE} = '{BEFORE}' AND word_after IS DISTINCT FROM '{AFTER}' THEN '{DELETE}'
                WHEN {CHANGE} = '{AFTER}' AND pair IS NULL THEN '{INSERT}'
                ELSE {CHANGE} END AS became
            FROM (
                SELECT *, lead({CHANGE}) OVER w AS word_after, CASE
                    WHEN {CHANGE} = '{AFTER}' AND lag({CHANGE}) OVER w = '{BEFORE}' THEN lag({PLACE}) OVER w END AS pair
                FROM parts WINDOW w AS (PARTITION BY {keys} ORDER BY {PLACE})
            )
            ORDER BY coalesce(pair, {PLACE}), {PLACE}
            """,
            parts=rows.select([*self.key, CHANGE, PLACE]).append_column("row_at", pa.array(np.arange(rows.num_rows))),
        )
        done = rows.drop_columns(PLACE).take(found["row_at"])
        return done.set_column(done.column_names.index(CHANGE), CHANGE, found["became"].cast(pa.string()))
