"""The commits of a Delta table's log: which of them change rows, and how.

A version is a file of JSON lines in `_delta_log`. delta-rs reads tables and change feeds, but does not say which files
a version has added, nor that they only hold what others held before (OPTIMIZE).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pyarrow.fs import FileSystem

from panes.errors import PanesError


@dataclass(frozen=True)
class Commit:
    """What a version did: files with new rows, whether rows were removed, and whether there are changes to read."""

    version: int
    added: tuple[str, ...]
    removes: bool
    changes: bool


def read_commit(files: FileSystem, path: str, version: int) -> Commit:
    """The commit of a version; `files` are those of the table's folder."""
    try:
        with files.open_input_stream(f"_delta_log/{version:020}.json") as stream:
            lines = stream.read().decode("utf-8").split("\n")  # not splitlines: a text may hold other ends of lines
    except FileNotFoundError:
        hint = (
            "The table's log has been cleaned up since. Begin anew with a new checkpoint: it reads what is there now."
        )
        raise PanesError("delta-failed", f"version {version} of {path} is no longer there", None, hint) from None
    return commit_of(version, [json.loads(line) for line in lines if line.strip()])


def commit_of(version: int, actions: list[Mapping[str, Any]]) -> Commit:
    """What the actions of a commit come to; those that change no data count for nothing.

    >>> commit_of(3, [{"add": {"path": "a%20b.parquet", "dataChange": True}}, {"remove": {"dataChange": False}}])
    Commit(version=3, added=('a b.parquet',), removes=False, changes=True)
    """
    added = tuple(unquote(one["add"]["path"]) for one in actions if one.get("add", {}).get("dataChange"))
    removes = any(one.get("remove", {}).get("dataChange") for one in actions)
    feed = any("cdc" in one for one in actions)
    return Commit(version, added, removes, bool(added) or removes or feed)
