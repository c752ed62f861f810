"""Frames as index arithmetic: rows of a sorted partition have places, a frame is a half-open range of places.

    place               0  1  2  3  4  5
    ROWS 2 PRECEDING    frame of 3 is [1, 4)
    a change at 2       is in the frames of 2, 3, 4: it reaches [2, 5)

Between the frame and the reach of a change lies everything: rows that are reached are computed again, and rows in their
frames must be there for it. A row that is deleted has no place any more: its change is at the gap that it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Ranges:
    """Half-open ranges of places; one with `stop <= start` is empty."""

    start: Places
    stop: Places


def rows_frames(places: Places, partitions: Ranges, first: int | None, last: int | None) -> Ranges:
    """The frames ROWS BETWEEN first AND last, offsets from the row, None to the edge; inside each row's partition.

    >>> rows_frames(np.arange(3), Ranges(np.zeros(3, np.int64), np.full(3, 3)), -1, 0)
    Ranges(start=array([0, 0, 1]), stop=array([1, 2, 3]))
    """
    start = partitions.start if first is None else np.maximum(places + first, partitions.start)
    stop = partitions.stop if last is None else np.minimum(places + last + 1, partitions.stop)
    return Ranges(start, stop)


def rows_reach(places: Places, gaps: Mask, partitions: Ranges, first: int | None, last: int | None) -> Ranges:
    """The rows whose frame ROWS BETWEEN first AND last a change can alter, by what it holds or by what moves past it.

    `gaps` says which changes left a gap, so that the row now at their place is the next one.

    A frame that lies apart from its row moves with the rows between: 2 FOLLOWING AND 3 FOLLOWING is altered by a change
    one row ahead. So the reach is that of the frame made wider until the row itself is in it.
    """
    start = partitions.start if last is None else np.maximum(places - max(last, 0), partitions.start)
    stop = partitions.stop if first is None else np.minimum(places - min(first, 0) + ~gaps, partitions.stop)
    return Ranges(start, stop)


def holding(frames: Ranges, marked: Mask) -> Mask:
    """Which of these frames hold any marked place.

    >>> holding(Ranges(np.array([0, 1, 2]), np.array([1, 3, 2])), np.array([False, True, True]))
    array([False,  True, False])
    """
    before = np.concatenate([[0], np.cumsum(marked)])
    held: Mask = before[np.maximum(frames.stop, frames.start)] > before[frames.start]
    return held


def covered(ranges: Ranges, size: int) -> Mask:
    """Which of `size` places lie in any of the ranges.

    >>> covered(Ranges(np.array([1, 3, 2]), np.array([2, 5, 4])), 6)
    array([False,  True,  True,  True,  True, False])
    """
    some = ranges.stop > ranges.start
    steps = np.zeros(size + 1, np.int64)
    np.add.at(steps, ranges.start[some], 1)
    np.add.at(steps, ranges.stop[some], -1)
    inside: Mask = np.cumsum(steps)[:size] > 0
    return inside


def unbroken(mask: Mask) -> Ranges:
    """The runs of places in the mask.

    >>> unbroken(np.array([True, True, False, True]))
    Ranges(start=array([0, 3]), stop=array([2, 4]))
    """
    steps = np.diff(mask.astype(np.int8), prepend=0, append=0)
    return Ranges(np.flatnonzero(steps > 0), np.flatnonzero(steps < 0))


def equal_parts(spans: Ranges, most: int) -> tuple[Ranges, Places]:
    """Each span in as few parts as can be of at most so many places, about equal; and of which span each part is.

    >>> equal_parts(Ranges(np.array([0, 5]), np.array([5, 8])), 4)
    (Ranges(start=array([0, 2, 5]), stop=array([2, 5, 8])), array([0, 0, 1]))
    """
    lengths = spans.stop - spans.start
    parts = -(-lengths // most)
    span = np.repeat(np.arange(len(parts)), parts)
    number = np.arange(len(span)) - np.repeat(np.cumsum(parts) - parts, parts)
    start = spans.start[span] + number * lengths[span] // parts[span]
    stop = spans.start[span] + (number + 1) * lengths[span] // parts[span]
    return Ranges(start, stop), span


def runs(mask: Mask, groups: Places) -> Places:
    """A number for each place of the mask, equal in each unbroken run of places of one group.

    >>> runs(np.array([True, True, False, True, True]), np.array([7, 7, 7, 7, 8]))
    array([0, 0, 1, 2])
    """
    places = np.flatnonzero(mask)
    if not len(places):
        return places
    breaks = (np.diff(places) > 1) | (np.diff(groups[places]) != 0)
    return np.concatenate([[0], np.cumsum(breaks)]).astype(np.int64)


def extents(groups: Places, counted: Mask) -> Ranges:
    """For each row the places of its group, where only `counted` rows have places; rows of a group stand together.

    >>> extents(np.array([4, 4, 5, 5, 6]), np.array([True, True, False, True, False]))
    Ranges(start=array([0, 0, 2, 2, 3]), stop=array([2, 2, 3, 3, 3]))
    """
    before = np.concatenate([[0], np.cumsum(counted)]).astype(np.int64)
    breaks = np.flatnonzero(np.diff(groups)) + 1
    firsts = np.concatenate([[0], breaks]) if len(groups) else breaks
    stops = np.concatenate([breaks, [len(groups)]]) if len(groups) else breaks
    lengths = stops - firsts
    return Ranges(np.repeat(before[firsts], lengths), np.repeat(before[stops], lengths))
