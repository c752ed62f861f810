"""Sessions of rows against their definition: rows sorted by time, apart where the gap to all before is too long."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.windows.neighbours import gathered

ENDS = (-(2**63), 2**63 - 1)
TIMES = st.one_of(st.integers(0, 30), st.integers(ENDS[0], ENDS[0] + 30), st.integers(ENDS[1] - 30, ENDS[1]))
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), TIMES, st.integers(0, 20)), max_size=25)
Session = tuple[str | None, int, int, tuple[int, ...]]


def defined(rows: list[tuple[str | None, int, int]], gap: int) -> list[Session]:
    """Key, first and last time, and the numbers of the rows of each session."""
    found: list[Session] = []
    for number, (key, first, last) in sorted(enumerate(rows), key=lambda row: (str(row[1][0]), row[1][1])):
        if found and found[-1][0] == key and first - found[-1][2] <= gap:
            _, begin, end, numbers = found.pop()
            found.append((key, begin, max(end, last), (*numbers, number)))
        else:
            found.append((key, first, last, (number,)))
    return sorted((*session[:3], tuple(sorted(session[3]))) for session in found)


@given(ROWS.map(lambda rows: [(k, t, min(t + length, ENDS[1])) for k, t, length in rows]), st.integers(0, 10))
def test_rows_near_each_other_are_a_session(rows: list[tuple[str | None, int, int]], gap: int) -> None:
    rows = [("" if key is None else key, first, last) for key, first, last in rows]
    keys = pa.table({"k": pa.array([key or None for key, _, _ in rows], pa.string())})
    first, last = (np.array([row[at] for row in rows], np.int64) for at in (1, 2))
    sessions = gathered(keys, ["k"], first, last, gap)
    found = [
        (rows[row][0], int(begin), int(end), tuple(np.flatnonzero(sessions.number == number).tolist()))
        for number, (row, begin, end) in enumerate(zip(sessions.row, sessions.first, sessions.last, strict=True))
    ]
    assert sorted(found) == defined(rows, gap)


def test_without_keys_all_rows_are_of_one() -> None:
    times = np.array([5, 0, 100])
    assert gathered(pa.table({"v": [1, 2, 3]}), [], times, times, 10).number.tolist() == [0, 0, 1]
