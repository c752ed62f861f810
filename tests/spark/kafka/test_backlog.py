"""How much waits in a topic, as a run tells it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.spark.report import Report
from spark.kafka.topics import make, send

pytestmark = pytest.mark.spark


def test_the_backlog_of_a_topic(kafka: str, spark: SparkSession) -> None:
    make(spark, kafka, "waiting")
    send(spark, kafka, "waiting", [("k", f'{{"v": {n}}}') for n in range(10)])
    reports: list[Report] = []
    Engine(spark).run(
        f"""
        CREATE STREAM t (v BIGINT) WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'waiting',
            format = 'json', starting_offsets = 'earliest', max_offsets_per_trigger = '4');
        CREATE SINK out WITH (connector = 'noop');
        INSERT INTO out SELECT v FROM t;
        """,
        once=True,
        report=reports.append,
    )
    assert [report.rows_read for report in reports] == [4, 4, 2]
    assert [report.backlog for report in reports] == [6, 2, 0]
