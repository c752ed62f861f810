"""The brokers, asked before anything starts: Spark would ask a broker that is not there for minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from panes.connectors.kafka import PASSED_ON
from panes.errors import PanesError, suggestion

PATIENCE = {"request.timeout.ms": "10000", "default.api.timeout.ms": "10000"}


def check_topics(spark: SparkSession, options: Mapping[str, str], topics: Sequence[str]) -> None:
    """Refuse brokers that do not answer or let nobody in, and topics that they do not have.

    `options` are those of Spark's reader or writer. Over Spark Connect nobody can ask.
    """
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        return
    servers = options["kafka.bootstrap.servers"]
    settings = jvm.java.util.Properties()
    for name, value in {**PATIENCE, **_client(options)}.items():
        settings.put(name, value)
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        try:
            found = set(admin.listTopics().names().get())
        finally:
            admin.close()
    except Py4JJavaError as error:
        why = _cause(error.java_exception)
        hint = "Look at bootstrap_servers and the options kafka.…, and whether the broker runs."
        raise PanesError("broker-failed", f"Kafka at {servers}: {why}", None, hint) from None
    for topic in topics:
        if topic not in found:
            raise PanesError(
                "broker-failed", f"Kafka at {servers} has no topic {topic}", None, suggestion(topic, found)
            )


def _client(options: Mapping[str, str]) -> dict[str, str]:
    return {name[len(PASSED_ON) :]: value for name, value in options.items() if name.startswith(PASSED_ON)}


def _cause(error: Any) -> str:
    """What a Java exception says in the end."""
    while error.getCause() is not None:
        error = error.getCause()
    return str(error.getMessage())
