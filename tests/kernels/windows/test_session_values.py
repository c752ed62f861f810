"""Values of sessions that go by numbers, against a dictionary: whatever closes after whatever merges has them all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.windows.open_groups import WINDOW, Numbers, OpenGroups
from panes.kernels.windows.session_values import Numbering, SessionValues, with_values

from .test_open_groups import GROUPING, folded

# In each step: of each new part, which of the open sessions it joins, if any; which two of them become one; and how
# many close.
STEPS = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=4), st.booleans(), st.integers(0, 2)), min_size=1, max_size=10
)


def numbers(some: list[int]) -> Numbers:
    return np.array(some, np.int64)


@settings(max_examples=100)
@given(STEPS)
def test_a_session_that_closes_has_all_its_values(steps: list[tuple[list[int], bool, int]]) -> None:
    groups, known, next_ = OpenGroups(GROUPING), dict[int, list[int]](), 0
    for value, (joins, merges, closing) in enumerate(steps):
        new = {next_ + at: join for at, join in enumerate(joins)}
        fresh = folded(list(new), value) if new else None
        into = {one: one for one in known}
        for number, join in new.items():
            into[number] = sorted(into)[join] if join < len(known) else number
        two = sorted(set(into.values()))[:2]
        if merges and len(two) == 2:
            into = {part: two[0] if one == two[1] else one for part, one in into.items()}
        after: dict[int, list[int]] = {}
        for part, one in into.items():
            after.setdefault(one, []).extend([value] if part in new else known[part])
        next_ += len(new)
        closed = sorted(after)[:closing]
        expected = {one: after.pop(one) for one in closed}
        open_ = SessionValues(groups, len(after), lambda left=after: numbers(sorted(left)))  # type: ignore[misc]
        found, groups = open_.settled(fresh, Numbering(numbers([*into]), numbers([*into.values()])), numbers(closed))
        assert dict(values(found)) == {one: sorted(some) for one, some in expected.items()}
        known = after
    assert bool(groups.chunks) == bool(known)


def values(found: pa.Table) -> list[tuple[int, list[int]]]:
    return [(row[WINDOW], sorted(one["v"] for one in row["collect_list"])) for row in found.to_pylist()]


def test_parts_of_late_rows_are_left_out() -> None:
    open_ = SessionValues(OpenGroups(GROUPING), 1, lambda: numbers([0]))
    _, groups = open_.settled(folded([0, 1], 5), Numbering(numbers([0]), numbers([0])), numbers([]))
    assert [chunk.load()[WINDOW].to_pylist() for chunk in groups.chunks] == [[0]]


def test_sessions_that_become_one_go_by_the_lowest_number() -> None:
    found = Numbering.lowest(numbers([7, 3, 9, 4]), numbers([0, 1, 0, 2]), np.array([True, True, True, False]))
    assert (found.part.tolist(), found.session.tolist()) == ([7, 3, 9], [7, 3, 7])
    assert found.moved.tolist() == [9]


def test_values_find_their_sessions() -> None:
    sessions, states = pa.table({WINDOW: [4, 2]}), pa.table({WINDOW: [2, 4], "sum": [20, 40]})
    assert with_values(sessions, states).to_pylist() == [{WINDOW: 4, "sum": 40}, {WINDOW: 2, "sum": 20}]
