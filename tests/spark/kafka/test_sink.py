"""The records that a micro-batch becomes, before they are in Kafka."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from panes.connectors.kafka import Changes, KafkaSink
from panes.spark.kafka.sink import records

pytestmark = pytest.mark.spark


def sink(key: tuple[str, ...], headers: tuple[str, ...] = (), changes: Changes | None = None) -> KafkaSink:
    return KafkaSink({}, key, headers, changes)


def made(df: DataFrame, out: KafkaSink, changelog: bool = False) -> list[tuple[Any, Any, dict[str, bytes]]]:
    found = records(df, out, changelog, "id/7").collect()
    return [
        (
            row.asDict().get("key"),
            json.loads(row["value"]) if row["value"] else None,
            {h["key"]: h["value"] for h in row["headers"]},
        )
        for row in found
    ]


def test_rows(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", None, 1), ("b", 2, 2)], "k string, `v w` int, h int").coalesce(1)
    df = df.selectExpr("*", "timestamp'2024-01-01 00:00:00.000001' AS ts")
    (first, second) = made(df, sink(("k",), ("h",)))
    ts = "2024-01-01T00:00:00.000001Z"
    assert all(found[2].pop("panes-id").startswith(b"id/7/") for found in (first, second))
    assert first == ("a", {"k": "a", "v w": None, "h": 1, "ts": ts}, {"h": b"1"})
    assert second == ("b", {"k": "b", "v w": 2, "h": 2, "ts": ts}, {"h": b"2"})


Values = list[tuple[str | None, int]]


def ids(spark: SparkSession, values: Values, out: KafkaSink, partitions: int) -> dict[bytes, tuple[Any, str]]:
    df = spark.createDataFrame(values, "k string, v int").repartition(partitions)
    found = made(df, out)
    by_id = {headers["panes-id"]: (key, json.dumps(value)) for key, value, headers in found}
    assert len(by_id) == len(found) == len(values)
    return by_id


@pytest.mark.parametrize("key", [("k",), ("k", "v"), ()])
def test_an_id_goes_with_its_row(spark: SparkSession, key: tuple[str, ...]) -> None:
    """In whatever order and partitions rows come; equal ones have different ids."""
    values: Values = [(f"k{n % 4}", n % 7) for n in range(60)] + [(None, 1), (None, 1)]
    first = ids(spark, values, sink(key, ("v",)), 3)
    for partitions in (1, 5):
        assert ids(spark, values[::-1], sink(key, ("v",)), partitions) == first


def test_rows_of_a_key_stay_in_order(spark: SparkSession) -> None:
    df = spark.range(2000).selectExpr("id % 7 AS k", "id AS v").coalesce(1)
    found: dict[str, list[int]] = defaultdict(list)
    for key, value, _ in made(df, sink(("k",))):
        found[key].append(value["v"])
    assert all(values == sorted(values) for values in found.values())


def test_two_rows_of_a_key(spark: SparkSession) -> None:
    """Which of them is the later one nobody can tell."""
    df = spark.createDataFrame(
        [("insert", "a", 1), ("update_postimage", "a", 2)], "_change_type string, k string, v int"
    )
    with pytest.raises(Exception, match="PanesError: inconsistent-change: a key has two new rows"):
        made(df, sink(("k",), changes=Changes.UPSERT), changelog=True)


def test_several_columns_are_an_object(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1)], "k string, v int")
    ((key, _, _),) = made(df, sink(("v", "k")))
    assert json.loads(key) == {"v": 1, "k": "a"}


def test_upserts(spark: SparkSession) -> None:
    """A key that is deleted in one partition and inserted in another is there afterwards."""
    changes = [
        ("delete", "moved", 1), ("update_preimage", "changed", 1), ("delete", "gone", 1),
        ("insert", "new", 2), ("update_postimage", "changed", 2), ("insert", "moved", 2),
    ]  # fmt: skip
    for rows in (changes, changes[::-1]):
        df = spark.createDataFrame(rows, "_change_type string, k string, v int").repartition(3)
        found = made(df, sink(("k",), changes=Changes.UPSERT), changelog=True)
        assert sorted((key, value) for key, value, _ in found) == [
            ("changed", {"k": "changed", "v": 2}), ("gone", None), ("moved", {"k": "moved", "v": 2}),
            ("new", {"k": "new", "v": 2}),
        ]  # fmt: skip


def test_changes_as_rows(spark: SparkSession) -> None:
    df = spark.createDataFrame([("delete", "a")], "_change_type string, k string")
    ((key, value, _),) = made(df, sink(("k",), changes=Changes.ROWS), changelog=True)
    assert (key, value) == ("a", {"_change_type": "delete", "k": "a"})
