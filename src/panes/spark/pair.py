"""The net changes of a changelog that promises all its preimages: what a micro-batch comes to for each key.

Rows are shuffled by key, and nothing is kept: the first change of a key tells whether it was there before, the last one
whether it is there now. Where a micro-batch has only one side of an update, a preimage becomes a delete and a postimage
an insert: that adds up to the same table.
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
from panes.spark.counters import CLOCK, DUE, OLDEST, SUMS
from panes.spark.expressions import quoted as spark_quoted
from panes.spark.memory import Memory, memory_of
from panes.spark.pack import PLACE
from panes.spark.worker import set_up
from panes.spark.worker_python import check_workers


def paired(plan: physical.Pair, changes: DataFrame, metrics: tuple[str, str]) -> DataFrame:
    """The net change of each key, the sides of an update side by side; `_change_type` is one of its four words.

    `metrics` are the names of the counters before and after the shuffle.
    """
    check_workers(changes.sparkSession)
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
    return [*sums, *(functions.max(functions.lit(None).cast("bigint")).alias(name) for name in (OLDEST, DUE, CLOCK))]


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
        """The net change of each key, in the order in which the keys first changed.

        changes of a key                       net change
        insert a, preimage a, postimage b      insert b
        preimage a, postimage b, delete b      delete a
        delete a, insert b                     preimage a, postimage b
        insert a, delete a                     none
        """
        bad = rows.filter(pc.invert(pc.fill_null(pc.is_in(rows[CHANGE], pa.array(WORDS)), False)))
        if bad.num_rows:
            row = bad.select([*self.key, CHANGE]).slice(0, 1).to_pylist()[0]
            raise unknown_word(row.pop(CHANGE), row)
        keys = ", ".join(quoted(name) for name in self.key)
        found = query(
            f"""
            SELECT row_at, CASE
                WHEN {PLACE} = first_place AND was_there THEN if(is_there, '{BEFORE}', '{DELETE}')
                WHEN {PLACE} = last_place AND is_there THEN if(was_there, '{AFTER}', '{INSERT}') END AS became
            FROM (
                SELECT row_at, {PLACE}, min({PLACE}) OVER k AS first_place, max({PLACE}) OVER k AS last_place,
                    arg_min({CHANGE}, {PLACE}) OVER k IN ('{BEFORE}', '{DELETE}') AS was_there,
                    arg_max({CHANGE}, {PLACE}) OVER k IN ('{INSERT}', '{AFTER}') AS is_there
                FROM parts WINDOW k AS (PARTITION BY {keys})
            )
            WHERE became IS NOT NULL ORDER BY first_place, {PLACE}
            """,
            parts=rows.select([*self.key, CHANGE, PLACE]).append_column("row_at", pa.array(np.arange(rows.num_rows))),
        )
        done = rows.drop_columns(PLACE).take(found["row_at"])
        return done.set_column(done.column_names.index(CHANGE), CHANGE, found["became"].cast(pa.string()))
