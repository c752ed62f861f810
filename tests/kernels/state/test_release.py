"""Rows are released once, in the stream's order, as soon as the watermark has passed them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.kernel import Chunk, Clock, State
from panes.kernels.state.compaction import FAN
from panes.kernels.state.release import Release

from ..harness import (
    BATCH,
    DELAYS,
    IDLE,
    MS,
    ORDER,
    PLACE,
    RESTARTS,
    TIME,
    Arrived,
    Batch,
    Row,
    Tick,
    batches,
    restarted,
    script,
    table,
)

Place = tuple[int, int]  # micro-batch and place: which row it is


def definition(ticks: list[Tick]) -> tuple[list[list[Place]], int]:
    """Late is a row before W when it comes; released, a row before W; at the end, all."""
    waiting: list[Arrived] = []
    steps, late = [], 0
    for tick in ticks:
        mark = tick.watermark if tick.watermark is not None else -(10**15)
        waiting += [one for one in tick.rows or [] if one.row.time >= mark]
        late += sum(one.row.time < mark for one in tick.rows or [])
        out = [one for one in waiting if tick.flush or one.row.time < mark]
        waiting = [one for one in waiting if one not in out]
        steps.append([(one.batch, one.place) for one in sorted(out, key=lambda one: one.order)])
    return steps, late


def run(release: Release, ticks: list[Tick], restarts: set[int]) -> tuple[list[list[Place]], int]:
    chunks: tuple[Chunk, ...] = ()
    steps, late = [], 0
    for number, tick in enumerate(ticks):
        batch = table(tick.rows) if tick.rows else None
        rows, chunks, dropped = release.take(chunks, batch, Clock(tick.watermark, tick.flush))
        steps.append(_places(rows))
        late += dropped
        assert all(chunk.rows == release.waiting(chunk).num_rows for chunk in chunks)
        chunks = restarted(State(chunks)).chunks if number in restarts else chunks
    assert not chunks
    return steps, late


def _places(rows: Any) -> list[Place]:
    return [] if rows is None else list(zip(rows[BATCH].to_pylist(), rows[PLACE].to_pylist(), strict=True))


@settings(max_examples=150)
@given(batches(), DELAYS, RESTARTS, IDLE)
def test_release_is_its_definition(batches: list[Batch], delay: int, restarts: set[int], idle: list[bool]) -> None:
    ticks = script(batches, delay, idle)
    assert run(Release(TIME, ORDER, True, True), ticks, restarts) == definition(ticks)


@settings(max_examples=50)
@given(batches(), st.booleans())
def test_in_arrival_mode_nothing_waits_and_nothing_is_late(batches: list[Batch], late: bool) -> None:
    ticks = script(batches, 0)
    steps, dropped = run(Release(TIME, (BATCH, PLACE), False, late), ticks, set())
    assert steps == [[(one.batch, one.place) for one in tick.rows or []] for tick in ticks]
    assert dropped == 0


def test_a_row_at_the_watermark_waits_for_its_peers() -> None:
    release = Release(TIME, ORDER, True, True)
    batch = table([Arrived(Row(5 * MS), 0, 0), Arrived(Row(5 * MS - 1), 0, 1)])
    rows, waiting, _ = release.take((), batch, Clock(None))
    assert rows is None
    rows, waiting, _ = release.take(waiting, None, Clock(5 * MS))
    assert _places(rows) == [(0, 1)]
    rows, waiting, _ = release.take(waiting, None, Clock(5 * MS))
    assert (rows, len(waiting)) == (None, 1)
    rows, _, late = release.take(waiting, table([Arrived(Row(5 * MS), 1, 0)]), Clock(5 * MS))
    assert (rows, late) == (None, 0)


def test_chunks_out_of_reach_are_not_read() -> None:
    """A chunk whose first row is past the watermark stays where it is."""
    release = Release(TIME, ORDER, True, True)

    def unread() -> Any:
        raise AssertionError("a chunk was read in vain")

    far = Chunk("far", 1, 100 * MS, 200 * MS, unread)
    rows, waiting, _ = release.take((far,), None, Clock(100 * MS))
    assert (rows, waiting) == (None, (far,))


def test_few_chunks_wait() -> None:
    release = Release(TIME, ORDER, True, True)
    waiting: tuple[Chunk, ...] = ()
    for number in range(64):
        batch = table([Arrived(Row(number * MS), number, i) for i in range(4)])
        _, waiting, _ = release.take(waiting, batch, Clock(None))
    assert sum(chunk.rows for chunk in waiting) == 256
    assert len(waiting) <= 2 * FAN


@pytest.mark.parametrize("disorder", [1, 40], ids=["in order", "in any order"])
def test_what_waits_is_not_written_again(disorder: int) -> None:
    """However long rows wait, each is written once, and once more in each tier."""
    release = Release(TIME, ORDER, True, True)
    waiting: tuple[Chunk, ...] = ()
    written, tiers = 0, 3
    for number in range(400):
        rows = [Row((number + i * 7 % disorder) * MS) for i in range(20)]
        known = {chunk.id for chunk in waiting}
        batch = table([Arrived(row, number, i) for i, row in enumerate(rows)])
        _, waiting, late = release.take(waiting, batch, Clock((number - 100) * MS))
        written += sum(chunk.load().num_rows for chunk in waiting if chunk.id not in known)
        assert late == 0
    assert written <= (1 + tiers) * 400 * 20


def test_a_chunk_that_is_not_in_order_is_put_in_order() -> None:
    """As chunks of old checkpoints are."""
    release = Release(TIME, ORDER, True, True)
    rows = table([Arrived(Row(time * MS), 0, i) for i, time in enumerate((7, 3, 9, 5))])
    old = Chunk("0", 4, 3 * MS, 9 * MS, lambda: rows)
    out, waiting, _ = release.take((old,), None, Clock(6 * MS))
    assert _places(out) == [(0, 1), (0, 3)]
    out, waiting, _ = release.take(waiting, None, Clock(8 * MS))
    assert _places(out) == [(0, 0)]
    assert [(chunk.id, chunk.rows, chunk.low) for chunk in waiting] == [("0", 1, 9 * MS)]
