"""Needed blocks: every row that a change reaches, and every row that these need, is in a block that is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from panes.frames import Edge, Unit
from panes.kernels.changelog.changes import INSERT
from panes.kernels.kernel import Clock, State, run_step
from panes.kernels.over.calls import Frame, OrderKey, frame_of
from panes.kernels.over.merged import Merged, Touched
from panes.kernels.over.needed_blocks import NeededBlocks
from panes.kernels.over.sorted_rows import Sorted
from panes.kernels.sorted_blocks.blocks import HOME, Directory
from panes.kernels.sorted_blocks.ranges import Mask
from panes.kernels.sorted_blocks.sort_keys import Sorting

from .test_functions import in_frame, order_of
from .test_incremental import (
    AHEAD,
    BACK,
    FAR_AHEAD,
    FAR_BACK,
    FRAMES,
    KEY,
    NEAR,
    ORDER,
    PART,
    SEEDS,
    VALUE,
    Case,
    Change,
    Query,
    Row,
    aggregate,
    arrow,
)

BY_ORDER = (OrderKey(ORDER),)
SORTING = Sorting((PART,), ((ORDER, "ASC NULLS FIRST"),), (KEY,))
SIZE = 4
PRECEDING = FRAMES["ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"]


def blocks_of(rows: Sequence[Row], frame: Frame) -> Directory:
    """Rows in blocks, as the kernel leaves them that has them in state."""
    kernel = Query((Case("", aggregate("sum", frame)),), size=SIZE).kernel
    step = run_step(kernel, State(), arrow([Change(INSERT, row) for row in rows], 0, 1), Clock())
    directory = Directory.read(step.state.chunks)
    return directory.opened(directory.closed)


def needed_blocks(directory: Directory, gone: Sequence[Row], come: Sequence[Row]) -> NeededBlocks:
    """What the kernel asks when some rows go and others come."""
    rows = arrow([Change(INSERT, row) for row in (*gone, *come)], 1, 1)
    order = SORTING.permutation(rows)
    touched = Touched(SORTING.keys(rows.take(pa.array(order))), order)
    homes = directory.with_any(touched.keys)
    new = rows.slice(len(gone)).append_column(HOME, pa.array(touched.homes(directory)[len(gone) :]))
    old = directory.load(homes)
    both = pa.concat_tables([old, new], promote_options="permissive")
    places = SORTING.permutation(both)
    fresh = places >= old.num_rows
    leaves = np.isin(both[KEY].to_numpy()[places], np.array([row.id for row in gone], np.int64)) & ~fresh
    none = np.zeros(len(places), np.int64)
    merged = Merged(both.take(pa.array(places)), leaves, fresh, leaves | fresh, Sorted(both, none, ()))
    return NeededBlocks(directory, touched.keys, homes, merged)


def in_order(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One partition's rows with the bounds of their frames."""
    away = {ORDER: 0, BACK: -2, AHEAD: 2, FAR_BACK: -4, FAR_AHEAD: 4}
    found = [
        {**asdict(row), **{name: None if row.o is None else row.o + by for name, by in away.items()}} for row in rows
    ]
    return sorted(found, key=lambda row: (order_of(row, BY_ORDER), row[KEY]))


def framed(rows: Sequence[Row], frame: Frame) -> dict[int, tuple[int | None, list[dict[str, Any]]]]:
    """For each row, the one before it and those in its frame."""
    found: dict[int, tuple[int | None, list[dict[str, Any]]]] = {}
    for part in {row.p for row in rows}:
        mine = in_order([row for row in rows if row.p == part])
        for at, row in enumerate(mine):
            found[row[KEY]] = mine[at - 1][KEY] if at else None, in_frame(mine, at, frame, BY_ORDER)
    return found


