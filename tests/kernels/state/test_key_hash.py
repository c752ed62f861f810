"""Rows are found by the hashes of their keys, of all types that keys have."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.duck import query
from panes.kernels.state.key_hash import HASH, agree, encoding, hashes, matches, sorted_by_hash

KEYS = {
    "bigint": pa.array([1, None, -5, 1]),
    "string": pa.array(["", None, "é", ""]),
    "double": pa.array([0.0, None, math.nan, -0.0]),
    "boolean": pa.array([True, None, False, True]),
    "timestamp": pa.array([1, None, -1, 1], pa.timestamp("us", "UTC")),
    "decimal": pa.array([1, None, -1, 1]).cast(pa.decimal128(38, 0)),
    "array": pa.array([[1, None], None, [], [1, None]]),
    "struct": pa.array([{"a": 1}, None, {"a": None}, {"a": 1}]),
}


@pytest.mark.parametrize("type_", KEYS)
def test_equal_keys_have_one_hash_and_most_others_have_others(type_: str) -> None:
    """DuckDB does not tell an empty array, or a struct of NULLs, from NULL."""
    found = hashes(pa.table({"k": KEYS[type_]}), ["k"])
    assert found[0] == found[3]
    assert len(set(found.tolist())) == 3 - (type_ in ("array", "struct"))


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 12)))
def test_matches_are_all_pairs(ascending: list[int], wanted: list[int]) -> None:
    ascending = sorted(ascending)
    which, places = matches(np.array(ascending, np.uint64), np.array(wanted, np.uint64))
    pairs = [(i, j) for i, one in enumerate(wanted) for j, other in enumerate(ascending) if one == other]
    assert list(zip(which.tolist(), places.tolist(), strict=True)) == pairs


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9))))
def test_rows_of_a_key_stay_in_order(rows: list[tuple[str, int]]) -> None:
    table = pa.table(
        {"k": pa.array([k for k, _ in rows], pa.string()), "v": pa.array([v for _, v in rows], pa.int64())}
    )
    found = sorted_by_hash(table, ["k"])
    assert found[HASH].to_pylist() == sorted(found[HASH].to_pylist())
    for key in "abc":
        values = [v for k, v in zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True) if k == key]
        assert values == [v for k, v in rows if k == key]
    assert sorted_by_hash(found, ["k"]).equals(found)


@pytest.mark.parametrize("type_", KEYS)
def test_agreement_is_duckdbs(type_: str) -> None:
    """Every value beside every other; NULL agrees with NULL, NaN with NaN, 0.0 with -0.0."""
    places = np.arange(len(KEYS[type_]))
    left, right = (
        KEYS[type_].take(pa.array(at)) for at in (np.repeat(places, len(places)), np.tile(places, len(places)))
    )
    expected = query(
        "SELECT l.k IS NOT DISTINCT FROM r.k AS same FROM one l POSITIONAL JOIN other r",
        one=pa.table({"k": left}),
        other=pa.table({"k": right}),
    )["same"].to_pylist()
    assert agree(pa.table({"k": left}), pa.table({"k": right}), ["k"]).tolist() == expected
    assert expected[:4] == [True, False, False, True]


def test_rows_agree_in_all_columns() -> None:
    one = pa.table({"a": [1, 1, 2], "b": ["x", "x", None]})
    other = pa.table({"a": [1, 1, 2], "b": ["x", "y", None]})
    assert agree(one, other, ["a", "b"]).tolist() == [True, False, True]
    assert agree(one, other, []).tolist() == [True, True, True]


def test_the_encoding_is_that_of_this_duckdb() -> None:
    assert encoding() == encoding()
    assert len(encoding()) == 8
