"""What a connector needs beyond Spark's own jars."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.sql import SparkSession

from panes.catalog import Sink, Stream
from panes.errors import PanesError
from panes.spark import packages
from panes.spark.packages import check_packages, needed_packages, unresolved

KAFKA = Stream("orders", (), options={"connector": "kafka", "Format": "AVRO"})
FILES = Stream("files", (), options={"connector": "json", "path": "x"})
OUT = Sink("out", {"connector": "kafka", "topic": "t"})


def test_packages_are_those_of_the_spark_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    version = pyspark.__version__
    assert needed_packages([FILES]) == []
    assert needed_packages([OUT]) == [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"]
    assert needed_packages([FILES, KAFKA, OUT]) == [
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}",
        f"org.apache.spark:spark-avro_2.13:{version}",
    ]


def test_what_the_user_names_is_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars /x/spark-sql-kafka-0-10_2.13-4.2.0.jar pyspark-shell")
    assert needed_packages([KAFKA]) == [f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}"]


def test_packages_that_cannot_be_had() -> None:
    error = unresolved(["a:b:1"])
    assert error.code == "missing-package"
    assert "a:b:1" in error.message


@pytest.mark.spark
def test_a_session_that_runs_is_told_what_to_add(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "has_source", lambda spark, source: False)
    check_packages(spark, FILES)
    with pytest.raises(PanesError) as caught:
        check_packages(spark, OUT)
    assert caught.value.code == "missing-package"
    assert f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}" in (caught.value.hint or "")


@pytest.mark.spark
def test_sources_that_are_there(spark: SparkSession) -> None:
    assert packages.has_source(spark, "parquet")
    assert not packages.has_source(spark, "nonsense")
