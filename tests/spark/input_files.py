"""Rows as JSON files that Spark's file source reads one by one, in the order of their numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_file(folder: Path, number: int, rows: Iterable[Mapping[str, object]]) -> None:
    """The file of one micro-batch; files are read in the order of their modification times."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{number:04}.json"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(hidden, (1_000_000 + number, 1_000_000 + number))
    hidden.rename(folder / f"{number:04}.json")


def at(milliseconds: int) -> str:
    """A time of 1970-01-01 as JSON holds it.

    >>> at(61_500)
    '1970-01-01T00:01:01.500Z'
    """
    seconds, rest = divmod(milliseconds, 1000)
    return f"1970-01-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}Z"
