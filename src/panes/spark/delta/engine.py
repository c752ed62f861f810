"""What writes a Delta table: Spark's own Delta, where a session has the one that was built for its Spark, or delta-rs.

The name of Delta's jar says which Spark it was built for. It is not tried out: on another one it may write, and then
fail to read what it has written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from panes.connectors.delta import DELTA_RS, SPARK, DeltaSink
from panes.errors import PanesError
from panes.spark.delta.jar import EXTENSION, SETTINGS, built_for, known_package
from panes.spark.folders import scheme_of
from panes.spark.installed import numbers
from panes.spark.packages import listed

TESTED = ((4, 2),)  # the Sparks for which it is taken unasked
# What Delta's jar does there keeps two drivers apart only in one process; delta-rs writes on condition.
UNSAFE = ("s3", "s3a", "s3n")
WITHOUT = f"Leave engine out, or write engine = '{DELTA_RS}': both write the same tables."


@dataclass(frozen=True)
class Found:
    """What a session has of Delta: the file name of the jar that its class is in, and which settings name it."""

    spark: str
    jar: str | None
    extension: bool = True
    catalog: bool = True
    connect: bool = False

    @property
    def built_for(self) -> tuple[int, ...] | None:
        """The Spark that the jar was built for, if its name tells."""
        return built_for(self.jar or "")


def engine_of(sink: DeltaSink, found: Found) -> str:
    """Which engine writes a sink: the one that it names, if it can be had, or the one that suits the session."""
    if sink.engine == SPARK:
        if (why := lacking(found)) is not None:
            raise why
        return SPARK
    if sink.engine is not None:
        return sink.engine
    elsewhere = bool(sink.storage) or scheme_of(sink.path) in UNSAFE
    return SPARK if suits(found) and not elsewhere else DELTA_RS


def suits(found: Found) -> bool:
    """Whether Spark writes tables in a session unasked."""
    return lacking(found) is None and numbers(found.spark) in TESTED


def lacking(found: Found) -> PanesError | None:
    """Why Spark itself cannot write Delta tables in a session; None where it can."""
    version = ".".join(map(str, numbers(found.spark)))
    package = known_package(found.spark)
    if found.connect:
        text = "engine = 'spark' does not work over Spark Connect"
        return PanesError("stream-options", text, None, WITHOUT)
    if found.jar is None and package is None:
        text = f"engine = 'spark' needs Delta's jar, and Panes knows none for Spark {version}"
        return PanesError("missing-package", text, None, WITHOUT)
    if found.jar is None:
        hint = f"Start Spark with --packages {package} {_as_options()}"
        return PanesError(
            "missing-package", "engine = 'spark' needs Delta's jar, and this session has none", None, hint
        )
    if found.built_for != numbers(found.spark):
        built = f"is for Spark {'.'.join(map(str, found.built_for))}" if found.built_for else "names no Spark"
        text = f"engine = 'spark' needs Delta's jar for Spark {version}, and {found.jar} {built}"
        hint = f"Start Spark with --packages {package} instead." if package is not None else WITHOUT
        return PanesError("missing-package", text, None, hint)
    if not (found.extension and found.catalog):
        name = next(iter(SETTINGS)) if not found.extension else list(SETTINGS)[1]
        text = f"engine = 'spark' needs Delta in {name}, and this session does not name it"
        return PanesError("spark-settings", text, None, f"Start Spark with {_as_options()}")
    return None


def found_in(spark: SparkSession) -> Found:
    """What this session has of Delta; over Spark Connect only the server knows."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        return Found(spark.version, None, connect=True)
    named = {name: listed(spark.conf.get(name, None) or "") for name in SETTINGS}
    extension, catalog = (value in named[name] for name, value in SETTINGS.items())
    return Found(spark.version, _jar(jvm), extension, catalog)


def _jar(jvm: Any) -> str | None:
    """The name of the file that has Delta's classes."""
    try:
        loaded = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(EXTENSION)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.lang.ClassNotFoundException":
            raise
        return None
    source = loaded.getProtectionDomain().getCodeSource()
    return PurePosixPath(source.getLocation().getPath()).name if source is not None else ""


def _as_options() -> str:
    return " ".join(f"--conf {name}={value}" for name, value in SETTINGS.items())
