"""Files beside Spark's checkpoint, wherever Spark can write.

On this machine Python reads and writes them; anywhere else Hadoop's FileSystem does, as Spark does itself: what is
published there goes through the same manager as Spark's own files, and is as safe as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from panes.errors import PanesError
from panes.spark.folders import folder, is_local, scheme_of
from panes.spark.store_errors import is_missing, refused_by_java, refused_by_system

MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager"


class StorePath(Protocol):
    """A file or folder; as text it is what Spark gets."""

    @property
    def name(self) -> str: ...

    @property
    def parent(self) -> StorePath: ...

    def __truediv__(self, name: str) -> StorePath: ...

    def exists(self) -> bool: ...

    def names(self) -> list[str]:
        """What a folder holds, in order; one that is not there holds nothing."""

    def read_text(self) -> str: ...

    def publish(self, text: str) -> None:
        """Write a file that is there as a whole or not at all."""

    def write_text(self, text: str) -> None:
        """Write a file over what is there; a reader may find it empty, and never finds it gone."""

    def make_folder(self) -> None: ...

    def remove(self) -> None:
        """Remove a file, or a folder with all that is in it, if it is there."""


def store_path(given: str | Path, spark: SparkSession) -> StorePath:
    """A file or folder by its path or URI; a path without a scheme is on the file system that is Spark's default."""
    path = str(given)
    scheme, hadoop = scheme_of(path), hadoop_of(spark)
    if scheme is None:
        scheme = scheme_of(hadoop.get("fs.defaultFS")) if hadoop is not None else "file"
    if scheme == "file":
        return LocalPath(Path(folder(path)))
    if not is_reachable(path, spark):
        hint = "Start it without Spark Connect, or take a folder that this machine and the server share."
        raise PanesError("store-failed", f"{path} cannot be reached over Spark Connect", None, hint)
    with _reached(path, spark):
        made = _java_path(path, spark)
        return HadoopPath(made.getFileSystem(hadoop).makeQualified(made).toString(), spark)


def is_reachable(path: str, spark: SparkSession) -> bool:
    """Whether Panes can read and write there: over Spark Connect, on this machine alone."""
    return is_local(path) or hadoop_of(spark) is not None


def hadoop_of(spark: SparkSession) -> Any | None:
    """The session's settings for Hadoop; over Spark Connect nobody can tell."""
    session = getattr(spark, "_jsparkSession", None)
    return session.sessionState().newHadoopConf() if session is not None else None


def _java_path(path: str, spark: SparkSession) -> Any:
    return spark._jvm.org.apache.hadoop.fs.Path(path)  # type: ignore[union-attr]


@dataclass(frozen=True)
class LocalPath:
    """A file or folder of this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> LocalPath:
        return LocalPath(self.path / name)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def parent(self) -> LocalPath:
        return LocalPath(self.path.parent)

    def exists(self) -> bool:
        with reached(self.path):
            return self.path.exists()

    def names(self) -> list[str]:
        with reached(self.path):
            return sorted(one.name for one in self.path.iterdir()) if self.path.is_dir() else []

    def read_text(self) -> str:
        with reached(self.path):
            return self.path.read_text(encoding="utf-8")

    def publish(self, text: str) -> None:
        hidden = self.path.with_name(f".{self.path.name}")
        with reached(self.path):
            hidden.write_text(text, encoding="utf-8")
            hidden.replace(self.path)

    def write_text(self, text: str) -> None:
        with reached(self.path):
            self.path.write_text(text, encoding="utf-8")

    def make_folder(self) -> None:
        with reached(self.path):
            self.path.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        with reached(self.path):
            if self.path.is_dir() and not self.path.is_symlink():
                shutil.rmtree(self.path)
            else:
                self.path.unlink(missing_ok=True)


@contextmanager
def reached(path: Path) -> Iterator[None]:
    """What the operating system refuses, as an error of Panes."""
    try:
        yield
    except OSError as error:
        raise refused_by_system(path, error) from error


@dataclass(frozen=True)
class HadoopPath:
    """A file or folder of any file system that Hadoop knows."""

    uri: str
    spark: SparkSession

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> HadoopPath:
        return HadoopPath(f"{self.uri.rstrip('/')}/{name}", self.spark)

    @property
    def name(self) -> str:
        return self.uri.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> HadoopPath:
        return HadoopPath(self.uri.rstrip("/").rpartition("/")[0], self.spark)

    def exists(self) -> bool:
        return bool(self._ask(lambda files: files.exists(self._path)))

    def names(self) -> list[str]:
        try:
            found = self._ask(lambda files: files.listStatus(self._path))
        except PanesError as error:
            if is_missing(error.__cause__):
                return []
            raise
        return sorted(one.getPath().getName() for one in found)

    def read_text(self) -> str:
        return str(self._ask(lambda files: self._read(files.open(self._path))))

    def publish(self, text: str) -> None:
        self.parent.make_folder()
        self._ask(lambda files: self._write(self._manager().createAtomic(self._path, True), text))

    def write_text(self, text: str) -> None:
        self._ask(lambda files: self._write(files.create(self._path, True), text))

    def make_folder(self) -> None:
        self._ask(lambda files: files.mkdirs(self._path))

    def remove(self) -> None:
        self._ask(lambda files: files.delete(self._path, True))

    @cached_property
    def _path(self) -> Any:
        return _java_path(self.uri, self.spark)

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        with _reached(self.uri, self.spark):
            return question(self._path.getFileSystem(hadoop_of(self.spark)))

    def _manager(self) -> Any:
        return getattr(self.spark._jvm, MANAGERS).create(self._path, hadoop_of(self.spark))

    def _read(self, stream: Any) -> str:
        try:
            return str(self.spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))  # type: ignore[union-attr]
        finally:
            stream.close()

    @staticmethod
    def _write(stream: Any, text: str) -> None:
        stream.write(bytearray(text.encode()))
        stream.close()


@contextmanager
def _reached(path: str, spark: SparkSession) -> Iterator[None]:
    """What Hadoop refuses, as an error of Panes."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        raise refused_by_java(path, error, spark) from error
