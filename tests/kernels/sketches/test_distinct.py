"""HyperLogLog against a definition of a few lines; parts merged are the whole, to the byte."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.sketches.distinct import Distinct, distinct, precision

STATES = pa.list_(pa.int64())
SMALL = Distinct(5, 10_000)  # 32 registers; 4 hashes
DEFAULT = distinct(None)


def hashes(number: int, seed: int = 0) -> list[int]:
    found: list[int] = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, number).tolist()
    return found


def state(sketch: Distinct, values: list[int]) -> list[int | None] | None:
    got: list[int | None] | None = sketch.fold(pa.array([values], STATES))[0].as_py()
    return got


def count(sketch: Distinct, values: list[int]) -> int:
    return int(sketch.evaluate(sketch.fold(pa.array([values], STATES)))[0].as_py())


def defined(sketch: Distinct, values: list[int]) -> list[int | None] | None:
    """Hashes while there are few; else a NULL and the greatest rank of each register, eight in a number."""
    if len(set(values)) <= sketch.most_hashes:
        return [*sorted(set(values))] or None
    registers = bytearray(sketch.registers)
    for value in values:
        bits = f"{value % 2**64:064b}"
        rest = bits[sketch.bits :]
        rank = rest.index("1") + 1 if "1" in rest else len(rest) + 1
        registers[int(bits[: sketch.bits], 2)] = max(registers[int(bits[: sketch.bits], 2)], rank)
    words = [registers[at : at + 8] for at in range(0, len(registers), 8)]
    return [None, *(int.from_bytes(word, "little", signed=True) for word in words)]


EDGES = st.sampled_from([0, -1, 1, 2**63 - 1, -(2**63), 1 << 59, (1 << 59) - 1, 1 << 58, -(2**62)])
VALUES = st.lists(st.integers(-(2**63), 2**63 - 1) | EDGES, max_size=40)


@settings(max_examples=80)
@given(VALUES)
def test_a_state_is_its_definition(values: list[int]) -> None:
    assert state(SMALL, values) == defined(SMALL, values)


@settings(max_examples=80)
@given(st.lists(VALUES, max_size=4), st.integers(0, 3))
def test_parts_that_are_merged_are_the_whole(parts: list[list[int]], first: int) -> None:
    """At once, and some of them before the others; groups do not mix."""
    whole = SMALL.fold(pa.array([[one for part in parts for one in part], [5]], STATES))
    folded = SMALL.fold(pa.array(parts, STATES))
    five = SMALL.fold(pa.array([[5]], STATES))
    merged = SMALL.merge(pa.array([folded.to_pylist(), five.to_pylist()], pa.list_(STATES)))
    assert merged.equals(whole)
    some = SMALL.merge(pa.array([folded[:first].to_pylist(), folded[first:].to_pylist()], pa.list_(STATES)))
    assert SMALL.merge(pa.array([some.to_pylist(), five.to_pylist()], pa.list_(STATES))).equals(whole)


def test_few_values_are_counted_exactly() -> None:
    for number in (0, 1, 10, 64):
        assert count(DEFAULT, hashes(number) * 2) == number


@pytest.mark.parametrize("number", [65, 300, 1_000, 10_000])
@pytest.mark.parametrize("error", [None, 0.02, 0.2])
def test_counts_are_within_the_error_that_was_asked_for(number: int, error: float | None) -> None:
    """The root of the mean square of relative errors."""
    sketch = distinct(error)
    states = [sketch.fold(pa.ListArray.from_arrays([0, number], pa.array(hashes(number, seed)))) for seed in range(25)]
    got = sketch.evaluate(pa.concat_arrays(states)).to_numpy() / number - 1
    assert math.sqrt((got**2).mean()) <= 1.2 * (error or 0.05)


def test_a_state_has_a_size_that_does_not_grow() -> None:
    numbers = pa.array(np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 100_000))
    (one,) = DEFAULT.fold(pa.ListArray.from_arrays([0, 100_000], numbers)).to_pylist()
    assert len(one) == 1 + 512 // 8


def test_registers_are_as_many_as_sparks() -> None:
    assert [precision(error) for error in (0.39, 0.1, 0.05, 0.01, 0.001)] == [4, 7, 9, 14, 21]


def test_states_of_the_first_checkpoints_are_read() -> None:
    """They had all hashes, up to 4,096; one that is full has lost some, and is refused."""
    old = sorted(hashes(1_000))
    assert DEFAULT.evaluate(pa.array([old], STATES))[0].as_py() == count(DEFAULT, old)
    new = DEFAULT.fold(pa.array([hashes(100, 1)], STATES))[0].as_py()
    merged = DEFAULT.merge(pa.array([[old, new]], pa.list_(STATES)))
    assert merged.equals(DEFAULT.fold(pa.array([old + hashes(100, 1)], STATES)))
    for step in (DEFAULT.evaluate, lambda full: DEFAULT.merge(pa.array([full.to_pylist()], pa.list_(STATES)))):
        with pytest.raises(ValueError, match="full"):
            step(pa.array([sorted(hashes(4_096))], STATES))


SEGMENTS = st.lists(st.lists(st.none() | st.integers(0, 60), max_size=30), min_size=1, max_size=3)
BEFORE = st.lists(st.lists(st.integers(0, 60), max_size=20), min_size=3, max_size=3)


@settings(max_examples=80)
@given(SEGMENTS, BEFORE)
def test_running_counts_are_those_of_the_rows_so_far(segments: list[list[int | None]], before: list[list[int]]) -> None:
    spread = hashes(61)
    rows = [(at, None if one is None else spread[one]) for at, each in enumerate(segments) for one in each]
    known = [[spread[one] for one in each] for each in before[: len(segments)]]
    got = SMALL.running(
        pa.array([value for _, value in rows], pa.int64()),
        np.array([at for at, _ in rows], np.int64),
        SMALL.fold(pa.array(known, STATES)),
    )
    expected = [
        count(SMALL, known[own] + [one for at, one in rows[: place + 1] if at == own and one is not None])
        for place, (own, _) in enumerate(rows)
    ]
    assert got.to_pylist() == expected