@pytest.mark.parametrize("name", FRAMES)
@settings(max_examples=4)
@given(SEEDS)
def test_no_row_is_missed(name: str, seed: int) -> None:
    random, frame = Random(seed), FRAMES[name]
    table = some_rows(random, 0, 40)
    gone, come = random.sample(table, random.randint(0, 4)), some_rows(random, 100, random.randint(1, 4))
    directory = blocks_of(table, frame)
    blocks = needed_blocks(directory, gone, come)
    everything = directory.load(np.ones(len(directory), np.bool_))
    home = dict(zip(everything[KEY].to_pylist(), everything[HOME].to_pylist(), strict=True))
    before, after = framed(table, frame), framed([row for row in (*table, *come) if row not in gone], frame)
    affected = [key for key in after if key in before and before[key][1] != after[key][1]]
    reached = blocks.homes | blocks.reached(frame)
    assert {home[key] for key in affected} <= numbers(reached)
    again = affected + ([row.id for row in come if row.id is not None] if frame.unit is Unit.ROWS else [])
    inside = {home[row[KEY]] for key in again for row in after[key][1] if row[KEY] in home}
    assert inside <= numbers(reached | blocks.needed(reached, frame))
    if frame.start.edge is Edge.UNBOUNDED_PRECEDING and frame.end.edge.has_offset:
        ends = {home[after[key][1][-1][KEY]] for key in affected if after[key][1] and after[key][1][-1][KEY] in home}
        assert ends <= numbers(blocks.with_row_before(reached | blocks.frame_ends(reached, frame)))
    rows_before = {home[one] for key in again if (one := after[key][0]) in home}
    assert rows_before <= numbers(reached | blocks.row_before(reached, [frame]))


@settings(max_examples=40)
@given(SEEDS)
def test_values_around_changes_are_in_blocks_that_are_read(seed: int) -> None:
    """The next ones of each change, and where it is a value itself, those that it comes before."""
    random = Random(seed)
    number, share = random.randint(1, 3), random.choice([0.1, 0.5, 1])
    table, new = some_rows(random, 0, 60), some_rows(random, 100, random.randint(1, 3))
    table, new = ([replace(row, x=1 if random.random() < share else None) for row in rows] for rows in (table, new))
    gone = random.sample(table, random.randint(0, 3))
    directory = blocks_of(table, PRECEDING)
    read = numbers(needed_blocks(directory, gone, new).values_around(VALUE, number))
    everything = directory.load(np.ones(len(directory), np.bool_))
    home = dict(zip(everything[KEY].to_pylist(), everything[HOME].to_pylist(), strict=True))
    for part in "ab":
        mine = in_order([row for row in (*table, *new) if row.p == part])
        values = [
            at for at, row in enumerate(mine) if row[VALUE] and row[KEY] in home and Row(**plain(row)) not in gone
        ]
        for at in (at for at, row in enumerate(mine) if Row(**plain(row)) in (*gone, *new)):
            after, before = [one for one in values if one > at][:number], [one for one in values if one < at][-number:]
            assert {home[mine[one][KEY]] for one in (*after, *(before if mine[at][VALUE] else ()))} <= read


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is in the table, without bounds."""
    return {one.name: row[one.name] for one in fields(Row)}


def some_rows(random: Random, first: int, number: int) -> list[Row]:
    return [Row(first + at, random.choice("aab"), random.choice([None, *range(20)]), 1) for at in range(number)]


def numbers(mask: Mask) -> set[int]:
    return set(np.flatnonzero(mask).tolist())


LONG = [Row(at, "a", at * 10, 1) for at in range(1, 13)]  # 1 2 3 4 | 5 6 7 8 | 9 10 11 12


def test_blocks_that_no_change_reaches_are_not_read() -> None:
    """8, the last row of its block, reaches the next; 6 with its neighbours is in one block."""
    directory = blocks_of(LONG, PRECEDING)
    at_the_end, inside = (needed_blocks(directory, [LONG[at]], [LONG[at]]) for at in (7, 5))
    assert numbers(at_the_end.reached(PRECEDING)) == numbers(at_the_end.needed(at_the_end.homes, PRECEDING)) == {1, 2}
    assert numbers(inside.reached(PRECEDING)) == {1}


def test_frames_of_values_reach_the_blocks_that_hold_them() -> None:
    frame = frame_of(NEAR.call)
    assert frame.start.edge is Edge.PRECEDING and frame.unit is Unit.RANGE
    directory = blocks_of(LONG, frame)
    near, between = (needed_blocks(directory, [], [Row(100, "a", at, 1)]) for at in (88, 45))
    assert numbers(near.homes | near.reached(frame)) == {1, 2}
    assert numbers(between.homes | between.reached(frame)) == {0}


def test_a_block_in_which_few_rows_are_left_has_a_neighbour() -> None:
    blocks = needed_blocks(blocks_of(LONG, PRECEDING), LONG[4:7], [])
    assert numbers(blocks.few(2)) == {2}
    assert numbers(blocks.few(1)) == set()
