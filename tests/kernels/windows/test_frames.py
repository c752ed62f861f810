"""Windows as ranges of positions."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.windows import frames
from panes.kernels.windows.frames import Frames, Index


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), min_size=1), st.sampled_from([1 << 62, 1]))
def test_an_index_finds_rows_by_partition_and_time(rows: Any, largest: Any) -> None:
    """Also where partition and time do not fit into one number."""
    numbers, times = np.array(rows, np.int64).T
    with patch.object(frames, "LARGEST", largest):
        index = Index.of(numbers, times)
    assert [rows[place] for place in index.order] == sorted(rows)
    for number, _ in rows:
        for moment in range(-12, 12):
            found = int(index.find(np.array([number]), np.array([moment]))[0])
            assert found == sum(one < (number, moment) for one in rows)


def test_frames_are_pairs_of_window_and_row() -> None:
    """Two windows over three rows; in the second one, only what came until the trigger counts."""
    index = Index.of(np.zeros(3, np.int64), np.array([5, 1, 3]))
    windows = Frames(index, np.array([0, 1]), np.array([0, 1]), np.array([2, 3]), np.array([1, 2]))
    assert [part.tolist() for part in windows.pairs()] == [[0, 0, 1, 1], [1, 2, 2, 0]]
    seen = Frames(index, windows.number, windows.lo, windows.hi, windows.host, np.array([0, 0]), np.array([2, 1]))
    assert [part.tolist() for part in seen.pairs()] == [[0, 0, 1], [1, 2, 0]]
    with patch.object(frames, "PAIRS", 2):
        assert [piece.number.tolist() for piece in windows.pieces()] == [[0], [1]]
    with patch.object(frames, "PAIRED_BYTES", 200):
        assert [piece.number.tolist() for piece in windows.pieces(100)] == [[0], [1]]
        assert [piece.number.tolist() for piece in windows.pieces(1)] == [[0, 1]]
        assert [piece.number.tolist() for piece in windows.pieces(1_000)] == [[0], [1]]
