"""What the page shows and sends: a script, and the rows of its streams as texts, each in its micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Cell: TypeAlias = str | None  # None is NULL


@dataclass(frozen=True)
class PlayRow:
    """A row: the number of its micro-batch, from 0, and its cells by the names of their columns."""

    batch: int
    values: Mapping[str, Cell]


@dataclass(frozen=True)
class StreamRows:
    """The rows of a stream, micro-batch by micro-batch, in the order in which they come."""

    name: str
    rows: tuple[PlayRow, ...] = ()

    def batches(self, count: int) -> tuple[tuple[PlayRow, ...], ...]:
        """Its rows in `count` micro-batches."""
        return tuple(tuple(row for row in self.rows if row.batch == number) for number in range(count))


@dataclass(frozen=True)
class Document:
    """A script with rows. `query` is the number of its query that is run, from 0; None is the last."""

    sql: str
    streams: tuple[StreamRows, ...] = ()
    query: int | None = None

    @property
    def count(self) -> int:
        """How many micro-batches there are."""
        return max((row.batch + 1 for stream in self.streams for row in stream.rows), default=0)

    def rows_of(self, name: str) -> StreamRows:
        return next((one for one in self.streams if one.name.lower() == name.lower()), StreamRows(name))

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        streams = [
            {"name": one.name, "rows": [{"batch": row.batch, "values": dict(row.values)} for row in one.rows]}
            for one in self.streams
        ]
        return {"sql": self.sql, "streams": streams, "query": self.query}
