"""Jars: what a connector needs beyond Spark's own, for this Spark and its Scala."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from panes.catalog import Sink, Stream
from panes.connectors import delta
from panes.connectors.kafka import CONNECTOR
from panes.errors import PanesError
from panes.spark.delta.jar import ARTIFACT, is_delta, known_package

SCALA = "2.13"  # of all Spark 4
ARTIFACTS = {"kafka": "spark-sql-kafka-0-10", "avro": "spark-avro"}
SETTING, JARS = "spark.jars.packages", "spark.jars"
DEFAULT = re.compile(r"^[ \t]*(?P<name>[^\s=:#!]+)[ \t]*[=: \t][ \t]*(?P<value>\S.*?)\s*$", re.MULTILINE)


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


def needed_packages(
    declared: Iterable[Stream | Sink], packages: Sequence[str] = (), settings: Mapping[str, str] | None = None
) -> list[str]:
    """The packages for a session that is about to be started, without those that the user has named or installed.

    What is named is in `packages`, in `settings`, in spark-defaults.conf, or in what spark-submit gets.
    """
    effective = {**spark_defaults(), **(settings or {})}
    named = {_artifact(one) for one in [*packages, *listed(effective.get(SETTING, ""))]}
    jars = [jar.name for one in listed(effective.get(JARS, "")) for jar in _files(one)]
    declared = list(declared)
    sources = dict.fromkeys(source for one in declared for source in sources_of(one))
    needed = {package(source, pyspark.__version__): ARTIFACTS[source] for source in sources}
    if any(_asks_for_delta(one) for one in declared) and not any(map(is_delta, named)):
        found = known_package(pyspark.__version__)
        needed |= {found: ARTIFACT} if found is not None else {}  # without one the sink is refused
    return [
        one
        for one, artifact in needed.items()
        if _artifact(one) not in named and not any(jar.startswith(artifact) for jar in jars) and not _brought(artifact)
    ]


def _asks_for_delta(one: Stream | Sink) -> bool:
    """Whether a sink names Spark's own Delta; one that leaves it open is written without."""
    if isinstance(one, Stream) or one.options["connector"] != delta.CONNECTOR:
        return False
    return delta.delta_sink(one).engine == delta.SPARK


def with_packages(settings: Mapping[str, str], packages: Sequence[str]) -> dict[str, str]:
    """Settings that name these packages as well; those of spark-defaults.conf would otherwise be lost."""
    if not packages:
        return dict(settings)
    there = settings.get(SETTING) or spark_defaults().get(SETTING, "")
    return {**settings, SETTING: ",".join(dict.fromkeys([*packages, *listed(there)]))}


def spark_defaults() -> dict[str, str]:
    """What spark-defaults.conf says, if there is one."""
    folder = os.environ.get("SPARK_CONF_DIR")
    file = (Path(folder) if folder else _home() / "conf") / "spark-defaults.conf"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return {found["name"]: found["value"] for found in DEFAULT.finditer(re.sub(r"\\\n\s*", "", text))}


def listed(names: str) -> list[str]:
    """Names with commas between them."""
    return [one.strip() for one in names.split(",") if one.strip()]


def _files(jar: str) -> list[Path]:
    """The files that a jar of `spark.jars` names, which may have a * in its name."""
    path = Path(jar.removeprefix("file:"))
    return [*path.parent.glob(path.name)] or [path]


def _artifact(coordinates: str) -> str:
    """The coordinates of a package without its version."""
    return ":".join(coordinates.split(":")[:2])


def _brought(artifact: str) -> bool:
    """Whether a jar is on the way to Spark already: named for spark-submit, or among Spark's own."""
    return artifact in os.environ.get("PYSPARK_SUBMIT_ARGS", "") or any(_home().glob(f"jars/{artifact}_*.jar"))


def _home() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


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
        _ = spark.read.format(source).load().schema  # over Spark Connect nothing is looked up before
    except Exception as error:  # that an empty read is refused does not matter
        text = str(error)
        return not any(words in text for words in ("DATA_SOURCE_NOT_FOUND", "Failed to find data source"))
    return True


def unresolved(packages: Sequence[str]) -> PanesError:
    """What to say when Spark does not start with packages; it prints itself what it looked for, and where."""
    hint = (
        "Spark looks for them in the caches of Ivy and Maven, then in Maven Central. Name another repository in "
        "spark.jars.repositories, or the jars themselves in spark.jars."
    )
    return PanesError("missing-package", f"Spark did not start with {', '.join(packages)}", None, hint)
