"""Shard ids: what Spark's hash partitioner does with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from panes.spark.shards import hashed_to, murmur3, shard_ids


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_hash_has_one_number(value: int) -> None:
    assert hashed_to(murmur3(value)) == value


@given(st.integers(1, 300), st.integers(1, 300))
def test_shards_are_spread_evenly_over_any_number_of_partitions(shards: int, partitions: int) -> None:
    held = [0] * partitions
    for one in shard_ids(shards):
        held[murmur3(one) % partitions] += 1
    assert max(held) - min(held) <= 1


@pytest.mark.spark
def test_spark_hashes_the_id_of_a_shard_to_its_number(spark: SparkSession) -> None:
    ids = spark.createDataFrame([(one,) for one in shard_ids(100)], "shard int")
    assert [row[0] for row in ids.selectExpr("hash(shard)").collect()] == list(range(100))
