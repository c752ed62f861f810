"""What a file system refuses, as errors of Panes: a full disk, a folder of another user, a bucket that is not there."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from panes.errors import PanesError
from panes.spark.folders import scheme_of

ROOM = "Make room and start it again: it resumes where it stopped."
RIGHTS = "Choose a folder that this user can write."
HINTS = {errno.ENOSPC: ROOM, errno.EDQUOT: ROOM, errno.EROFS: RIGHTS, errno.EACCES: RIGHTS, errno.EPERM: RIGHTS}
# The system's own words, which Java and Python pass on; Hadoop does not say why it could not make a folder.
WORDS = {**{os.strerror(number): hint for number, hint in HINTS.items()}, "Mkdirs failed to create": RIGHTS}
SYSTEM = re.compile(rf"(?P<line>[^\n]*(?P<words>{'|'.join(map(re.escape, WORDS))})[^\n]*)")
ARTIFACTS = {"s3a": "hadoop-aws", "abfs": "hadoop-azure", "abfss": "hadoop-azure", "gs": "hadoop-gcp"}
SETTINGS = "Look at the settings of its file system: spark.hadoop.fs.…"
NO_CLASS = ("ClassNotFoundException", "NoClassDefFoundError", "No FileSystem for scheme")
EXCEPTION = re.compile(r"^.*?\b(?:[\w$]+\.)*(?P<name>[\w$]+(?:Exception|Error)): ")


def refused_by_system(path: Path, error: OSError) -> PanesError:
    """An error of the operating system at a file or folder."""
    return PanesError("store-failed", f"{path}: {error.strerror or error}", None, HINTS.get(error.errno or 0))


def full_or_forbidden(text: str, where: str) -> PanesError | None:
    """What Spark says of a query that failed, if the system refused to write."""
    found = SYSTEM.search(text)
    return (
        PanesError("store-failed", f"{shortened(found['line'])}{where}", None, WORDS[found["words"]]) if found else None
    )


def refused_by_java(path: str, error: Exception, spark: SparkSession) -> PanesError:
    """An error of Hadoop at a file or folder: the jar may be missing, or the store says no."""
    text = _text(error)
    if any(words in text for words in NO_CLASS):
        return _no_jar(path, text, spark)
    return PanesError("store-failed", f"{path} cannot be reached: {shortened(text)}", None, SETTINGS)


def refused_by_store(error: Exception, what: str) -> PanesError | None:
    """What went wrong when Spark itself looked at a store, if it did."""
    if not isinstance(error, Py4JJavaError) or "java.io.IOException" not in _classes(error):
        return None
    return PanesError("store-failed", f"{what}: {shortened(_text(error))}", None, SETTINGS)


def is_missing(error: BaseException | None) -> bool:
    """Whether Hadoop says that there is no such file."""
    return isinstance(error, Py4JJavaError) and _classes(error)[0] == "java.io.FileNotFoundException"


def _no_jar(path: str, text: str, spark: SparkSession) -> PanesError:
    scheme = scheme_of(path) or "file"
    hint = f"Set spark.hadoop.fs.{scheme}.impl, and start Spark with the jars that have it."
    if scheme in ARTIFACTS:
        version = spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion()  # type: ignore[union-attr]
        hint = f"Start Spark with --packages org.apache.hadoop:{ARTIFACTS[scheme]}:{version}."
    return PanesError("missing-package", f"this Spark cannot reach {path}: {shortened(text)}", None, hint)


def _text(error: Exception) -> str:
    return str(error.java_exception.toString() if isinstance(error, Py4JJavaError) else error)


def _classes(error: Py4JJavaError) -> list[str]:
    """The class of an error of Java, and those above it."""
    found, now = [], error.java_exception.getClass()
    while now is not None:
        found.append(str(now.getName()))
        now = now.getSuperclass()
    return found


def shortened(text: str) -> str:
    """The first line of an error, without the names of Java's classes before it; a single word keeps the last one.

    >>> shortened("org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device")
    'No space left on device'
    >>> shortened("java.lang.IllegalArgumentException: java.net.UnknownHostException: nowhere")
    'UnknownHostException: nowhere'
    """
    line, name = text.strip().partition("\n")[0], ""
    while (named := EXCEPTION.search(line)) is not None and named.end() < len(line):
        line, name = line[named.end() :], named["name"]
    return line.strip() if " " in line or not name else f"{name}: {line}"
