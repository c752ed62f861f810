"""The end of a changelog: pairs of which only one side passed WHERE or HAVING become an insert or a delete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE, DELETE, INSERT
from panes.kernels.duck import query, quoted
from panes.kernels.late_rows import LATE
from panes.spark.expressions import quoted as spark_quoted
from panes.spark.memory import Memory, memory_of
from panes.spark.pack import IDENTITY
from panes.spark.worker import set_up
from panes.spark.worker_python import check_workers

PASS = "panes_pass"


def changelog_output(changes: DataFrame) -> DataFrame:
    """The changelog that a user sees: `_change_type` first, no pair with equal sides."""
    check_workers(changes.sparkSession)
    names = [name for name in changes.columns if name not in (CHANGE, PASS, LATE, *IDENTITY)]
    late = [LATE] if LATE in changes.columns else []
    selected = changes.selectExpr(
        f"{CHANGE} AS {CHANGE}",
        *(f"{spark_quoted(name)} AS c{i}" for i, name in enumerate(names)),
        *late,
        PASS if PASS in changes.columns else f"true AS {PASS}",
    )
    schema = selected.drop(PASS).schema
    done = selected.mapInArrow(ChangelogOutput(len(names), memory_of(changes.sparkSession)), schema)
    return done.selectExpr(CHANGE, *(f"c{i} AS {spark_quoted(name)}" for i, name in enumerate(names)), *late)


@dataclass(frozen=True)
class ChangelogOutput:
    """The function that runs in `mapInArrow`; a preimage is directly before its postimage, maybe in the next batch.

    Late rows are no changes: they pass.
    """

    width: int
    memory: Memory = field(default_factory=Memory)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        set_up(self.memory)
        held: pa.Table | None = None
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if held is not None:
                table, held = pa.concat_tables([held, table]), None
            if table.num_rows and table[CHANGE][-1].as_py() == BEFORE:
                table, held = table.slice(0, table.num_rows - 1), table.slice(table.num_rows - 1)
            if table.num_rows:
                yield from self._rows_out(table).combine_chunks().to_batches()
        if held is not None:
            yield from self._rows_out(held).combine_chunks().to_batches()

    def _rows_out(self, table: pa.Table) -> pa.Table:
        """Each row with what became of it; rows that pass nothing on are dropped."""
        columns = [f"c{i}" for i in range(self.width)]
        same = " AND ".join(f"{quoted(c)} IS NOT DISTINCT FROM lead({quoted(c)}) OVER w" for c in columns) or "true"
        behind = " AND ".join(f"{quoted(c)} IS NOT DISTINCT FROM lag({quoted(c)}) OVER w" for c in columns) or "true"
        before = f"lag({PASS} AND {CHANGE} = '{BEFORE}', 1, false) OVER w"
        after = f"lead({PASS} AND {CHANGE} = '{AFTER}', 1, false) OVER w"
        sql = f"""
            SELECT place, CASE
                WHEN NOT {PASS} THEN NULL
                WHEN {CHANGE} = '{BEFORE}' AND NOT ({after}) THEN '{DELETE}'
                WHEN {CHANGE} = '{AFTER}' AND NOT ({before}) THEN '{INSERT}'
                WHEN {CHANGE} = '{BEFORE}' AND {same} THEN NULL
                WHEN {CHANGE} = '{AFTER}' AND {behind} THEN NULL
                ELSE {CHANGE} END AS became
            FROM parts WINDOW w AS (ORDER BY place) ORDER BY place"""
        placed = table.append_column("place", pa.array(range(table.num_rows), pa.int64()))
        became = query(sql, parts=placed.select([CHANGE, PASS, "place", *columns]))["became"]
        changed = table.set_column(table.column_names.index(CHANGE), CHANGE, became.cast(pa.string()))
        passes = pc.is_valid(became)
        if LATE in table.column_names:
            passes = pc.or_(passes, pc.is_valid(table[LATE]))
        return changed.filter(passes).drop_columns([PASS])
