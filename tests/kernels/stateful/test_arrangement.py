"""Rows sorted by partition."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.stateful.arrangement import Arrangement, flat

from ..harness import KEY, PLACE, TIME
from .definitions import LAG, X, at_once, outputs

INTEGERS = st.sampled_from([0, 1, -1, 1 << 16, 1 << 32, (1 << 32) + 1, 1 << 47]) | st.none()
LARGEST = st.sampled_from([0, -1, (1 << 63) - 1, -(1 << 63)])


@settings(max_examples=40)
@given(st.lists(INTEGERS, min_size=1) | st.lists(LARGEST, min_size=1), st.booleans())
def test_keys_that_are_integers(keys: Any, two: Any) -> None:
    """Each row gives the place of the row before with its key, also where a second key says nothing new."""
    at = pa.array(range(len(keys)), pa.int64())
    times = at.cast(pa.timestamp("us"))
    batch = pa.table({TIME: times, KEY: pa.array(keys, pa.int64()), "zero": [0] * len(keys), PLACE: at, X: at})
    one = replace(at_once([LAG]), partition=(KEY, "zero") if two else (KEY,))
    before = [max((i for i in range(at) if keys[i] == key), default=None) for at, key in enumerate(keys)]
    assert outputs(one, [batch])[LAG.output].to_pylist() == before
    halves = [batch.slice(0, len(keys) // 2), batch.slice(len(keys) // 2)]
    assert outputs(one, [half for half in halves if half.num_rows])[LAG.output].to_pylist() == before


def test_many_integer_keys_come_in_order() -> None:
    dice = Random(5)
    keys = [dice.randrange(1 << 20) << 20 | dice.randrange(3) for _ in range(300)] * 3
    dice.shuffle(keys)
    at = pa.array(range(len(keys)), pa.int64())
    batch = pa.table({TIME: at.cast(pa.timestamp("us")), KEY: pa.array(keys, pa.int64()), PLACE: at, X: at})
    last: dict[int, int] = {}
    before = []
    for number, key in enumerate(keys):
        before.append(last.get(key))
        last[key] = number
    assert outputs(at_once([LAG]), [batch])[LAG.output].to_pylist() == before


def test_places_and_rows() -> None:
    arrangement = Arrangement(np.array([1, 3, 0, 2]), np.array([0, 0, 2, 2]), np.full(4, -1), np.array([1, 3]))
    assert arrangement.place_of.tolist() == [2, 0, 3, 1]
    assert arrangement.by_row(np.array(["a", "b", "c", "d"])).tolist() == ["c", "a", "d", "b"]
    rows = pa.table({"flag": pa.chunked_array([[True, None], [False, True]])})
    assert arrangement.flags(rows, "flag", True).tolist() == [False, True, True, False]
    assert arrangement.flags(rows, None, True).all()
    assert arrangement.given(flat(rows["flag"])).tolist() == [False, True, True, True]
