"""Sorted rows: the places between which a frame lies, for values of every type that Spark sorts."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from math import inf, nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.over.calls import Bound, Frame, OrderKey, Values
from panes.kernels.over.sorted_rows import Sorted, arranged, gathered, inverse

from .test_functions import HIGH, LOW, TIE, K, Row, frames, in_frame, order_of

# Values of each type in Spark's ascending order, in sets of equal ones.
PAIR = pa.struct([("a", pa.int64()), ("b", pa.string())])
EXTREMES: dict[str, tuple[pa.DataType, list[tuple[Any, ...]]]] = {
    "bigint": (pa.int64(), [(v,) for v in (-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1)]),
    "tinyint": (pa.int8(), [(v,) for v in (-128, -127, 0, 126, 127)]),
    "timestamp": (pa.timestamp("us", "UTC"), [(v,) for v in (-62_135_596_800_000_000, -1, 0, 253_402_300_799_999_999)]),
    "interval": (pa.duration("us"), [(v,) for v in (-(2**63), -1, 0, 2**63 - 1)]),
    "date": (pa.date32(), [(date(1, 1, 1),), (date(1969, 12, 31),), (date(9999, 12, 31),)]),
    "double": (pa.float64(), [(-inf,), (-1.5,), (-0.0, 0.0), (5e-324,), (1e308,), (inf,), (nan, -nan)]),
    "float": (pa.float32(), [(-inf,), (-0.0, 0.0), (inf,), (nan,)]),
    "decimal": (pa.decimal128(38, 0), [(Decimal(v),) for v in (-(10**38) + 1, -1, 0, 10**38 - 1)]),
    "string": (pa.string(), [(v,) for v in ("", "A", "a", "aa", "z", "é", "\uffff", "\U0001f600")]),
    "binary": (pa.binary(), [(v,) for v in (b"", b"\0", b"\0\0", b"a", b"\x7f", b"\x80", b"\xff")]),
    "boolean": (pa.bool_(), [(False,), (True,)]),
    "array": (pa.list_(pa.float64()), [([],), ([None],), ([None, 1.0],), ([-0.0], [0.0]), ([0.0, None],), ([nan],)]),
    "struct": (PAIR, [({"a": a, "b": b},) for a, b in ((None, None), (None, ""), (-(2**63), "z"), (1, None), (1, ""))]),
}


@settings(max_examples=150)
@given(st.data(), st.sampled_from([*EXTREMES]), st.booleans(), st.booleans(), frames())
def test_extreme_values_sort_as_in_spark(
    data: st.DataObject, type_: str, descending: bool, nulls_first: bool, frame: Frame
) -> None:
    """The definition knows only where a value stands among those of its type."""
    arrow, values = EXTREMES[type_]
    places = st.none() | st.integers(0, len(values) - 1)
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(["a", "b", None]), places, places, places), max_size=10))
    rows: list[Row] = [dict(zip((TIE, K, "o", LOW, HIGH), (at, *row), strict=True)) for at, row in enumerate(drawn)]

    def valued(name: str) -> pa.Array:
        chosen = [None if (at := row[name]) is None else values[at][row[TIE] % len(values[at])] for row in rows]
        return pa.array(chosen, arrow)

    table = pa.table({TIE: pa.array(range(len(rows)), pa.int64()), K: pa.array([row[K] for row in rows], pa.string())})
    for name in ("o", LOW, HIGH):
        table = table.append_column(name, valued(name))
    keys = (OrderKey("o", descending, nulls_first),)
    expected: dict[int, list[int]] = {}
    for part in {row[K] for row in rows}:
        mine = sorted((row for row in rows if row[K] == part), key=lambda row: (order_of(row, keys), row[TIE]))
        expected |= {row[TIE]: [one[TIE] for one in in_frame(mine, i, frame, keys)] for i, row in enumerate(mine)}
    assert framed(arranged(table, (K,), keys), frame) == expected


def framed(table: Sorted, frame: Frame) -> dict[Any, list[Any]]:
    """For each row, by its tie, those in its frame, in order."""
    ties = table.rows[TIE].to_pylist()
    first, stop = table.bounds(frame)
    return {tie: ties[start:end] for tie, start, end in zip(ties, first, stop, strict=True)}


def test_tie_break_decides_among_equals() -> None:
    rows = pa.table({"x": [1, 1, 1], "tie": [3, None, 2]})
    found = arranged(rows, (), (OrderKey("x"),), (OrderKey("tie", nulls_first=False),))
    assert found.rows["tie"].to_pylist() == [2, 3, None]


def test_far_apart_values_find_their_places_in_several_partitions() -> None:
    """Where partition and value do not fit into one number, ranks do."""
    far = {"x": [-(2**61), 0, 2**61], "low": [-(2**61) - 5, -5, 0]}
    parts = [pa.table({**far, K: [k] * 3, TIE: [f"{k}0", f"{k}1", f"{k}2"]}) for k in "abcd"]
    frame = Frame(Unit.RANGE, Bound(Edge.PRECEDING, Values("low")), Bound(Edge.CURRENT_ROW))
    found = framed(arranged(pa.concat_tables(parts), (K,), (OrderKey("x"),)), frame)
    assert found == {f"{k}{at}": [f"{k}0", f"{k}1", f"{k}2"][min(at, 1) : at + 1] for k in "abcd" for at in range(3)}


@pytest.mark.parametrize("most", [2, 1 << 16, 1 << 40])
@given(st.data())
@settings(max_examples=30)
def test_partitions_are_brought_together_and_found_back(most: int, data: st.DataObject) -> None:
    """Codes of partitions that differ only beyond 16 bits are not taken for one another."""
    codes = np.array(data.draw(st.lists(st.sampled_from([0, 1, most, most + 1]), max_size=12)), np.int64)
    table, order = gathered(pa.table({TIE: pa.array(np.arange(len(codes)))}), codes, ())
    together = [tie for code in sorted(set(codes.tolist())) for tie in np.flatnonzero(codes == code).tolist()]
    assert table.rows[TIE].to_pylist() == together
    assert table.rows[TIE].take(pa.array(inverse(order))).to_pylist() == [*range(len(codes))]
    assert len(set(table.part.tolist())) == len(set(codes.tolist()))
