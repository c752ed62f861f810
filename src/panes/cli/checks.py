"""What `panes doctor` looks at: each check says what it found, and the way out if that is not good."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from panes.cli.output.failure_text import in_short
from panes.cli.output.figures import size
from panes.errors import PanesError
from panes.spark.folders import folder, is_local
from panes.spark.installed import INSTALL_JAVA, OLDEST, found_java, numbers, pyspark_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED_SPARK = (OLDEST, (4, 4))
MIB = 1024**2
LITTLE, TOO_LITTLE = 1024 * MIB, 100 * MIB
EXTRAS = {
    "delta": "deltalake",
    "metrics": "prometheus-client",
    "play": "starlette",
    "postgres": "psycopg",
    "shell": "prompt-toolkit",
}
NEEDED_PACKAGES = ("pyarrow", "numpy", "duckdb", "sqlglot", "pandas", "protobuf")


class Grade(Enum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Check:
    """One finding."""

    what: str
    grade: Grade
    found: str
    remedy: str = ""


def ok(what: str, found: str) -> Check:
    return Check(what, Grade.OK, found)


def warn(what: str, found: str, remedy: str) -> Check:
    return Check(what, Grade.WARN, found, remedy)


def fail(what: str, found: str, remedy: str) -> Check:
    return Check(what, Grade.FAIL, found, remedy)


def without_spark(checkpoint: str | None) -> Iterator[Check]:
    """Everything that can be told before Spark is started."""
    yield java()
    yield spark_version()
    yield workers(os.environ.get("PYSPARK_PYTHON"))
    yield packages()
    for extra, package in EXTRAS.items():
        yield optional(extra, package)
    yield disk("disk for temporary files", Path(tempfile.gettempdir()))
    if checkpoint is not None and is_local(checkpoint):
        yield disk("disk for the checkpoint", Path(folder(checkpoint)))


def java() -> Check:
    found = found_java()
    if found.problem is not None:
        return fail("Java", found.problem, INSTALL_JAVA)
    return ok("Java", f"{found.version} ({found.path})")


def spark_version() -> Check:
    version = pyspark_version()
    lowest, above = (".".join(map(str, one)) for one in NEEDED_SPARK)
    if version is None:
        return fail("Spark", "PySpark is not installed", "pip install 'panes[spark]'")
    remedy = f"pip install 'pyspark>={lowest},<{above}'"
    if not NEEDED_SPARK[0] <= numbers(version) < NEEDED_SPARK[1]:
        return fail("Spark", f"PySpark {version}", remedy)
    home = os.environ.get("SPARK_HOME")
    if home and version not in home and not any(Path(home).glob(f"jars/spark-core_*-{version}.jar")):
        return warn("Spark", f"PySpark {version}, but SPARK_HOME is {home}", "Unset SPARK_HOME, or use its version.")
    return ok("Spark", version)


def workers(python: str | None) -> Check:
    """Spark's Python workers are of the version of the driver, or every query fails."""
    ours = ".".join(map(str, sys.version_info[:2]))
    if python is None:
        return ok("Python workers", f"{ours} ({sys.executable})")
    code = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    remedy = f"Unset PYSPARK_PYTHON, or set it to {sys.executable}."
    try:
        theirs = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return fail("Python workers", f"PYSPARK_PYTHON does not start: {error}", remedy)
    if theirs != ours:
        return fail("Python workers", f"PYSPARK_PYTHON is {theirs}, and this is {ours}", remedy)
    return ok("Python workers", f"{theirs} ({python})")


def packages() -> Check:
    missing = [name for name in NEEDED_PACKAGES if _version(name) is None]
    if missing:
        return fail("packages", f"missing: {', '.join(missing)}", "pip install panes")
    return ok("packages", ", ".join(f"{name} {_version(name)}" for name in NEEDED_PACKAGES))


