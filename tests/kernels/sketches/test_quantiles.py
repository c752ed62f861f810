"""Quantiles against a definition of a few lines; parts merged are the whole, to the byte."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.sketches.quantiles import STATE, Quantiles, bit_lengths, doubles_of, keys_of

POINTS = (0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0)
SMALL = Quantiles(16, (0.0, 0.3, 0.5, 0.97, 1.0))
DOUBLES = pa.list_(pa.float64())


def key(value: float) -> int:
    """Doubles in order as whole numbers."""
    if math.isnan(value):
        return 0x7FF8 << 48
    (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
    return int(bits) if bits >= 0 else int(bits) ^ (2**63 - 1)


def quantiles(values: list[float], sketch: Quantiles) -> list[float] | None:
    """Values by rank; beyond `size` distinct ones, that of a bucket which is nearest to zero, but for both ends."""
    ordered = sorted((math.nan if math.isnan(one) else one + 0.0 for one in values), key=key)
    if not ordered:
        return None
    keys = [key(one) for one in ordered]
    different = set(keys)
    cut = next(cut for cut in range(64) if len({one >> cut for one in different}) <= sketch.size)
    found = []
    for point in sketch.points:
        rank = max(1, math.ceil(point * len(keys)))
        bucket = [one for one in keys if one >> cut == keys[rank - 1] >> cut]
        nearest = bucket[0] if bucket[0] >= 0 else bucket[-1]
        found.append(ordered[keys.index(keys[rank - 1] if rank in (1, len(keys)) else nearest)])
    return found


def evaluated(sketch: Quantiles, states: pa.Array) -> list[list[float] | None]:
    got: list[list[float] | None] = sketch.evaluate(states).to_pylist()
    return got


def folded(sketch: Quantiles, *lists: list[float]) -> pa.Array:
    return sketch.fold(pa.array(lists, DOUBLES))


def merged(sketch: Quantiles, *parts: pa.Array) -> pa.Array:
    both = pa.concat_arrays(parts)
    return sketch.merge(pa.ListArray.from_arrays([0, len(both)], both))


VALUES = st.lists(
    st.floats() | st.integers(-20, 20).map(float) | st.sampled_from([0.0, -0.0, math.inf, -math.inf]), max_size=60
)


@settings(max_examples=100)
@given(VALUES)
def test_quantiles_are_their_definition(values: list[float]) -> None:
    assert repr(evaluated(SMALL, folded(SMALL, values))) == repr([quantiles(values, SMALL)])


@settings(max_examples=100)
@given(st.lists(VALUES, min_size=1, max_size=4), st.integers(0, 3))
def test_parts_that_are_merged_are_the_whole(parts: list[list[float]], first: int) -> None:
    """At once, and some of them before the others."""
    whole = folded(SMALL, [one for part in parts for one in part])
    states = [folded(SMALL, part) for part in parts]
    same = [merged(SMALL, *states)]
    if 0 < first < len(states):
        same.append(merged(SMALL, merged(SMALL, *states[:first]), merged(SMALL, *states[first:])))
    assert [repr(one.to_pylist()) for one in same] == [repr(whole.to_pylist())] * len(same)


def test_groups_do_not_mix() -> None:
    lists = [[1.0, 2.0], [], [5.0] * 3]
    states = folded(SMALL, *lists)
    pairs = pa.ListArray.from_arrays([0, 2, 3], states)
    assert evaluated(SMALL, SMALL.merge(pairs)) == [quantiles(lists[0], SMALL), quantiles(lists[2], SMALL)]
    assert evaluated(SMALL, states) == [quantiles(one, SMALL) for one in lists]


Draw = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]
DISTRIBUTIONS: dict[str, Draw] = {
    "uniform": lambda random, n: random.random(n),
    "normal": lambda random, n: random.normal(size=n),
    "exponential": lambda random, n: random.exponential(size=n),
    "log-normal": lambda random, n: random.lognormal(size=n),
    "zipf": lambda random, n: random.zipf(1.5, n).astype(np.float64),
    "whole numbers": lambda random, n: random.integers(-5_000, 1_000_000, n).astype(np.float64),
    "times": lambda random, n: 1.7e15 + np.floor(random.random(n) * 3.6e9),
    "one in two is zero": lambda random, n: random.random(n) * (random.random(n) < 0.5),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("accuracy", [20, 1_000])
def test_a_quantile_is_off_by_one_in_accuracy_at_most(name: str, accuracy: int) -> None:
    """In rank, and it is one of the values."""
    number = 200_000
    values = DISTRIBUTIONS[name](np.random.default_rng(7), number)
    sketch = Quantiles(16 * accuracy, POINTS)
    states = sketch.fold(pa.ListArray.from_arrays([0, number], pa.array(values)))
    (got,) = evaluated(sketch, states)
    ordered = np.sort(values)
    for point, found in zip(POINTS, got or (), strict=True):
        rank = max(1, math.ceil(point * number))
        first, last = np.searchsorted(ordered, found) + 1, np.searchsorted(ordered, found, "right")
        assert first <= last, "it is one of the values"
        assert int(first) - rank <= number / accuracy and rank - int(last) <= number / accuracy
    assert len(states[0]["values"]) <= 16 * accuracy


def test_where_a_rank_cannot_be_told_the_value_is_close() -> None:
    """Most rows in a narrow range, and more values than buckets spread wide: the bits that are left decide."""
    random = np.random.default_rng(3)
    values = np.concatenate([20 + random.random(90_000) / 1_000, 10.0 ** random.uniform(-3, 6, 10_000)])
    sketch = Quantiles(1_600, (0.1, 0.5, 0.9))
    (got,) = evaluated(sketch, sketch.fold(pa.ListArray.from_arrays([0, len(values)], pa.array(values))))
    assert got == pytest.approx(np.quantile(values, (0.1, 0.5, 0.9)), rel=0.02)


FEWER = st.lists(st.floats(-9, 9) | st.integers(-9, 9).map(float) | st.just(math.nan), max_size=25)
SEGMENTS = st.lists(FEWER, min_size=1, max_size=3)
BEFORE = st.lists(FEWER, min_size=3, max_size=3)


@settings(max_examples=60)
@given(SEGMENTS, BEFORE, st.integers(2, 9))
def test_running_quantiles_are_those_of_the_rows_so_far(
    segments: list[list[float]], before: list[list[float]], hole: int
) -> None:
    """Every so many rows, one does not count."""
    rows = [
        (at, None if place % hole == 0 else one) for at, each in enumerate(segments) for place, one in enumerate(each)
    ]
    known = folded(SMALL, *before[: len(segments)])
    got = SMALL.running(
        pa.array([value for _, value in rows], pa.float64(), from_pandas=False),
        np.array([at for at, _ in rows], np.int64),
        known,
    )
    expected = [
        quantiles(before[own] + [one for at, one in rows[: place + 1] if at == own and one is not None], SMALL)
        for place, (own, _) in enumerate(rows)
    ]
    assert repr(got.to_pylist()) == repr(expected)


def test_a_state_is_of_its_type() -> None:
    assert folded(SMALL, [1.0], []).type == STATE == merged(SMALL, folded(SMALL, [1.0])).type
    assert folded(SMALL, []).null_count == 1


@given(st.floats(), st.floats())
def test_keys_have_the_order_of_doubles(one: float, other: float) -> None:
    left, right = keys_of(np.array([one, other])).tolist()
    assert (left, right) == (key(one), key(other))
    assert repr(doubles_of(np.array([left])).tolist()) == repr([math.nan if math.isnan(one) else one + 0.0])


@given(st.integers(0, 2**63 - 1))
def test_bit_lengths(number: int) -> None:
    assert bit_lengths(np.array([number])).tolist() == [number.bit_length()]
