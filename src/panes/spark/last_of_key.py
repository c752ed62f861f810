"""A micro-batch of changes as what each key comes to: for sinks that hold a table and not its changes."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from panes.errors import PanesError
from panes.kernels.changelog.changes import AFTER, CHANGE, INSERT
from panes.spark.expressions import quoted
from panes.spark.text_values import literal

DELETED = "panes_deleted"


def last_of_key(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """The row that each key of a micro-batch has after its changes, or that it has none.

    A key may be deleted in one shard and inserted in another: they come together here, and one record is left.
    """
    keys = ", ".join(quoted(name) for name in key)
    partitions = int(changes.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    together = changes.repartition(partitions, *(quoted(name) for name in key))
    deleted = together.selectExpr("*", f"{CHANGE} NOT IN ('{INSERT}', '{AFTER}') AS {DELETED}")
    of_key = f"OVER (PARTITION BY {keys} ORDER BY {DELETED})"
    ranked = deleted.selectExpr(
        "*", f"row_number() {of_key} AS panes_rank", f"lead({DELETED}) {of_key} AS panes_next_deleted"
    )
    error = two_rows_of_a_key()
    stop = f"raise_error({literal(f'PanesError: {error.code}: {error.message}{chr(10)}hint: {error.hint}')})"
    one = ranked.where(f"panes_rank = 1 AND CASE WHEN NOT panes_next_deleted THEN {stop} ELSE true END")
    return one.drop("panes_rank", "panes_next_deleted")


def two_rows_of_a_key() -> PanesError:
    """Which of the two is the later one nobody can tell: a micro-batch has no order."""
    hint = "Write what the changes of a key come to in a micro-batch: one row, or a delete. Results of Panes are so."
    return PanesError("inconsistent-change", "a key has two new rows in one micro-batch", None, hint)
