"""Expiry: by the times of rows, and by the watermark."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.kernel import Clock, numbered_chunks
from panes.kernels.state.carry import SEEN, Carry
from panes.kernels.state.expiry import Expiry, expired_before, expires_at, gaps, generation_starts, split_expired

PARTITIONS = st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=1)), min_size=1)


@given(PARTITIONS, st.integers(0, 5), st.booleans())
def test_a_generation_ends_where_the_next_row_comes_too_late(partitions, ttl, as_flags):
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
def test_what_expires_at_a_watermark_has_expired_before_it(watermark):
    oldest = expired_before(5, Clock(watermark))
    for seen in range(20):
        assert (seen < oldest) == (watermark >= expires_at(seen, 5))


def test_without_ttl_or_watermark_nothing_expires():
    rows = pa.table({SEEN: [1, 2]})
    for ttl, clock in ((None, Clock(100)), (5, Clock())):
        assert expired_before(ttl, clock) is None
        assert [part.num_rows for part in split_expired(rows, ttl, clock)] == [0, 2]
    assert [part[SEEN].to_pylist() for part in split_expired(rows, 5, Clock(7))] == [[1], [2]]


def test_expired_partitions_are_looked_for_when_some_may_have_expired():
    expiry = Expiry(Carry(("k",)), 10, patience=3)
    rows = pa.table({"k": ["a", "b"], SEEN: [0, 4]})
    with numbered_chunks():
        chunks = expiry.carry.put((), rows)
        facts = expiry.added({}, rows)
        assert facts == {"carry_expires": 11}
        assert expiry.swept(chunks, facts, Clock(10)) == (chunks, facts)
        chunks, facts = expiry.swept(chunks, facts, Clock(11))
        assert facts == {"carry_expires": 15}
        assert expiry.carry.all(chunks)["k"].to_pylist() == ["b"]
        chunks, facts = expiry.swept(chunks, facts, Clock(15))
    assert (chunks, facts) == ((), {})
