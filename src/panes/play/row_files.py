"""Rows of a stream from a file of `--rows name=file`."""

from __future__ import annotations

from pathlib import Path

from panes.errors import PanesError
from panes.play.cells import text_of
from panes.play.document import PlayRow, StreamRows
from panes.play.request import MOST_BATCHES, MOST_ROWS
from panes.trace.given import read_rows


class RowFileError(ValueError):
    """A file whose rows cannot be read, or that has more than a page shows."""


def named_file(option: str) -> tuple[str, Path]:
    """The stream and the file of an option.

    >>> named_file("clicks=data/clicks.csv")[0]
    'clicks'
    """
    name, equals, file = option.partition("=")
    if not equals or not name.strip() or not file:
        raise RowFileError(f"{option} is not NAME=FILE")
    return name.strip(), Path(file)


def stream_rows(name: str, file: Path) -> StreamRows:
    """The rows of a file, as texts."""
    try:
        given = read_rows(file)
    except OSError as error:
        raise RowFileError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RowFileError(f"cannot read {file}: it is not UTF-8 text") from None
    except PanesError as error:
        raise RowFileError(f"cannot read {file}: {error.message}") from None
    count = sum(map(len, given.batches))
    if count > MOST_ROWS or len(given.batches) > MOST_BATCHES:
        most = f"at most {MOST_ROWS} rows in {MOST_BATCHES} micro-batches"
        raise RowFileError(f"{file} has {count} rows in {len(given.batches)}, and a page shows {most}")
    rows = (
        PlayRow(batch, {column: text_of(value) for column, value in record.items()})
        for batch, records in enumerate(given.batches)
        for record in records
    )
    return StreamRows(name, tuple(rows))
