"""Expiry: by the times of rows, and by the watermark."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.kernel import Chunk, Clock, numbered_chunks
from panes.kernels.state.carry import SEEN, Carry
from panes.kernels.state.expiry import Expiry, expired_before, expires_at, gaps, generation_starts, split_expired

PARTITIONS = st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=1)), min_size=1)


@given(PARTITIONS, st.integers(0, 5), st.booleans())
def test_a_generation_ends_where_the_next_row_comes_too_late(partitions: Any, ttl: Any, as_flags: Any) -> None:
    times = np.array([time for _, part in partitions for time in part])
    first = np.cumsum([0, *(len(part) for _, part in partitions)])[:-1]
    pairs = [pair for before, part in partitions for pair in pairwise([before, *part])]
    before = np.array([before for before, _ in partitions])
    places = np.isin(np.arange(len(times)), first) if as_flags else first
    found = gaps(times, places, before, ttl)
    assert found.tolist() == [time - earlier > ttl for earlier, time in pairs]
    starts = generation_starts(np.isin(np.arange(len(times)), first) | found)
    assert all(found[start] or start in first for start in starts)
    assert not any(found[start + 1 : place + 1].any() for place, start in enumerate(starts))


@pytest.mark.parametrize("watermark", [9, 10, 11, 12])
def test_what_expires_at_a_watermark_has_expired_before_it(watermark: Any) -> None:
    oldest = expired_before(5, Clock(watermark))
    for seen in range(20):
        assert (seen < present(oldest)) == (watermark >= expires_at(seen, 5))


def test_without_ttl_or_watermark_nothing_expires() -> None:
    rows = pa.table({SEEN: [1, 2]})
    for ttl, clock in ((None, Clock(100)), (5, Clock())):
        assert expired_before(ttl, clock) is None
        assert [part.num_rows for part in split_expired(rows, ttl, clock)] == [0, 2]
    assert [part[SEEN].to_pylist() for part in split_expired(rows, 5, Clock(7))] == [[1], [2]]


def test_expired_partitions_are_looked_for_when_some_may_have_expired() -> None:
    expiry = Expiry(Carry(("k",)), 10, patience=3)
    rows = pa.table({"k": ["a", "b"], SEEN: [0, 4]})
    with numbered_chunks():
        chunks = expiry.carry.put((), rows)
        facts = expiry.added({}, rows)
        assert facts == {"carry_expires": 11}
        assert expiry.swept(chunks, facts, Clock(10)) == (None, chunks, facts)
        gone, chunks, facts = expiry.swept(chunks, facts, Clock(11))
        assert present(gone)["k"].to_pylist() == ["a"]
        assert facts == {"carry_expires": 15}
        assert present(expiry.carry.all(chunks))["k"].to_pylist() == ["b"]
        _, chunks, facts = expiry.swept(chunks, facts, Clock(15))
    assert (chunks, facts) == ((), {})


CARRY = Carry(("k",))
# Each step: how much later its rows are than those before, the partitions that they are of, and where the watermark is.
STEPS = st.lists(
    st.tuples(st.integers(0, 15), st.sets(st.sampled_from("abcd"), max_size=2), st.integers(0, 10)), max_size=12
)


def table(seen: dict[str, int]) -> pa.Table:
    return pa.table({"k": pa.array([*seen], pa.string()), SEEN: pa.array([*seen.values()], pa.int64())})


def kept(chunks: tuple[Chunk, ...]) -> dict[str, int]:
    rows = CARRY.all(chunks)
    return {} if rows is None else {row["k"]: row[SEEN] for row in rows.to_pylist()}


@settings(max_examples=150)
@given(STEPS, st.integers(0, 12), st.sampled_from([0, 7]))
def test_what_is_left_after_each_step(steps: list[tuple[int, set[str], int]], ttl: int, patience: int) -> None:
    """Rows come in the order of time, and the watermark is behind them."""
    expiry = Expiry(CARRY, ttl, patience)
    chunks: tuple[Chunk, ...] = ()
    facts: dict[str, Any] = {}
    seen: dict[str, int] = {}
    now, mark = 0, 0
    for later, partitions, behind in steps:
        now, mark = now + later, max(mark, now + later - behind)
        changed = dict.fromkeys(sorted(partitions), now)
        chunks, facts = CARRY.put(chunks, table(changed)), expiry.added(facts, table(changed))
        seen |= changed
        before = expiry.due(facts, Clock(mark))
        gone, chunks, facts = expiry.swept(chunks, facts, Clock(mark))
        left = kept(chunks)
        assert sorted([] if gone is None else gone["k"].to_pylist()) == sorted(set(seen) - set(left))
        assert left == {key: at for key, at in seen.items() if key in left}
        assert {key for key, at in seen.items() if at + ttl >= mark} <= set(left)
        assert all(at + ttl + patience >= mark for at in left.values())
        assert before or left == seen or patience
        assert not expiry.due(facts, Clock(mark))
        seen = left
    assert (expiry.fact in facts) == bool(seen)


def test_chunks_that_do_not_say_what_they_cover() -> None:
    """As in the first checkpoints: they are looked into."""
    expiry = Expiry(CARRY, 10)
    with numbered_chunks():
        (chunk,) = CARRY.put((), table({"a": 5, "b": 50}))
        old = replace(chunk, kind=CARRY.kind, low=0, high=0)
        gone, chunks, facts = expiry.swept((old,), {expiry.fact: 16}, Clock(16))
    assert present(gone)["k"].to_pylist() == ["a"]
    assert kept(chunks) == {"b": 50}
    assert facts == {expiry.fact: 61}
