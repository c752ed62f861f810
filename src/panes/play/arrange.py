"""The same rows in other micro-batches, or in another order that makes none of them late."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

from panes.catalog import Stream
from panes.play.cells import value_of
from panes.play.document import Document, PlayRow, StreamRows
from panes.play.request import Arrangement

MOST_CUTS = 8


def arranged(document: Document, streams: Sequence[Stream], arrangement: Arrangement, seed: int) -> Document:
    """A document in another arrangement; the same seed gives the same one."""
    chance = random.Random(seed)
    declared = {stream.name.lower(): stream for stream in streams}
    match arrangement:
        case Arrangement.CUT:
            cut = tuple(_cut(one, chance) for one in document.streams)
            return _without_gaps(replace(document, streams=cut))
        case Arrangement.SHUFFLE:
            shuffled = tuple(_shuffled(one, declared.get(one.name.lower()), chance) for one in document.streams)
            return replace(document, streams=shuffled)
        case _:
            assert_never(arrangement)


def _cut(given: StreamRows, chance: random.Random) -> StreamRows:
    """Rows in their order, in other micro-batches; where there are other cuts, not in the same ones."""
    count = len(given.rows)
    before = [row.batch for row in given.rows]
    found = before
    for _ in range(8):
        most = chance.randint(1, min(count, MOST_CUTS)) if count else 1
        found = sorted(chance.randrange(most) for _ in range(count))
        if found != before:
            break
    rows = (replace(row, batch=batch) for row, batch in zip(given.rows, found, strict=True))
    return replace(given, rows=tuple(rows))


def _without_gaps(document: Document) -> Document:
    """Micro-batches without any row are left out."""
    used = sorted({row.batch for stream in document.streams for row in stream.rows})
    numbers = {batch: number for number, batch in enumerate(used)}
    streams = (
        replace(one, rows=tuple(replace(row, batch=numbers[row.batch]) for row in one.rows)) for one in document.streams
    )
    return replace(document, streams=tuple(streams))


def _shuffled(given: StreamRows, stream: Stream | None, chance: random.Random) -> StreamRows:
    """Rows in another order; the places in micro-batches stay, and so do late rows and those without time.

    A row comes at its time and something below the delay: so none overtakes another by more than the delay.
    """
    if stream is None or stream.time is None or stream.changelog:
        return given  # the order in which they come is what they mean
    times = [_time(row, stream) for row in given.rows]
    late = _late(given, times, stream.delay or 0)
    free = [at for at in range(len(given.rows)) if times[at] is not None and at not in late]
    moments = {at: _known(times[at]) + chance.random() * (stream.delay or 0) for at in free}
    rows = list(given.rows)
    for place, at in zip(free, sorted(free, key=lambda at: moments[at]), strict=True):
        rows[place] = replace(given.rows[at], batch=given.rows[place].batch)
    return replace(given, rows=tuple(rows))


def _late(given: StreamRows, times: Sequence[int | None], delay: int) -> set[int]:
    """The rows that come after the watermark of the micro-batches before."""
    found: set[int] = set()
    for at, (row, time) in enumerate(zip(given.rows, times, strict=True)):
        before = [
            _known(times[i]) for i, one in enumerate(given.rows) if one.batch < row.batch and times[i] is not None
        ]
        if time is not None and before and time < max(before) // 1000 * 1000 - delay:
            found.add(at)
    return found


def _time(row: PlayRow, stream: Stream) -> int | None:
    """The time of a row in microseconds."""
    cells: Mapping[str, str | None] = {name.lower(): cell for name, cell in row.values.items()}
    column = stream.column(stream.time or "")
    text = value_of(cells.get((stream.time or "").lower()), column) if column is not None else None
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _known(time: int | None) -> int:
    assert time is not None
    return time
