"""Jars: what a connector needs beyond Spark's own, for this Spark and its Scala."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from panes.catalog import Sink, Stream
from panes.connectors.kafka import CONNECTOR
from panes.errors import PanesError

SCALA = "2.13"  # of all Spark 4
ARTIFACTS = {"kafka": "spark-sql-kafka-0-10", "avro": "spark-avro"}
SETTING = "spark.jars.packages"


def sources_of(one: Stream | Sink) -> list[str]:
    """The data sources of Spark that a stream or sink needs, of those that Spark does not bring along."""
    if one.options.get("connector") != CONNECTOR:
        return []
    formats = [value.lower() for name, value in one.options.items() if name.lower() == "format"]
    return ["kafka", *(["avro"] if "avro" in formats else [])]


def package(source: str, version: str) -> str:
    """The Maven coordinates of what Spark needs for a data source.

    >>> package("kafka", "4.2.0")
    'org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'
    """
    return f"org.apache.spark:{ARTIFACTS[source]}_{SCALA}:{version}"


def needed_packages(declared: Iterable[Stream | Sink]) -> list[str]:
    """The packages for a session that is about to be started; what the user has named or installed is left out."""
    sources = dict.fromkeys(source for one in declared for source in sources_of(one))
    return [package(source, pyspark.__version__) for source in sources if not _brought(ARTIFACTS[source])]


def _brought(artifact: str) -> bool:
    """Whether a jar is on the way to Spark already: named for spark-submit, or among Spark's own."""
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    return artifact in os.environ.get("PYSPARK_SUBMIT_ARGS", "") or any(home.glob(f"jars/{artifact}_*.jar"))


def check_packages(spark: SparkSession, one: Stream | Sink) -> None:
    """Refuse a stream or sink whose data source this session does not have."""
    missing = [source for source in sources_of(one) if not has_source(spark, source)]
    if missing:
        packages = ",".join(package(source, spark.version) for source in missing)
        kind = "stream" if isinstance(one, Stream) else "sink"
        hint = f"Start Spark with --packages {packages}, or set {SETTING} before the session starts."
        raise PanesError(
            "missing-package", f"this Spark session has no jar for {', '.join(missing)} ({kind} {one.name})", None, hint
        )


def has_source(spark: SparkSession, source: str) -> bool:
    try:
        spark.read.format(source).load()
    except Exception as error:  # that an empty read is refused does not matter
        text = str(error)
        return not any(words in text for words in ("DATA_SOURCE_NOT_FOUND", "Failed to find data source"))
    return True


def unresolved(packages: Sequence[str]) -> PanesError:
    """What to say when Spark does not start with packages; it prints itself what it looked for, and where."""
    hint = (
        "Spark looks for them in the caches of Ivy and Maven, then in Maven Central. Name another repository, or the "
        "jars themselves, in PYSPARK_SUBMIT_ARGS='--repositories … pyspark-shell' or '--jars … pyspark-shell'."
    )
    return PanesError("missing-package", f"Spark did not start with {', '.join(packages)}", None, hint)