def optional(extra: str, package: str) -> Check:
    version = _version(package)
    if version is None:
        return warn(f"extra {extra}", "not installed", f"If you need it: pip install 'panes[{extra}]'")
    return ok(f"extra {extra}", f"{package} {version}")


def disk(what: str, folder: Path) -> Check:
    """Whether files can be written, and how much there is room for."""
    at = next((one for one in (folder, *folder.absolute().parents) if one.exists()), Path("/"))
    if not os.access(at, os.W_OK):
        return fail(what, f"{at} cannot be written", "Choose another folder, or get the right to write there.")
    free = shutil.disk_usage(at).free
    found, remedy = f"{size(free)} free in {at}", "Free some, or choose another disk (TMPDIR, --checkpoint)."
    if free < TOO_LITTLE:
        return fail(what, found, remedy)
    return warn(what, found, remedy) if free < LITTLE else ok(what, found)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def with_spark(start: Callable[[], SparkSession], checkpoint: str | None) -> Iterator[Check]:
    """What takes a Spark that runs: its settings, its connectors, and a window from end to end."""
    try:
        spark = start()
    except Exception as error:
        yield fail("Spark starts", in_short(error), "Look at Java and Spark above.")
        return
    yield ok("Spark starts", f"{spark.version} at {spark.conf.get('spark.master', 'a server')}")
    yield settings(spark)
    yield from connectors(spark)
    if checkpoint is not None and not is_local(checkpoint):
        yield store(spark, checkpoint)
    yield window(spark)


def settings(spark: SparkSession) -> Check:
    from panes.spark import session

    shown = ", ".join(f"{name} {value}" for name, value in session.settings(spark).items())
    return ok("settings", f"{shown}, shards {session.shards_of(spark)}")


def connectors(spark: SparkSession) -> Iterator[Check]:
    from panes.spark.packages import ARTIFACTS, has_source, package

    for source in ARTIFACTS:
        needed = package(source, spark.version)
        if has_source(spark, source):
            yield ok(f"connector {source}", "its jar is there")
        else:
            remedy = f"panes run fetches {needed} when a script needs it; without network, name the jar with --conf."
            yield warn(f"connector {source}", "no jar yet", remedy)
    yield delta_sinks(spark)


def delta_sinks(spark: SparkSession) -> Check:
    """What writes Delta tables; delta-rs is as good, so that nothing is missing."""
    from panes.spark.delta.engine import found_in, suits

    found = found_in(spark)
    what = f"Spark, with {found.jar}" if suits(found) else "delta-rs"
    return ok("Delta sinks", f"{what}, unless a sink says otherwise")


def store(spark: SparkSession, checkpoint: str) -> Check:
    """Whether a file can be written and read in another store, as safely as a checkpoint needs it."""
    from panes.spark.session import check_checkpoint
    from panes.spark.store import store_path

    try:
        check_checkpoint(spark, checkpoint)
        file = store_path(checkpoint, spark) / ".panes-doctor"
        file.publish("ok")
        found = file.read_text()
        file.remove()
    except PanesError as error:
        return fail("store for the checkpoint", error.message, error.hint or "")
    assert found == "ok"
    return ok("store for the checkpoint", f"{checkpoint} can be written and read")


def window(spark: SparkSession) -> Check:
    """A window over two rows: Python workers, Arrow and the state store have to work for it."""
    from panes.testing import Stream, replay

    rows = [("2024-01-01 00:00:01", 1), ("2024-01-01 00:00:02", 2)]
    stream = Stream("ts timestamp, v bigint", [rows], time="ts", watermark="0 seconds")
    try:
        out = replay("SELECT sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10)", spark=spark, t=stream)
    except Exception as error:
        return fail("state store", in_short(error), "panes run --debug shows all that Spark says.")
    if out.rows != [{"s": 3}]:
        return fail("state store", f"a window gave {out.rows}", "This is a defect: please report it.")
    return ok("state store", "RocksDB: a window ran from end to end")
