"""Windows with an offset or a zone against their definition, however the input is cut, split and restarted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Clock, State
from panes.kernels.late_rows import judge_of
from panes.kernels.windows.on_axis import OnAxis, on_axis
from panes.kernels.windows.slices import SLICE, SliceWindows

from ..harness import (
    CUTS,
    FOLDS,
    IDLE,
    KEY,
    LENGTHS,
    MS,
    ORDER,
    RESTARTS,
    TIME,
    Arrived,
    Batch,
    Row,
    Tick,
    aggregated,
    batches,
    check_lazy,
    cut,
    packed,
    punctual,
    run,
    script,
    step_twice,
    table,
)

HOUR, DAY = 3_600_000_000, 86_400_000_000
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Sizes:
    """A kind of window; `begin` is where rows of a test are."""

    size: int
    hop: int
    offset: int
    zone: str | None = None
    begin: int = 0

    def kernel(self, changes: bool = False, late: bool = True) -> OnAxis:
        windows = SliceWindows(self.size, self.hop, TIME, (KEY,), Grouping((SLICE, KEY), FOLDS, ORDER), late, changes)
        return on_axis(windows, self.offset, self.zone)

    @property
    def unit(self) -> int:
        return HOUR if self.zone is not None else MS

    def edge(self, position: int) -> int:
        """By Python: as a local time that exists, or the first instant after the gap that it is in."""
        if self.zone is None:
            return position + self.offset
        wall = EPOCH + (position + self.offset) * MICROSECOND
        zoned, later = (wall.replace(tzinfo=ZoneInfo(self.zone), fold=fold) for fold in (0, 1))
        if present(zoned.utcoffset()) < present(later.utcoffset()):  # in a gap, all of which are whole hours here
            return min(one for one in range(-DAY, 2 * DAY, HOUR // 2) if self.shown(position + one) >= wall) + position
        return (wall - present(zoned.utcoffset()) - EPOCH) // MICROSECOND

    def shown(self, moment: int) -> datetime:
        utc = (EPOCH + moment * MICROSECOND).replace(tzinfo=ZoneInfo("UTC"))
        return utc.astimezone(ZoneInfo(self.zone or "UTC")).replace(tzinfo=None)

    def windows(self, time: int) -> Iterator[tuple[int, int]]:
        """Each that starts at a multiple of the hop and holds a time; clocks differ from UTC by less than a hop."""
        around = (time - self.offset) // self.hop * self.hop
        for hops in range(-self.size // self.hop - 3, 4):
            start = around + hops * self.hop
            low, high = self.edge(start), self.edge(start + self.size)
            if low <= time < high:
                yield low, high

    def placed(self, batches: Sequence[Batch]) -> list[Batch]:
        """Rows of a test, whose times are milliseconds, around `begin`, with other units of time."""
        return [
            [[replace(row, time=self.begin + row.time * self.unit // MS) for row in part] for part in batch]
            for batch in batches
        ]


def micros(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // MICROSECOND


OFFSET = st.builds(Sizes, LENGTHS, LENGTHS, st.integers(-30, 30).map(lambda half: half * MS // 2))
CHANGES = [
    ("Europe/Berlin", "2024-03-31"),
    ("Europe/Berlin", "2024-10-27"),
    ("America/Havana", "2024-03-10"),
    ("America/Havana", "2024-11-03"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("Pacific/Apia", "2011-12-30"),
    ("America/Juneau", "1867-10-19"),
    ("Africa/Casablanca", "1970-01-01"),
    ("Asia/Tokyo", "1951-05-06"),
]
DAYS = st.builds(
    lambda size, hop, offset, place: Sizes(size * DAY, hop * DAY, offset * HOUR // 2, place[0], micros(place[1])),
    st.integers(1, 4),
    st.integers(1, 4),
    st.just(0) | st.integers(-30, 60),
    st.sampled_from(CHANGES),
)
SIZES = OFFSET | DAYS
DELAYS = st.sampled_from([0, 10])


def definition(ticks: list[Tick], sizes: Sizes) -> tuple[list[Counter[Any]], int]:
    """Each row is in all of its windows that are open; late if it has some, and none of them is."""
    open_: dict[Any, list[Arrived]] = defaultdict(list)
    steps, late = [], 0
    for tick in ticks:
        mark = tick.watermark if tick.watermark is not None else -(10**18)
        for one in tick.rows or []:
            windows = list(sizes.windows(one.row.time))
            for window in windows:
                if window[1] > mark:
                    open_[window, one.row.key].append(one)
            late += bool(windows) and all(end <= mark for _, end in windows)
        closed = [window for window in open_ if tick.flush or window[0][1] <= mark]
        groups = [(start, end, key, aggregated(open_.pop(((start, end), key)))) for (start, end), key in closed]
        steps.append(Counter((*values, key, end, start) for start, end, key, values in groups))
    return steps, late


@settings(max_examples=80)
@given(batches(), DELAYS, SIZES, RESTARTS, IDLE)
def test_windows_are_their_definition(
    batches: list[Batch], delay: int, sizes: Sizes, restarts: set[int], idle: list[bool]
) -> None:
    ticks = script(sizes.placed(batches), delay * sizes.unit, idle)
    steps, late = definition(ticks, sizes)
    done = run(sizes.kernel(), ticks, restarts)
    assert done.steps == steps
    assert done.late == late
    assert not done.state.chunks


@settings(max_examples=40)
@given(punctual(), SIZES, CUTS, RESTARTS, st.booleans())
def test_cuts_do_not_show(
    stream: tuple[list[Row], int], sizes: Sizes, cuts: set[int], restarts: set[int], late: bool
) -> None:
    """Also in a later operator of a query, which drops nothing (`late` is False)."""
    rows, delay = stream
    delay *= sizes.unit // MS
    whole = sizes.placed(cut(rows, []))
    done = run(sizes.kernel(late=late), script(sizes.placed(cut(rows, cuts)), delay, [True] * 20), restarts)
    assert done.rows == run(sizes.kernel(), script(whole, delay)).rows
    assert done.late == 0


@settings(max_examples=20)
@given(batches(), DELAYS, SIZES, st.integers(0, 2))
def test_wake_is_never_too_late(batches: list[Batch], delay: int, sizes: Sizes, quiet: int) -> None:
    check_lazy(sizes.kernel(), sizes.placed(batches), delay * sizes.unit, quiet)


@settings(max_examples=15)
@given(batches(), SIZES, RESTARTS)
def test_changes_add_up_to_the_windows(batches: list[Batch], sizes: Sizes, restarts: set[int]) -> None:
    ticks = script(sizes.placed(batches), 100 * DAY)
    found = run(sizes.kernel(changes=True), ticks, restarts).rows
    added: Counter[Any] = Counter()
    for (change, *row), count in found.items():  # the change type is the first column by name
        added[tuple(row)] += count * (1 if change in ("insert", "update_postimage") else -1)
    assert +added == definition(ticks, sizes)[0][-1]
    assert added.total() == (+added).total()


@settings(max_examples=40)
@given(batches(), DELAYS, SIZES)
def test_late_rows_are_told_one_by_one(batches: list[Batch], delay: int, sizes: Sizes) -> None:
    ticks = script(sizes.placed(batches), delay * sizes.unit)
    kernel, state, late = sizes.kernel(), State(), 0
    for tick in ticks:
        clock = Clock(tick.watermark, tick.flush)
        late += int(judge_of(kernel)(state, table(tick.rows or []), clock).sum())
        state = step_twice(kernel, state, packed(kernel, tick.rows or []), clock).state
    assert late == definition(ticks, sizes)[1]


def test_a_day_of_23_hours_closes_when_it_is_over() -> None:
    kernel = Sizes(DAY, DAY, 0, "Europe/Berlin").kernel()
    rows = [Arrived(Row(micros(time)), 0, 0) for time in ("2024-03-30 23:00", "2024-03-31 21:59:59.999")]
    state = step_twice(kernel, State(), packed(kernel, rows), Clock()).state
    before = step_twice(kernel, state, None, Clock(micros("2024-03-31 22:00") - 1))
    assert (before.rows, before.wake) == (None, micros("2024-03-31 22:00"))
    assert before.counters["oldest_open_window"] == micros("2024-03-30 23:00")
    closed = present(step_twice(kernel, state, None, Clock(micros("2024-03-31 22:00"))).rows)
    bounds = [closed[name].to_pylist() for name in ("window_start", "window_end")]
    assert bounds == [[micros("2024-03-30 23:00")], [micros("2024-03-31 22:00")]]


@pytest.mark.parametrize("time", [-62_135_596_800_000_000, 253_402_300_799_999_000, 8 * 10**18])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_far_times(time: int, zone: str | None) -> None:
    kernel = Sizes(7 * DAY, 7 * DAY, HOUR, zone).kernel()
    done = run(kernel, script([[[Row(time)]]], 0))
    ((*_, end, start),) = done.rows
    assert start <= time < end == start + 7 * DAY


@pytest.mark.parametrize("offset", [0, 3 * DAY, -3 * DAY, 30 * DAY])
def test_an_offset_by_whole_hops_is_none(offset: int) -> None:
    windows = Sizes(3 * DAY, 3 * DAY, 0, "Asia/Tokyo").kernel()
    assert Sizes(3 * DAY, 3 * DAY, offset, "Asia/Tokyo").kernel() == windows
    assert windows.depends_on() == {**windows.windows.depends_on(), "zone": "Asia/Tokyo"}


def test_no_rows() -> None:
    kernel = Sizes(DAY, DAY, 0, "Asia/Tokyo").kernel()
    assert kernel.pack(table([])).num_rows == 0
    assert isinstance(kernel.pack(table([])), pa.Table)
