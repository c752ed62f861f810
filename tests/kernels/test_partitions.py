"""Codes: rows have the same number exactly where they are of one partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.partitions import by_partition, codes, distinct

COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["", "a", None]),
    "number": (pa.int64(), [-(2**63), 0, 2**63 - 1, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "list": (pa.list_(pa.int64()), [[], [1], [None], None]),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": None}, {"a": None, "b": "x"}, None]),
}
PLACES = st.tuples(*(st.integers(0, len(values) - 1) for _, values in COLUMNS.values()))


@settings(max_examples=100)
@given(st.lists(PLACES, max_size=12), st.lists(st.sampled_from([*COLUMNS]), max_size=5))
def test_codes_tell_partitions_apart(drawn: list[tuple[int, ...]], by: list[str]) -> None:
    """The definition knows a value by its place among those of its column."""
    columns = {}
    for number, (name, (type_, values)) in enumerate(COLUMNS.items()):
        columns[name] = pa.array([values[row[number]] for row in drawn], type_)
    found = codes(pa.table(columns), by).tolist()
    partitions = [tuple(row[[*COLUMNS].index(name)] for name in by) for row in drawn]
    assert len(found) == len(drawn)
    for one, partition in zip(found, partitions, strict=True):
        assert [other == one for other in found] == [other == partition for other in partitions]
    assert all(0 <= code < max(1, len(found)) for code in found)


def test_many_columns_do_not_overflow() -> None:
    """Seventy columns of two values each: the product of their numbers is beyond 64 bits."""
    bits = np.random.default_rng(0).integers(0, 2, (200, 70))
    bits[100:] = bits[:100]
    found = codes(pa.table({f"c{at}": bits[:, at] for at in range(70)}), [f"c{at}" for at in range(70)])
    assert found[:100].tolist() == found[100:].tolist()
    assert len(set(found.tolist())) == len({tuple(row) for row in bits.tolist()})


def test_columns_in_several_chunks() -> None:
    rows = pa.concat_tables([pa.table({"k": ["a", "b"]}), pa.table({"k": ["b", "a"]})])
    assert codes(rows, ["k"]).tolist() == [0, 1, 1, 0]


def test_without_columns_there_is_one_partition() -> None:
    assert codes(pa.table({"k": [1, 2, 3]}), []).tolist() == [0, 0, 0]


@given(st.lists(st.sampled_from([0.0, -0.0, float("nan"), 1.5, None])))
def test_zeros_and_nans_are_one_each(values: list[float | None]) -> None:
    found = distinct(pa.table({"k": pa.array(values, pa.float64())}), ["k"])["k"].to_pylist()
    words = {repr(None if value is None else abs(value)) for value in values}
    assert sorted(repr(None if value is None else abs(value)) for value in found) == sorted(words)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2**40)), st.integers(0, 3))
def test_rows_are_sorted_by_partition_stably(keys: list[int], repeated: int) -> None:
    keys = (keys * (repeated + 1))[:40] or [0]
    order, starts = by_partition(pa.table({"k": pa.array(keys, pa.int64())}), ["k"])
    runs = [run.tolist() for run in np.split(order, starts[1:])]
    assert sorted(runs) == sorted([at for at, one in enumerate(keys) if one == key] for key in set(keys))
