"""Numbers, times and lists as sentences have them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROS = 1_000_000
UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def time(micros: int, beside: int | None = None) -> str:
    """A time in UTC; beside another one of the same day, only the time of day.

    >>> time(1_704_110_400_000_000), time(1_704_110_450_500_000, beside=1_704_110_400_000_000)
    ('2024-01-01 12:00:00', '12:00:50.5')
    """
    moment = _moment(micros)
    if moment is None:
        return f"{micros} µs"
    other = _moment(beside) if beside is not None else None
    shape = "%H:%M:%S" if other is not None and other.date() == moment.date() else "%Y-%m-%d %H:%M:%S"
    fraction = f"{moment:%f}".rstrip("0")
    return moment.strftime(shape) + (f".{fraction}" if fraction else "")


def _moment(micros: int) -> datetime | None:
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


def ago(seconds: float) -> str:
    """How long something has lasted, in its two largest units.

    >>> ago(0.4), ago(45.2), ago(240), ago(3_725)
    ('less than 1 s', '45 s', '4 min', '1 h 2 min')
    """
    if seconds < 1:
        return "less than 1 s"
    left = int(seconds)
    parts: list[str] = []
    for size, unit in UNITS:
        if left >= size or parts:
            parts.append(f"{left // size} {unit}" if left >= size else "")
            left %= size
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part)


def length(micros: int) -> str:
    """A length of time, exactly.

    >>> length(10_000_000), length(3_600_000_000), length(5_400_000_000), length(1_500), length(0)
    ('10 s', '1 h', '1 h 30 min', '0.0015 s', '0 s')
    """
    left, rest = divmod(micros, MICROS)
    parts = []
    for size, unit in UNITS[:-1]:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    if left or rest or not parts:
        fraction = f".{rest:06}".rstrip("0") if rest else ""
        parts.append(f"{left}{fraction} s")
    return " ".join(parts)


def several(number: int, one: str, more: str | None = None) -> str:
    """How many of something.

    >>> several(1, "row"), several(1_200, "row"), several(2, "query", "queries")
    ('1 row', '1,200 rows', '2 queries')
    """
    return f"1 {one}" if number == 1 else f"{number:,} {more or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
