"""`panes why` where one partition of a topic is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.kafka.topics import make
from spark.watched import asked_later, watched

pytestmark = pytest.mark.spark


def test_a_silent_partition_is_named(
    kafka: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(spark, kafka, "uneven")
    rows = [(f'{{"ts": "2024-01-01T12:00:{second:02}Z", "k": "a"}}', 0) for second in range(50)]
    records = spark.createDataFrame(rows, "value string, partition int").coalesce(1)
    records.write.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", "uneven").save()
    script = f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS)
        WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'uneven', format = 'json',
            starting_offsets = 'earliest');
        CREATE SINK out WITH (connector = 'noop');
        INSERT INTO out SELECT k, count(*) AS n FROM t GROUP BY tumblingwindow('mi', 1), k;
    """
    with watched(script, tmp_path / "checkpoint", spark):
        found = asked_later(tmp_path / "checkpoint", 240, monkeypatch)["out"]
    assert found["silent-partition"] == (
        "partition 1 of topic uneven has never had a row, while others have: what waits for rows of its keys waits for "
        "it. The watermark does not: it goes by the latest row of all"
    )
    assert found["open-windows"].startswith("window 2024-01-01 12:00:00–12:01:00, with 1 group in state, closes when ")
    stopped = asked_later(tmp_path / "checkpoint", 0, monkeypatch)["1-out"]
    assert stopped["open-windows"] == found["open-windows"]
