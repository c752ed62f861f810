"""Lengths of time, as SQL and Python write them: `10 seconds`, `INTERVAL '1' MINUTE`, the units of windows."""

from __future__ import annotations

import re
from enum import Enum

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}

LONGEST = 10_000 * 366 * MICROSECONDS["day"]  # beyond the years that Spark's times have; 64 bits hold sums of them


class TimeUnit(Enum):
    """The unit of a window's lengths; a day is 86,400 s from 1970-01-01 UTC."""

    MILLISECONDS = "ms"
    SECONDS = "ss"
    MINUTES = "mi"
    HOURS = "hh"
    DAYS = "dd"

    @property
    def microseconds(self) -> int:
        return MICROSECONDS[self.name.lower().removesuffix("s")]


_PART = re.compile(r"\s*(\d+)\s*([a-z]+)\s*", re.IGNORECASE)


def microseconds(text: str) -> int:
    """The length of `1 minute 30 seconds`; ValueError for anything else, months, years and ages included.

    >>> microseconds("1 minute 30 seconds")
    90000000
    """
    total = position = 0
    text = text.strip()
    if text.lower().startswith("interval "):
        text = text[9:]
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise ValueError(f"{text!r} is not a length of time such as '10 seconds'")
        unit = part[2].lower().removesuffix("s")
        if unit not in MICROSECONDS:
            raise ValueError(f"{part[2]!r} is not a unit of time: " + ", ".join(MICROSECONDS))
        total += int(part[1]) * MICROSECONDS[unit]
        position = part.end()
    if position == 0:
        raise ValueError("an empty length of time")
    if total > LONGEST:
        raise ValueError(f"{text!r} is beyond 10,000 years")
    return total


def spelled(length: int) -> str:
    """A length in microseconds in the largest unit that divides it.

    >>> spelled(90_000_000)
    '90 s'
    """
    for name, unit in (
        ("d", "day"),
        ("h", "hour"),
        ("min", "minute"),
        ("s", "second"),
        ("ms", "millisecond"),
    ):
        if length and length % MICROSECONDS[unit] == 0:
            return f"{length // MICROSECONDS[unit]} {name}"
    return f"{length} µs" if length else "0 s"
