"""Axes against their definition, instant by instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from panes.kernels.windows.axes import CYCLE, DAY, Axis, Days, Shifted, first_instant

MINUTE, HOUR = 60_000_000, 3_600_000_000
EPOCH = datetime(1970, 1, 1)
# Clocks change at midnight (Havana, Beirut, Sao Paulo), by half an hour (Lord Howe), by a day (Apia, Kwajalein, Manila,
# Juneau), never (Tokyo since 1951), and in Casablanca four times a year.
ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "America/Sao_Paulo",
    "Asia/Beirut",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kwajalein",
    "Asia/Manila",
    "America/Juneau",
    "Africa/Casablanca",
    "Asia/Tokyo",
    "UTC",
)


def micros(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


FIRST, LAST = micros("0001-01-03"), micros("9999-12-29")
OFFSETS = st.integers(0, 3 * 24 * 4).map(lambda quarters: quarters * 15 * MINUTE)
MOMENTS = (
    st.integers(micros("1860-01-01"), micros("2100-01-01"))
    | st.integers(FIRST, LAST)
    | st.sampled_from(["1867-10-18", "1844-12-31", "1993-08-21", "2011-12-30", "2024-03-31", "2024-10-27"]).flatmap(
        lambda day: st.integers(-48, 48).map(lambda hours: micros(day) + hours * HOUR // 2)
    )
)


def shows(zone: str, moment: int) -> int:
    """What a zone's clock shows at an instant."""
    local = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=moment)
    return (local.astimezone(ZoneInfo(zone)).replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)


def begins(zone: str, shown: int) -> int:
    """The first minute, then the first microsecond, around a time by UTC, at which a zone's clock shows it or more."""
    minute = next(one for one in range(shown - DAY, shown + DAY, 15 * MINUTE) if shows(zone, one) >= shown)
    low, high = minute - 15 * MINUTE, minute
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(zone, middle) >= shown else (middle, high)
    return high


@given(st.sampled_from(ZONES), MOMENTS, OFFSETS)
@example("America/Havana", micros("2024-03-10"), 0)
@example("America/Havana", micros("2024-11-03"), 0)
@example("America/Sao_Paulo", micros("2018-11-04"), 0)
@example("America/Sao_Paulo", micros("2018-02-18"), 0)
@example("Europe/Berlin", micros("2024-03-31"), 150 * MINUTE)
@example("Europe/Berlin", micros("2024-10-27"), 150 * MINUTE)
@example("Pacific/Apia", micros("2011-12-30"), 0)
@example("America/Juneau", micros("1867-10-19"), 0)
def test_a_day_begins_when_the_clock_first_shows_its_begin(zone: str, moment: int, offset: int) -> None:
    shown = moment // DAY * DAY + offset
    assert first_instant(zone, shown) == begins(zone, shown)


@given(st.sampled_from(ZONES), st.lists(MOMENTS, max_size=5), OFFSETS)
def test_the_position_of_an_instant_is_the_begin_of_its_day(zone: str, moments: list[int], offset: int) -> None:
    axis = Days(zone, offset)
    moments += [first_instant(zone, moment // DAY * DAY + offset) - less for moment in moments for less in (0, 1)]
    positions = axis.positions(np.array(moments, np.int64))
    assert (positions % DAY == 0).all()
    for moment, position in zip(moments, positions.tolist(), strict=True):
        assert first_instant(zone, position + offset) <= moment < first_instant(zone, position + DAY + offset)


@pytest.mark.parametrize(("zone", "hours"), [("Europe/Berlin", {23, 24, 25}), ("Pacific/Apia", {0, 23, 24, 25})])
def test_how_long_days_are(zone: str, hours: set[int]) -> None:
    """Apia had no 30 December 2011."""
    days = np.arange(micros("2005-01-01"), micros("2025-01-01"), DAY)
    assert set((np.diff(Days(zone).moments(days)) // HOUR).tolist()) == hours


AXES = st.builds(Shifted, OFFSETS) | st.builds(Days, st.sampled_from(ZONES), OFFSETS)


@given(AXES, MOMENTS, MOMENTS)
def test_an_edge_is_passed_by_position_if_it_is_in_time(axis: Axis, moment: int, near: int) -> None:
    edge = near // DAY * DAY
    ((begin,), (position,)) = axis.moments(np.array([edge])), axis.positions(np.array([moment]))
    assert (begin <= moment) == (edge <= position)


YEARS_400 = st.integers(micros("2400-01-01"), micros("2800-01-01"))


@given(st.sampled_from(ZONES), YEARS_400, st.integers(1, 100))
def test_years_that_python_has_not(zone: str, shown: int, cycles: int) -> None:
    """Rules repeat every 400 years; before there were any, clocks differed from UTC by as much as ever."""
    assert first_instant(zone, shown + cycles * CYCLE) == first_instant(zone, shown) + cycles * CYCLE
    early = shown - 4 * CYCLE
    assert first_instant(zone, early - cycles * CYCLE) == first_instant(zone, early) - cycles * CYCLE


def test_no_instants() -> None:
    none = np.zeros(0, np.int64)
    for axis in (Shifted(3), Days("Europe/Berlin")):
        assert axis.positions(none).tolist() == axis.moments(none).tolist() == []


def test_what_an_axis_says_of_itself() -> None:
    assert Shifted(8 * HOUR).depends_on() == {"offset": "28800 s"}
    assert Days("Asia/Tokyo").depends_on() == {"zone": "Asia/Tokyo"}
    assert Days("Asia/Tokyo", HOUR).depends_on() == {"zone": "Asia/Tokyo", "offset": "3600 s"}
