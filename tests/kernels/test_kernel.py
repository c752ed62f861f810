"""What every kernel can rely on: chunks with numbers that no other attempt of a step gives differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present

from panes.kernels.kernel import Clock, State, Step, new_chunk, numbered_chunks, run_step, seconds


@dataclass(frozen=True)
class Keeps:
    """A kernel that keeps each micro-batch in `parts` chunks, and forgets them at the flush."""

    parts: int = 1

    def depends_on(self) -> Mapping[str, Any]:
        return {"parts": self.parts}

    def pack(self, rows: pa.Table) -> pa.Table:
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        made = [new_chunk(batch, "v") for _ in range(self.parts)] if batch is not None else []
        kept = () if clock.flush else state.chunks
        return Step(State((*kept, *made), state.facts, state.next_chunk))


def batch(*values: int) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64())})


def ids(state: State) -> list[str]:
    return [chunk.id for chunk in state.chunks]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=8))
def test_a_number_is_given_once(steps: list[tuple[int, bool]]) -> None:
    """Also after chunks are gone, and whether or not a step makes any."""
    state, given_before = State(), 0
    for parts, flush in steps:
        state = run_step(Keeps(parts), state, batch(1), Clock(flush=flush)).state
        assert ids(state)[len(state.chunks) - parts :] == [str(given_before + at) for at in range(parts)]
        given_before += parts
        assert state.next_chunk == given_before


def test_two_attempts_give_the_same_numbers() -> None:
    state = run_step(Keeps(2), State(), batch(1), Clock()).state
    one, other = (run_step(Keeps(3), state, batch(2), Clock()).state for _ in range(2))
    assert one == other
    assert ids(one) == ["0", "1", "2", "3", "4"]


def test_a_step_that_makes_nothing_leaves_the_state_itself() -> None:
    @dataclass(frozen=True)
    class Nothing(Keeps):
        def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
            return Step(state)

    state = run_step(Keeps(), State(), batch(1), Clock()).state
    assert run_step(Nothing(), state, None, Clock()).state is state


def test_chunks_cover_the_values_of_a_column() -> None:
    with numbered_chunks(7) as numbers:
        covering, plain = new_chunk(batch(3, -5, 4), "v", "rows"), new_chunk(batch(1, 2))
        assert next(numbers) == 9
    assert (covering.id, covering.rows, covering.low, covering.high, covering.kind) == ("7", 3, -5, 4, "rows")
    assert (plain.id, plain.low, plain.high, plain.kind) == ("8", 0, 0, "")
    assert covering.load().equals(batch(3, -5, 4))


def test_times_are_covered_in_microseconds() -> None:
    times = pa.table({"ts": pa.array([5, 2], pa.timestamp("us", "UTC"))})
    with numbered_chunks():
        chunk = new_chunk(times, "ts")
    assert (chunk.low, chunk.high) == (2, 5)


def test_numbers_inside_numbers() -> None:
    with numbered_chunks(3):
        with numbered_chunks(100):
            assert new_chunk(batch(1)).id == "100"
        assert new_chunk(batch(1)).id == "3"


def test_chunks_are_equal_without_what_they_hold() -> None:
    with numbered_chunks():
        one = new_chunk(batch(1))
    with numbered_chunks():
        other = new_chunk(batch(2))
    assert one == other and "load" not in repr(one)


@given(st.integers(0, 10**18))
def test_seconds_are_exact(microseconds: int) -> None:
    text = present(seconds(microseconds))
    assert Fraction(text.removesuffix(" s")) == Fraction(microseconds, 1_000_000)


@pytest.mark.parametrize(("length", "text"), [(None, None), (0, "0 s"), (60_000_000, "60 s"), (1, "0.000001 s")])
def test_seconds(length: int | None, text: str | None) -> None:
    assert seconds(length) == text
