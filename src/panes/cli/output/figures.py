"""Figures as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = ("KiB", "MiB", "GiB", "TiB")


def rate(rows: float) -> str:
    """Rows per second.

    >>> rate(0), rate(0.25), rate(1234.5)
    ('0', '0.2', '1,234')
    """
    return f"{rows:,.1f}" if 0 < rows < 10 else f"{rows:,.0f}"


def size(amount: int) -> str:
    """Bytes.

    >>> size(512), size(1536), size(3 * 1024**3)
    ('512 B', '1.5 KiB', '3.0 GiB')
    """
    if amount < 1024:
        return f"{amount} B"
    power = min((amount.bit_length() - 1) // 10, len(UNITS))
    return f"{amount / 1024**power:.1f} {UNITS[power - 1]}"


def length(seconds: float) -> str:
    """A length of time, in its two largest units.

    >>> length(0.25), length(59), length(3720), length(200_000)
    ('0.2 s', '59 s', '1 h 2 min', '2 d 7 h')
    """
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def moment(micros: int | None) -> str:
    """A time as SQL writes it, in UTC; one that Python does not have, as a number.

    >>> moment(1_500_000), moment(None), moment(10**18)
    ('1970-01-01 00:00:01.5', '', '1000000000000000000 µs')
    """
    if micros is None:
        return ""
    try:
        text = (EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%d %H:%M:%S.%f")
    except OverflowError:
        return f"{micros} µs"
    return text.rstrip("0").rstrip(".")
