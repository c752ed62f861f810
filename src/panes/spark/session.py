"""The Spark session: an embedded local one where the user brings none, and what Panes needs of any."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pyspark import __version__
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession, functions

from panes.errors import PanesError
from panes.options import shown_options
from panes.spark.delta.jar import with_delta
from panes.spark.folders import scheme_of
from panes.spark.installed import check_java, check_version
from panes.spark.memory import LOCAL, slots_of
from panes.spark.packages import SETTING, listed, spark_defaults, unresolved, with_packages
from panes.spark.store import hadoop_of
from panes.spark.worker_python import use_own_python

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
# Where a file is already that a first attempt has left, it keeps that one, and says nothing.
KEEPING = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
MANY = 8  # partitions for each core; each costs a fifth of a second of a core in a micro-batch, also when it is empty
NO_GATEWAY = "JAVA_GATEWAY_EXITED"  # Java did not start, or found no packages
REDACTION = "spark.redaction.regex"
NEEDED = {"spark.sql.streaming.stateStore.providerClass": ROCKSDB}  # transformWithState runs on no other
FASTER = {  # set where the session does not say otherwise
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def embedded(
    cores: int | None = None, packages: Sequence[str] = (), settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A local Spark with small defaults, or what `settings` say; a session that is there is given these."""
    settings = settings or {}
    found = _running()
    if found is not None:
        give(found, settings)
        return prepare(found)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("panes")
    wanted = {**_defaults(cores or os.cpu_count() or 2, settings), **settings}
    if "spark.remote" not in settings:  # a server has the jars that it has
        wanted = with_packages(wanted, packages)
        wanted = with_delta(wanted, listed(wanted.get(SETTING, "")), spark_defaults(), __version__)
    needed = listed(wanted.get(SETTING, ""))
    for name, value in wanted.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != NO_GATEWAY:
            raise
        check_java()
        raise (unresolved(needed) if needed else error) from None
    if "spark.remote" not in settings:
        spark.sparkContext.setLogLevel("ERROR")
    return prepare(spark)


def give(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Set what a caller asks for in a session that is there; what it does not let be changed is refused."""
    for name, value in settings.items():
        if spark.conf.get(name, None) != value:
            _set(spark, name.removeprefix("spark.hadoop."), value)  # a session hands on what is Hadoop's as it is


def _defaults(cores: int, settings: Mapping[str, str]) -> dict[str, str]:
    """What a session starts with; one on a cluster has an idea of its own of its size, a server of everything."""
    if "spark.remote" in settings:
        return {}
    here = {
        "spark.master": f"local[{cores}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    return {
        **(here if settings.get("spark.master", "local").startswith("local") else {}),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.daemon.module": "panes.spark.daemon",
    }


def _running() -> SparkSession | None:
    """The session of this process, whichever thread began it."""
    try:
        found = SparkSession.active()
    except PySparkRuntimeError:
        return None
    context = getattr(found, "_sc", None)  # Spark Connect has none
    return None if context is not None and context._jsc is None else found


def prepare(spark: SparkSession) -> SparkSession:
    """Set what Panes' operators need of a session, and nothing else of it."""
    check_version(spark.version)
    if spark.conf.get(MANAGER, None) == KEEPING:
        raise _unsafe("", f"Unset {MANAGER}.")
    for name, value in NEEDED.items():
        if spark.conf.get(name, None) != value:
            _set(spark, name, value)
    for name, value in FASTER.items():
        if spark.conf.get(name, None) is None:
            with suppress(PySparkException):  # it is slower without
                spark.conf.set(name, value)
    use_own_python(spark)
    return spark


def _set(spark: SparkSession, name: str, value: str) -> None:
    """Change a setting, or say who has to."""
    try:
        spark.conf.set(name, value)
    except PySparkException as error:
        shown = shown_options({name: value}, redaction(spark))[name]
        why = str(error).splitlines()[0].replace(value or shown, shown)
        text = f"{name} has to be {shown}, and this session does not let it be set: {why}"
        hint = f"Start Spark with --conf {name}={shown}"
        if "IN_DECLARATIVE_PIPELINE" in str(error):
            hint = f"Write {name}: {shown} under configuration in spark-pipeline.yml."
        raise PanesError("spark-settings", text, None, hint) from None


def settings(spark: SparkSession) -> dict[str, str]:
    """What results depend on besides the query, by the names that users know."""
    names = {"time zone": "spark.sql.session.timeZone", "ANSI mode": "spark.sql.ansi.enabled"}
    return {words: spark.conf.get(name) or "" for words, name in names.items()}


def redaction(spark: SparkSession) -> re.Pattern[str] | None:
    """What the session says of the names of secret options. A pattern that only Java can read hides all of them."""
    pattern = spark.conf.get(REDACTION, None)
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except re.error:
        return re.compile("")


def shards_of(spark: SparkSession) -> int:
    """The number of shards of a new query, where none is given."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def too_many_partitions(spark: SparkSession) -> str | None:
    """What to say of a local session with many more partitions than cores, as Spark's default of 200 is."""
    master, partitions = spark.conf.get("spark.master", None) or "", shards_of(spark)
    cores = slots_of(master, executor_cores=None, task_cpus=1) or os.cpu_count() or 1
    if LOCAL.fullmatch(master) is None or partitions <= MANY * cores:
        return None
    return (
        f"spark.sql.shuffle.partitions is {partitions}, with {cores} cores: a micro-batch of a stream takes seconds. "
        f'Build the session with .config("spark.sql.shuffle.partitions", {cores}).'
    )


def check_checkpoint(spark: SparkSession, path: str) -> None:
    """Refuse a file system for which Spark itself takes the manager that keeps the file of a first attempt.

    It does where Hadoop has no AbstractFileSystem for it. Over Spark Connect nobody can tell.
    """
    hadoop = hadoop_of(spark)
    if hadoop is None or spark.conf.get(MANAGER, None) is not None:
        return
    scheme = scheme_of(path) or scheme_of(hadoop.get("fs.defaultFS"))
    setting = f"fs.AbstractFileSystem.{scheme}.impl"
    if hadoop.get(setting) is None:
        hint = f"Set spark.hadoop.{setting}, or choose a checkpoint on another file system."
        raise _unsafe(f", which Spark takes for {scheme}: because {setting} is not set", hint)


def _unsafe(why: str, hint: str) -> PanesError:
    name = KEEPING.rpartition(".")[2]
    text = f"with {name}{why}, a micro-batch that runs again after a crash would lose its state"
    return PanesError("unsafe-checkpoint", text, hint=hint)


def is_spark_function(name: str, spark: SparkSession | None) -> bool:
    """Whether Spark has a function of this name; without a session PySpark tells, which knows nearly all."""
    return name.lower() in functions.__all__ if spark is None else spark.catalog.functionExists(name)
