"""Windows from what they were after each micro-batch: they go on, merge, close."""

from __future__ import annotations

from panes.trace.grown import Seen, from_changes, from_results
from panes.trace.model import Growth


def seen(step: int, start: int, end: int, *points: int, change: str = "insert") -> Seen:
    return Seen(step, ("a",), start, end, None, points, change)


def test_a_session_that_grows_goes_on_and_takes_in_others() -> None:
    changes = [
        seen(0, 0, 5, 1),
        seen(0, 8, 13, 2),
        seen(1, 0, 5, 1, change="delete"),
        seen(1, 8, 13, 2, change="delete"),
        seen(1, 0, 13, 1, 3, 2),
    ]
    first, second = from_changes(changes, 3, lambda end, step: step == 2)
    assert first.growths == (Growth(0, 0, 5, (1,)), Growth(1, 0, 13, (1, 3, 2)))
    assert (first.closed, first.merged) == (2, None)
    assert (second.closed, second.merged, second.into) == (None, 1, first.id)


def test_overlapping_windows_with_the_same_rows_stay_apart() -> None:
    changes = [seen(0, 0, 20, 1), seen(0, 10, 30, 1)]
    for start, end in ((0, 20), (10, 30)):
        changes += [seen(1, start, end, 1, change="update_preimage"), seen(1, start, end, 1, 2)]
    first, second = from_changes(changes, 2, lambda end, step: end <= 20)
    assert [growth.points for growth in first.growths] == [growth.points for growth in second.growths] == [(1,), (1, 2)]
    assert (first.closed, second.closed) == (1, None)


def test_a_session_of_another_key_does_not_go_on() -> None:
    other = Seen(1, ("b",), 0, 9, None, (1, 2), "insert")
    changes = [seen(0, 0, 5, 1), seen(1, 0, 5, 1, change="delete"), other]
    assert len(from_changes(changes, 2, lambda end, step: False)) == 2


def test_windows_that_come_out_once_grow_by_what_was_taken() -> None:
    taken = {1: (0, 10), 2: (2, 20), 3: (2, 30)}
    (window,) = from_results([Seen(2, (), 10, 30, None, (1, 2, 3))], taken, steps=3)
    assert window.growths == (Growth(0, 10, 10, (1,)), Growth(2, 10, 30, (1, 2, 3)))
    assert window.closed == 2


def test_a_sliding_window_opens_with_its_trigger() -> None:
    taken = {1: (0, 10), 2: (1, 20), 3: (2, 25)}
    (window,) = from_results([Seen(2, (), 5, 30, 20, (1, 2, 3))], taken, steps=3)
    assert window.growths == (Growth(1, 5, 30, (1, 2)), Growth(2, 5, 30, (1, 2, 3)))


def test_what_a_trace_does_not_reach_is_left_out() -> None:
    taken = {1: (0, 10), 2: (3, 20)}
    (window,) = from_results([Seen(3, (), 10, 20, None, (1, 2))], taken, steps=3)
    assert (window.growths, window.closed) == ((Growth(0, 10, 10, (1,)),), None)
    assert from_results([Seen(3, (), 20, 20, None, (2,))], taken, steps=3) == ()
