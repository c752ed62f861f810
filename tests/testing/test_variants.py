"""Other ways for the same rows to come."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from panes.testing.promise import late_rows
from panes.testing.variants import Arrival, Wish, groups, shuffled

TIMES = st.lists(st.none() | st.integers(0, 20), max_size=10)


@given(TIMES, st.integers(0, 10), st.integers(0, 1000))
def test_shuffled_rows_are_the_same_and_none_is_late(times: list[int | None], delay: int, seed: int) -> None:
    rows = [Arrival("t", (number,), time, ("k",)) for number, time in enumerate(times)]
    found = shuffled(rows, {"t": delay}, random.Random(seed))
    assert sorted(row.values for row in found) == sorted(row.values for row in rows)
    assert late_rows(found, delay) == 0
    for time in {row.time for row in rows if row.time is not None}:  # ties keep their order
        assert [row.values for row in found if row.time == time] == [row.values for row in rows if row.time == time]


def rows(count: int) -> tuple[tuple[Arrival, ...], ...]:
    return (tuple(Arrival("t", (number,), number) for number in range(count)),)


@given(st.integers(0, 1000), st.integers(1, 9))
def test_variants_have_all_rows_and_those_of_a_group_keep_step(seed: int, cuts: int) -> None:
    found = groups(rows(6), Wish(cuts, 2, (1, 3), seed), {"t": 0}, cut=True, shuffle=True, size=4)
    variants = [variant for group in found for variant in group]
    assert len(variants) == max(cuts, 2)
    for group in found:
        assert len({(len(one.batches), one.restarts, one.kills) for one in group}) == 1
    for one in variants:
        assert sorted(row.values for row in one.rows) == [(number,) for number in range(6)]
        assert one.shards in (1, 3)
    assert sum(bool(one.kills) for one in variants) == 2


def test_the_same_seed_gives_the_same_variants() -> None:
    made = [groups(rows(6), Wish(5, seed=seed), {"t": 3}, cut=True, shuffle=True, size=4) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_micro_batches_that_may_not_differ_stay() -> None:
    written = (*rows(2), *rows(1))
    found = groups(written, Wish(3), {"t": None}, cut=False, shuffle=False, size=4)
    assert {one.batches for group in found for one in group} == {written}
