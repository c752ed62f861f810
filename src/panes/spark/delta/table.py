"""A Delta table as delta-rs opens it, and what is wrong with one before anything starts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from threading import RLock
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow.fs import FileSystem, LocalFileSystem, PyFileSystem, SubTreeFileSystem
from pyspark.sql.types import StructType

from panes.errors import PanesError
from panes.options import without_secrets
from panes.spark.folders import folder, is_local
from panes.spark.store_errors import full_or_forbidden

if TYPE_CHECKING:
    from deltalake import DeltaTable

COLOURS, CAUSE = re.compile(r"\x1b\[[0-9;]*m"), "↳"
FEED = "delta.enableChangeDataFeed"
# delta-rs waits for its own threads while it holds Python's lock, and these wait for that lock where Arrow reads
# through it: two queries of one process that were in it at once have stopped each other for good.
ONE_AT_A_TIME = RLock()


def check_installed() -> None:
    if find_spec("deltalake") is None:
        hint = "pip install 'panes[delta]', for Spark's workers as well."
        raise PanesError("missing-package", "connector = 'delta' needs the Python package deltalake", None, hint)


@contextmanager
def failures_of(path: str, storage: Mapping[str, str]) -> Iterator[None]:
    """What delta-rs says about a table or its files, as an error of Panes; `storage` holds what is secret in it."""
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        yield
    except TableNotFoundError:
        raise not_there(path) from None
    except (DeltaError, OSError) as error:
        text = told(error, storage)
        refused = full_or_forbidden(text, f" (the Delta table {path})")
        raise refused or PanesError("delta-failed", f"the Delta table {path}: {text}") from error


def not_there(path: str) -> PanesError:
    hint = "Look at its path, or add create = 'true' to a sink's options."
    return PanesError("delta-failed", f"there is no Delta table at {path}", None, hint)


def told(error: Exception, storage: Mapping[str, str]) -> str:
    """What an error says in one line. Below what failed in a store stand its causes, in colours for a terminal."""
    first, *causes = COLOURS.sub("", str(error)).strip().split(CAUSE)
    lines = [first, *causes] if causes else first.split("\n")[:1]
    return without_secrets(": ".join(" ".join(line.split()) for line in lines), storage)


def open_table(path: str, storage: Mapping[str, str], version: int | None = None) -> DeltaTable:
    """The table as it is, or as it was at a version."""
    from deltalake import DeltaTable

    with failures_of(path, storage):
        return DeltaTable(path, version=version, storage_options=dict(storage))


def exists(path: str, storage: Mapping[str, str]) -> bool:
    from deltalake import DeltaTable

    with failures_of(path, storage):
        return DeltaTable.is_deltatable(path, storage_options=dict(storage))


def files_of(path: str, storage: Mapping[str, str]) -> FileSystem:
    """The files of a table's folder, wherever that is; paths are relative to it."""
    from deltalake.fs import DeltaStorageHandler

    if is_local(path):
        return SubTreeFileSystem(folder(path), LocalFileSystem())
    return PyFileSystem(DeltaStorageHandler(path, options=dict(storage)))


def schema_of(table: DeltaTable) -> StructType:
    """A table's schema in Spark's types: Delta writes it down as Spark does."""
    return StructType.fromJson(json.loads(table.schema().to_json()))


def arrow_schema_of(table: DeltaTable) -> pa.Schema:
    return pa.schema(table.schema())


def has_feed(table: DeltaTable) -> bool:
    return str(table.metadata().configuration.get(FEED, "false")).lower() == "true"
