"""The folders of files that the INSERTs of a script read and write: none twice, and none in a ring."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from panes.errors import PanesError

FILES = frozenset(("json", "csv", "parquet", "orc", "text"))
URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<host>[^/]*))?(?P<path>.*)", re.DOTALL)


def folder(path: str) -> str:
    """One spelling for each folder: a local one as the path it resolves to, any other as a URI without `..`.

    >>> folder("file:///x/in/../out/"), folder("s3a://bucket//out/")
    ('/x/out', 's3a://bucket/out')
    """
    found = URI.fullmatch(path)
    if found is None or found["scheme"].lower() == "file":
        return str(Path(found["path"] if found is not None else path).resolve())
    rest = posixpath.normpath("/" + found["path"].lstrip("/"))
    return f"{found['scheme'].lower()}://{found['host'] or ''}{rest}"


def scheme_of(path: str) -> str | None:
    """The file system that a path names.

    >>> scheme_of("S3A://bucket/x"), scheme_of("/x")
    ('s3a', None)
    """
    found = URI.fullmatch(path)
    return found["scheme"].lower() if found is not None else None


def is_local(path: str) -> bool:
    """Whether a path names this machine, or leaves open where it is."""
    return scheme_of(path) in (None, "file")


@dataclass(frozen=True)
class Files:
    """The folder that an INSERT into `sink` writes, and those that it reads."""

    sink: str
    written: str | None
    read: tuple[str, ...]


def check_folders(inserts: Sequence[Files]) -> None:
    """Refuse two INSERTs into one folder or one in another's, and one that reads what it writes, through others too."""
    writers: dict[str, str] = {}
    for one in inserts:
        if one.written is None:
            continue
        own = folder(one.written)
        for path, other in writers.items():
            if f"{own}/".startswith(f"{path}/") or f"{path}/".startswith(f"{own}/"):
                hint = "Give each INSERT a sink with a path of its own."
                both = "one folder" if path == own else "a folder and one inside it"
                text = f"INSERT INTO {other} and INSERT INTO {one.sink} write to {both}, {one.written}"
                raise PanesError("stream-options", text, None, hint)
        writers[own] = one.sink
    for one in inserts:
        if one.written is not None and one in _readers_of(one, inserts):
            hint = "Give the sink a path that no stream of this script reads."
            text = f"INSERT INTO {one.sink} reads what it writes to {one.written}"
            raise PanesError("stream-options", text, None, hint)


def _readers_of(writer: Files, inserts: Sequence[Files]) -> list[Files]:
    """The INSERTs that what is written reaches, directly or through others."""
    reached: list[Files] = []
    waiting = [writer]
    while waiting:
        now = waiting.pop()
        new = [one for one in inserts if one not in reached and _reads(one, now)]
        reached += new
        waiting += new
    return reached


def _reads(reader: Files, writer: Files) -> bool:
    return writer.written is not None and any(_holds(path, writer.written) for path in reader.read)


def _holds(pattern: str, path: str) -> bool:
    """Whether a folder, or one of those that a pattern names, is another one or above it."""
    outer, inner = folder(pattern).split("/"), folder(path).split("/")
    return len(outer) <= len(inner) and all(map(fnmatchcase, inner, outer[: len(inner)]))
