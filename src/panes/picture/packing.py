"""Intervals in as few tracks as hold them without overlaps."""

from __future__ import annotations

from collections.abc import Sequence

Interval = tuple[float, float]


def tracks(intervals: Sequence[Interval], apart: float = 0.0) -> list[int]:
    """The track of each interval: the first that is free where it begins, in order of beginnings.

    >>> tracks([(0, 10), (5, 15), (10, 20)])
    [0, 1, 0]
    """
    ends: list[float] = []
    found = [0] * len(intervals)
    for index in sorted(range(len(intervals)), key=lambda one: (intervals[one], one)):
        start, end = intervals[index]
        track = next((number for number, last in enumerate(ends) if last + apart <= start), len(ends))
        if track == len(ends):
            ends.append(end)
        else:
            ends[track] = end
        found[index] = track
    return found


def overlap(intervals: Sequence[Interval]) -> bool:
    """Whether any two have more than a touch in common."""
    return len(set(tracks([(start + 0.5, end - 0.5) for start, end in intervals]))) > 1
