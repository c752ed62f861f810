"""The id of each record: the same when its micro-batch is written again, and that of no other record.

    6f1c…/12/0/7           by place: checkpoint, micro-batch, partition, and how many records are before it there
    6f1c…/12/9a3f…/0       by content: checkpoint, micro-batch, hash, and how many equal records are before it

When a micro-batch runs again, its rows may come in another order: after a restart Spark reads the partitions of a small
topic in another one, it packs files by the number of cores, and what it shuffles comes as it comes. So only records
that were sorted are known by their place. Of others the content counts, and equal ones may change places unseen.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from panes.spark.text_values import literal

ID = "panes-id"
HASH, PLACE, NUMBER = "panes_hash", "panes_place", "panes_number"
ROW_BITS = 8589934591  # of monotonically_increasing_id: the others are the partition's


def by_place(records: DataFrame, batch: str) -> DataFrame:
    """Records with an id, for those that come in the same order when they come again."""
    return _with_id(records, batch, f"spark_partition_id(), '/', monotonically_increasing_id() & {ROW_BITS}")


def by_content(records: DataFrame, batch: str) -> DataFrame:
    """Records with an id, in whatever order they come; those of a key stay in theirs."""
    columns = ", ".join(records.columns)
    keyed = ["key"] if "key" in records.columns else []
    hashed = records.selectExpr("*", f"xxhash64({columns}) AS {HASH}", f"monotonically_increasing_id() AS {PLACE}")
    partitions = int(records.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    together = hashed.repartition(partitions, *(keyed or [HASH]))
    equal = ", ".join([*keyed, HASH])
    number = f"row_number() OVER (PARTITION BY {equal} ORDER BY {columns}) - 1 AS {NUMBER}"
    numbered = together.selectExpr("*", number).sortWithinPartitions(PLACE)
    return _with_id(numbered, batch, f"lower(hex({HASH})), '/', {NUMBER}").drop(HASH, PLACE, NUMBER)


def _with_id(records: DataFrame, batch: str, number: str) -> DataFrame:
    """`batch` is the checkpoint and the number of the micro-batch."""
    found = header(ID, f"concat({literal(batch)}, '/', {number})")
    others = [name for name in records.columns if name != "headers"]
    return records.selectExpr(*others, f"concat(array({found}), headers) AS headers")


def header(name: str, sql: str) -> str:
    return f"struct({literal(name)} AS key, CAST(CAST({sql} AS STRING) AS BINARY) AS value)"
