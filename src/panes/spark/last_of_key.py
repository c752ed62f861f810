"""A micro-batch of changes as what each key comes to: for sinks that hold a table and not its changes."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from panes.kernels.changelog.changes import AFTER, CHANGE, INSERT
from panes.spark.expressions import quoted

DELETED = "panes_deleted"


def last_of_key(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """The row that each key of a micro-batch has after its changes, or that it has none.

    A key may be deleted in one shard and inserted in another: they come together here, and one record is left.
    """
    keys = ", ".join(quoted(name) for name in key)
    partitions = int(changes.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    together = changes.repartition(partitions, *(quoted(name) for name in key))
    deleted = together.selectExpr("*", f"{CHANGE} NOT IN ('{INSERT}', '{AFTER}') AS {DELETED}")
    ranked = deleted.selectExpr("*", f"row_number() OVER (PARTITION BY {keys} ORDER BY {DELETED}) AS panes_rank")
    return ranked.where("panes_rank = 1").drop("panes_rank")
