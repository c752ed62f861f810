"""Brokers are asked before anything starts."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from panes.errors import PanesError
from panes.spark.kafka.broker import check_topics, check_written_topic
from spark.kafka.topics import make

pytestmark = pytest.mark.spark


def refused(spark: SparkSession, servers: str, *topics: str) -> PanesError:
    with pytest.raises(PanesError) as caught:
        check_topics(spark, {"kafka.bootstrap.servers": servers, "subscribe": "x"}, topics)
    assert caught.value.code == "broker-failed"
    return caught.value


def test_a_broker_that_is_there(kafka: str, spark: SparkSession) -> None:
    check_topics(spark, {"kafka.bootstrap.servers": kafka}, ())


def test_a_topic_that_is_missing(kafka: str, spark: SparkSession) -> None:
    assert f"Kafka at {kafka} has no topic nowhere" in refused(spark, kafka, "nowhere").message


def test_a_topic_of_kafkas_own(kafka: str, spark: SparkSession) -> None:
    """A list of topics leaves them out, unless they are asked for."""
    make(spark, kafka, "__transaction_state")
    check_topics(spark, {"kafka.bootstrap.servers": kafka}, ["__transaction_state"])
    check_written_topic(spark, {"kafka.bootstrap.servers": kafka}, "__transaction_state")


def test_settings_that_cannot_be(kafka: str, spark: SparkSession) -> None:
    options = {"kafka.bootstrap.servers": kafka, "kafka.security.protocol": "NONSENSE"}
    with pytest.raises(PanesError) as caught:
        check_topics(spark, options, ())
    assert "NONSENSE" in caught.value.message


def test_a_topic_to_write(kafka: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must be there, unless the broker makes it for the first record: that of the tests does not."""
    options = {"kafka.bootstrap.servers": kafka, "topic": "nowhere"}
    with pytest.raises(PanesError) as caught:
        check_written_topic(spark, options, "nowhere")
    assert caught.value.code == "broker-failed"
    make(spark, kafka, "somewhere")
    check_written_topic(spark, options, "somewhere")
    monkeypatch.setattr("panes.spark.kafka.broker.makes_topics", lambda *_: True)
    check_written_topic(spark, options, "nowhere")
