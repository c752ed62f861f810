"""Rows of a stream from a file: CSV with a line of names, a JSON array, or JSON lines.

A column `_batch` has the number of a row's micro-batch, from 1; without one all rows come in the first.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from panes.play.cells import text_of
from panes.play.document import Cell, PlayRow, StreamRows
from panes.play.request import MOST_BATCHES, MOST_ROWS

BATCH = "_batch"


class RowFileError(ValueError):
    """A file whose rows cannot be read."""


def named_file(option: str) -> tuple[str, Path]:
    """The stream and the file of `--rows name=file`.

    >>> named_file("clicks=data/clicks.csv")[0]
    'clicks'
    """
    name, equals, file = option.partition("=")
    if not equals or not name.strip() or not file:
        raise RowFileError(f"{option} is not NAME=FILE")
    return name.strip(), Path(file)


def stream_rows(name: str, file: Path) -> StreamRows:
    """The rows of a file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RowFileError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RowFileError(f"cannot read {file}: it is not UTF-8 text") from None
    try:
        found = list(_csv(text) if file.suffix.lower() == ".csv" else _json(text))
        rows = sorted((_row(one) for one in found), key=lambda row: row.batch)
    except (ValueError, csv.Error) as error:
        raise RowFileError(f"cannot read {file}: {error}") from None
    if len(rows) > MOST_ROWS:
        raise RowFileError(f"{file} has {len(rows)} rows, and a page shows at most {MOST_ROWS}")
    return StreamRows(name, tuple(rows))


def _csv(text: str) -> Iterator[Mapping[str, Cell]]:
    """An empty cell is NULL."""
    for row in csv.DictReader(io.StringIO(text), strict=True):
        if None in row or None in row.values():
            raise ValueError("a line has more or fewer cells than the first")
        yield {name: cell or None for name, cell in row.items()}


def _json(text: str) -> Iterator[Mapping[str, Cell]]:
    found: Iterable[Any] = json.loads(text) if text.lstrip().startswith("[") else map(json.loads, _lines(text))
    for row in found:
        if not isinstance(row, dict):
            raise ValueError(f"{row!r} is not an object")
        yield {name: text_of(value) for name, value in row.items()}


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip())


def _row(cells: Mapping[str, Cell]) -> PlayRow:
    number = cells.get(BATCH)
    batch = int(number) - 1 if number is not None else 0
    if not 0 <= batch < MOST_BATCHES:
        raise ValueError(f"{BATCH} is a number from 1 to {MOST_BATCHES}")
    return PlayRow(batch, {name: cell for name, cell in cells.items() if name != BATCH})
