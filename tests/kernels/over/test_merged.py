"""Merged rows: which values a change can reach, which rows each of these needs, and what stands beside the changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall
from panes.kernels.over.merged import Merged, Touched
from panes.kernels.over.sorted_rows import Sorted, numbered
from panes.kernels.partitions import codes
from panes.kernels.sorted_blocks.blocks import HOME
from panes.kernels.sorted_blocks.sort_keys import Keys

from . import test_functions as naive
from .test_functions import HIGH, KINDS, LOW, TIE, K, Row, Y

BY_Y = (OrderKey(Y),)
SCHEMA = pa.schema([*KINDS.items(), (LOW, pa.int64()), (HIGH, pa.int64())])
NOW = Bound(Edge.CURRENT_ROW)
STAYS, GOES, COMES, CHANGES = "stays", "goes", "comes", "changes"


@dataclass(frozen=True)
class Table:
    """Rows before a micro-batch and after it, in order. Of a row that changes, all but its place may be another."""

    rows: list[tuple[Row, str]]

    @property
    def both(self) -> list[tuple[Row, str]]:
        """Every row that was or is there: one that changes goes and comes."""
        twice = {CHANGES: (GOES, COMES)}
        return [(old_or_new(row, one), one) for row, fate in self.rows for one in twice.get(fate, (fate,))]

    @property
    def before(self) -> list[Row]:
        return [row for row, fate in self.both if fate != COMES]

    @property
    def after(self) -> list[Row]:
        return [row for row, fate in self.both if fate != GOES]

    def merged(self, rows: pa.Table | None = None) -> Merged:
        """All of them as the kernel sees them, if they are not given with more columns."""
        fates = np.array([fate for _, fate in self.both])
        at_its_place = np.array([fate == CHANGES for _, fate in self.rows for _ in range(1 + (fate == CHANGES))], bool)
        gone, fresh = fates == GOES, fates == COMES
        rows = arrow([row for row, _ in self.both]) if rows is None else rows
        part = numbered([codes(rows, (K,))])
        return Merged(rows, gone, fresh, (gone | fresh) & ~at_its_place, Sorted(rows, part, BY_Y))


def old_or_new(row: Row, fate: str) -> Row:
    return {**row, "x": row["x"] if fate != GOES else row["old x"]}


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def in_order(rows: list[Row], call: OverCall) -> list[Row]:
    """Rows with a number in their order, and the bounds of a call's frame."""
    rows = sorted(rows, key=lambda row: (row[K] or "", naive.order_of(row, BY_Y)))
    return [naive.bounded({**row, TIE: at}, BY_Y[0], call.frame) for at, row in enumerate(rows)]


FATES = st.lists(st.tuples(naive.ROW, naive.SMALL, st.sampled_from([STAYS] * 4 + [GOES, COMES, CHANGES])), max_size=10)


def table(drawn: list[tuple[Row, int | None, str]], call: OverCall) -> Table:
    rows = in_order([{**row, "old x": old, "fate": fate} for row, old, fate in drawn], call)
    return Table([(row, row["fate"]) for row in rows])


def values(rows: list[Row], call: OverCall) -> dict[int, Any]:
    """What a call gives for each row, by its number."""
    found: dict[int, Any] = {}
    for part in {row[K] for row in rows}:
        mine = [row for row in rows if row[K] == part]
        found |= {row[TIE]: naive.definition(mine, i, call, BY_Y) for i, row in enumerate(mine)}
    return found


def bare(call: OverCall) -> OverCall:
    """Ranks have neither a frame nor arguments; lag and lead have no frame."""
    if call.function in naive.RANKS:
        return replace(call, args=(), frame=None)
    return replace(call, frame=None) if call.function in ("lag", "lead") else call


CALLS = naive.calls().map(bare)


@settings(max_examples=150)
@given(FATES, CALLS)
def test_a_value_that_changes_is_reached_and_finds_the_rows_it_needs(
    drawn: list[tuple[Row, int | None, str]], call: OverCall
) -> None:
    changes = table(drawn, call)
    if not changes.rows:
        return
    left, before, after = changes.after, values(changes.before, call), values(changes.after, call)
    reached, needs = changes.merged().reached(call)
    fates = [fate for _, fate in changes.both if fate != GOES]
    for row, fate, again in zip(left, fates, reached, strict=True):
        assert again or (fate != COMES and before[row[TIE]] == after[row[TIE]])
    for place, start, stop in zip(np.flatnonzero(reached), needs.start, needs.stop, strict=True):
        there = left[start:stop]
        assert start <= place < stop and {row[K] for row in there} == {left[place][K]}
        assert naive.definition(there, place - start, call, BY_Y) == after[left[place][TIE]]


def test_a_change_reaches_no_further_than_its_frame() -> None:
    """30 goes and 35 comes: with ROWS 1 PRECEDING they reach 35 and 40, which need 20."""
    call = naive.aggregate("sum", Frame(Unit.ROWS, Bound(Edge.PRECEDING, 1), NOW))
    fates = {10: STAYS, 20: STAYS, 30: GOES, 35: COMES, 40: STAYS, 50: STAYS}
    rows = [({K: "a", "x": 0, "old x": 0, Y: at, TIE: at}, fate) for at, fate in fates.items()]
    reached, needs = Table(rows).merged().reached(call)
    assert reached.tolist() == [False, False, True, True, False]
    assert list(zip(needs.start.tolist(), needs.stop.tolist(), strict=True)) == [(1, 3), (2, 4)]


def test_another_value_at_its_place_moves_no_rank() -> None:
    rows = [({K: "a", "x": 0, "old x": 1, Y: at, TIE: at}, fate) for at, fate in enumerate([STAYS, CHANGES, STAYS])]
    reached, _ = Table(rows).merged().reached(OverCall("rank", (), ""))
    assert reached.tolist() == [False, True, False]
    assert Touched(keys(b"a", b"b", b"b", b"c"), np.arange(4)).moves.tolist() == [True, False, False, True]


def keys(*rows: bytes) -> Keys:
    found = pa.array(rows, pa.binary())
    return Keys(found, found, found)


@settings(max_examples=100)
@given(FATES.filter(lambda drawn: any(fate != STAYS for *_, fate in drawn)), st.integers(1, 4))
def test_margins_are_the_rows_beside_the_changes_of_a_block(
    drawn: list[tuple[Row, int | None, str]], size: int
) -> None:
    changes = table(drawn, OverCall("rank", (), ""))
    homes = np.arange(len(changes.both)) // size
    merged = changes.merged(arrow([row for row, _ in changes.both]).append_column(HOME, pa.array(homes)))
    margins = merged.margins(int(homes[-1]) + 1)
    for block in range(int(homes[-1]) + 1):
        fates = [fate for (_, fate), home in zip(changes.both, homes, strict=True) if home == block]
        changed = [at for at, fate in enumerate(fates) if fate != STAYS]
        expected = (changed[0], len(fates) - 1 - changed[-1]) if changed else (0, 0)
        assert (margins.first[block], margins.last[block]) == expected
