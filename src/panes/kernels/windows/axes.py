"""Axes of time on which windows are regular: where instants lie on one, and which instants its positions are.

    Shifted, 8 h            windows count from 08:00 UTC, which is 0
    Days, Europe/Berlin     day k of the zone begins at k · 24 h, however long the days before it were

    23:00 UTC               00:00 CET       22:00 UTC              22:00 UTC
    | 30 March 2024         | 31 March, 23 hours | 1 April         |
    k · 24 h                (k + 1) · 24 h       (k + 2) · 24 h

Positions grow with instants. That of a row need only say in which window it is: on `Days` it is the begin of its day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from panes.kernels.kernel import seconds
from panes.kernels.windows.starts import Times

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
DAY = 86_400_000_000
CYCLE = 146_097 * DAY  # 400 years, after which the calendar repeats, and with it the rules of every zone
FIRST_CHANGE = (datetime(1600, 1, 1) - EPOCH) // MICROSECOND  # long before any zone had rules
LAST_CHANGE = FIRST_CHANGE + 2 * CYCLE  # long after the last one that does not recur each year


class Axis(Protocol):
    """Times and positions are microseconds."""

    def depends_on(self) -> dict[str, Any]:
        """What tells it from other axes, as JSON."""

    def positions(self, times: Times) -> Times:
        """Where instants lie; an instant is at or after the edge at a position if, and only if, its position is."""

    def moments(self, positions: Times) -> Times:
        """The instants of window edges."""


@dataclass(frozen=True)
class Shifted:
    """Windows count from `offset` after 1970-01-01 UTC.

    >>> Shifted(3).positions(np.array([2, 3])), Shifted(3).moments(np.array([-1, 0]))
    (array([-1,  0]), array([2, 3]))
    """

    offset: int

    def depends_on(self) -> dict[str, Any]:
        return {"offset": seconds(self.offset)}

    def positions(self, times: Times) -> Times:
        return times - self.offset

    def moments(self, positions: Times) -> Times:
        return positions + self.offset


@dataclass(frozen=True)
class Days:
    """The days of a zone, from 1970-01-01 there; each begins when its clock shows `offset`."""

    zone: str
    offset: int = 0

    def depends_on(self) -> dict[str, Any]:
        return {"zone": self.zone, **({"offset": seconds(self.offset)} if self.offset else {})}

    def positions(self, times: Times) -> Times:
        """The begin of each one's day.

        Clocks differ from UTC by less than a day. So a time that is on day k by UTC is on that day, the one before or
        the one after: it tells which days have begun.
        """
        guess = np.floor_divide(times - self.offset, DAY)
        begun = _each(guess, lambda days: self._begins(days * DAY)) <= times
        next_begun = _each(guess, lambda days: self._begins((days + 1) * DAY)) <= times
        days: Times = guess - 1 + begun + next_begun
        return days * DAY

    def moments(self, positions: Times) -> Times:
        return _each(positions, self._begins)

    def _begins(self, positions: Times) -> Times:
        found = [first_instant(self.zone, position + self.offset) for position in positions.tolist()]
        return np.array(found, np.int64)


def _each(values: Times, of: Callable[[Times], Times]) -> Times:
    """A function of values that is asked once for each distinct one."""
    coded = pa.array(values).dictionary_encode()
    results: Times = of(coded.dictionary.to_numpy())[coded.indices.to_numpy()]
    return results


@lru_cache(maxsize=100_000)
def first_instant(zone: str, shown: int) -> int:
    """The first instant at which a zone's clock shows a time, or a later one if it leaves that out.

    The time is microseconds since 1970-01-01 there, the instant since 1970-01-01 UTC.

    >>> first_instant("Europe/Berlin", 0) / 3_600_000_000
    -1.0
    """
    near = shown
    if not FIRST_CHANGE <= shown < LAST_CHANGE:
        base = LAST_CHANGE if shown >= LAST_CHANGE else FIRST_CHANGE - CYCLE
        near = base + (shown - FIRST_CHANGE) % CYCLE
    wall = (EPOCH + near * MICROSECOND).replace(tzinfo=ZoneInfo(zone))
    before, after = (_ahead(one) for one in (wall, wall.replace(fold=1)))
    if before >= after:  # shown once, or twice
        return shown - before
    left_out = range(near - after, near - before + 1)  # the clock jumps somewhere in here
    return shown - near + left_out[bisect_left(left_out, near, key=lambda moment: _shown(zone, moment))]


def _shown(zone: str, moment: int) -> int:
    """What a zone's clock shows at an instant."""
    return moment + _ahead((EPOCH + moment * MICROSECOND).replace(tzinfo=UTC).astimezone(ZoneInfo(zone)))


def _ahead(time: datetime) -> int:
    """How far its clock is ahead of UTC, in microseconds."""
    ahead = time.utcoffset()
    assert ahead is not None
    return ahead // MICROSECOND
