"""Topics of the test broker: made, filled and read, by Spark and its Java."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr


def make(spark: SparkSession, kafka: str, *topics: str) -> None:
    """Topics as the broker makes them; a first record that makes its own may come too early and never arrive."""
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    settings.put("bootstrap.servers", kafka)
    default = jvm.java.util.Optional.empty()
    wanted = jvm.java.util.ArrayList()
    for topic in topics:
        wanted.add(jvm.org.apache.kafka.clients.admin.NewTopic(topic, default, default))
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    admin.createTopics(wanted).all().get()
    admin.close()


def send(spark: SparkSession, kafka: str, topic: str, rows: Sequence[tuple[str, str | bytes | None]]) -> None:
    """Records of texts, or of bytes."""
    type_ = "binary" if isinstance(rows[0][1], bytes) else "string"
    df = spark.createDataFrame(rows, f"key string, value {type_}").coalesce(1)
    df = df.withColumn("headers", expr("array(struct('from' AS key, CAST(key AS BINARY) AS value))"))
    df.write.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", topic).save()


def taken(spark: SparkSession, kafka: str, topic: str) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", topic)
    records = reader.option("includeHeaders", "true").load()
    return records.selectExpr(
        "CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value", "partition", "offset",
        "CAST(filter(headers, h -> h.key = 'panes-id')[0].value AS STRING) AS id",
    ).orderBy("partition", "offset")  # fmt: skip


def without_repeats(records: DataFrame) -> list[tuple[str, Any]]:
    """Key and value of each record, once: what a reader sees who drops ids that it has seen."""
    by_id: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for one in records.collect():
        by_id[one["id"]].add((one["key"], one["value"]))
    assert all(len(values) == 1 for values in by_id.values())  # an id is that of one row
    return [(key, json.loads(value)) for ((key, value),) in by_id.values()]
