"""The brokers, asked before anything starts: Spark would ask a broker that is not there for minutes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from panes.connectors.kafka import PASSED_ON, SERVERS
from panes.errors import PanesError, suggestion
from panes.spark.java_errors import said

PATIENCE = {"request.timeout.ms": "10000", "default.api.timeout.ms": "10000"}


def check_topics(spark: SparkSession, options: Mapping[str, str], topics: Sequence[str]) -> None:
    """Refuse brokers that do not answer or let nobody in, and topics that they do not have.

    `options` are those of Spark's reader or writer. Over Spark Connect nobody can ask.
    """
    with _asked(spark, options) as admin:
        found = _topics(admin, spark._jvm) if admin is not None else set(topics)
    _check(found, options, topics)


def check_written_topic(spark: SparkSession, options: Mapping[str, str], topic: str) -> None:
    """The same for a topic that is written, which some brokers make for its first record."""
    with _asked(spark, options) as admin:
        if admin is None:
            return
        found = _topics(admin, spark._jvm)
        made = topic not in found and makes_topics(admin, spark._jvm)
    if not made:
        _check(found, options, [topic])


def _topics(admin: Any, jvm: Any) -> set[str]:
    """All of them, with those that Kafka keeps for itself."""
    options = jvm.org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(True)
    return set(admin.listTopics(options).names().get())


def makes_topics(admin: Any, jvm: Any) -> bool:
    """Whether brokers make a topic that is missing; those that do not say may."""
    resource = jvm.org.apache.kafka.common.config.ConfigResource
    node = admin.describeCluster().nodes().get().iterator().next()
    broker = resource(resource.Type.BROKER, node.idString())
    try:
        settings = admin.describeConfigs(jvm.java.util.Collections.singleton(broker)).all().get().get(broker)
    except Py4JJavaError:  # not everybody may ask
        return True
    found = settings.get("auto.create.topics.enable")
    return found is None or str(found.value()).lower() != "false"


@contextmanager
def _asked(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Any]:
    """A client of the brokers; what fails while it is used is theirs."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        yield None
        return
    settings = jvm.java.util.Properties()
    for name, value in {**PATIENCE, **_client(options)}.items():
        settings.put(name, value)
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        try:
            yield admin
        finally:
            admin.close()
    except Py4JJavaError as error:
        why = said(error.java_exception, options)
        hint = "Look at bootstrap_servers and the options kafka.…, and whether the broker runs."
        raise PanesError("broker-failed", f"Kafka at {options[SERVERS]}: {why}", None, hint) from None


def _check(found: Collection[str], options: Mapping[str, str], topics: Sequence[str]) -> None:
    for topic in topics:
        if topic not in found:
            text = f"Kafka at {options[SERVERS]} has no topic {topic}"
            raise PanesError("broker-failed", text, None, suggestion(topic, found))


def _client(options: Mapping[str, str]) -> dict[str, str]:
    return {name[len(PASSED_ON) :]: value for name, value in options.items() if name.startswith(PASSED_ON)}
