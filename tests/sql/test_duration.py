"""Lengths of time as SQL and Python write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.sql.duration import MICROSECONDS, TimeUnit, microseconds, spelled


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("10 seconds", 10_000_000),
        ("1 second", 1_000_000),
        ("0 seconds", 0),
        ("5 MINUTES", 300_000_000),
        ("2 hours", 7_200_000_000),
        ("1 day", 86_400_000_000),
        ("1 week", 604_800_000_000),
        ("3 milliseconds", 3_000),
        ("7 microseconds", 7),
        ("1 minute 30 seconds", 90_000_000),
        ("  10seconds ", 10_000_000),
        ("INTERVAL 10 SECONDS", 10_000_000),
        ("interval 1 day 1 hour", 90_000_000_000),
    ],
)
def test_microseconds(text: str, length: int) -> None:
    assert microseconds(text) == length


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "10",
        "seconds",
        "-1 second",
        "1.5 seconds",
        "1 month",
        "2 years",
        "10 parsecs",
        "1 day,",
        "x",
        "4000000 days",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        microseconds(text)


@pytest.mark.parametrize(
    ("unit", "length"), [("ms", 1_000), ("ss", 10**6), ("mi", 60 * 10**6), ("hh", 3600 * 10**6), ("dd", 86_400 * 10**6)]
)
def test_units(unit: str, length: int) -> None:
    assert TimeUnit(unit).microseconds == length


@pytest.mark.parametrize(
    ("length", "text"),
    [(0, "0 s"), (1, "1 µs"), (1_500, "1500 µs"), (10_000_000, "10 s"), (90_000_000, "90 s"), (86_400_000_000, "1 d")],
)
def test_spelled(length: int, text: str) -> None:
    assert spelled(length) == text


SHORT = {"d": "days", "h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds", "µs": "microseconds"}


@given(st.integers(0, 10**5), st.sampled_from(sorted(MICROSECONDS)))
def test_spelling_keeps_the_length(count: int, unit: str) -> None:
    length = count * MICROSECONDS[unit]
    number, short = spelled(length).split()
    assert microseconds(f"{number} {SHORT[short]}") == length
