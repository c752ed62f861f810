"""Count windows against their definition, however the input is cut, split and restarted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.kernel import Clock, State
from panes.kernels.state.release import Release
from panes.kernels.windows.count import CountWindows

from ..harness import (
    BATCH,
    CUTS,
    DELAYS,
    FOLDS,
    IDLE,
    KEY,
    MS,
    ORDER,
    PLACE,
    RESTARTS,
    TIE,
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
)

COUNTS = st.integers(1, 5)
EVERY = st.none() | st.integers(1, 7)


def kernel(
    count: int, every: int | None, partition: tuple[str, ...] = (KEY,), keys: tuple[str, ...] = (), waits: bool = True
) -> CountWindows:
    release = Release(TIME, ORDER if waits else (BATCH, PLACE), waits, waits)
    return CountWindows(count, every, partition, keys, FOLDS, release)


def windows(rows: list[Arrived], count: int, every: int | None, flushed: bool) -> Iterator[list[Arrived]]:
    """`count` rows each; with `every`, the last `count` at each of its multiples; at the end, what came since."""
    step = every or count
    for stop in range(step, len(rows) + 1, step):
        if stop >= count:
            yield rows[stop - count : stop]
    if flushed and rows and (len(rows) % step or len(rows) < count):
        yield rows[len(rows) - len(rows) % count :] if every is None else rows[-count:]


def definition(
    ticks: list[Tick], count: int, every: int | None, partition: Callable[[Row], Any], key: Callable[[Row], Any]
) -> Counter[Any]:
    """Windows over the rows that were in time, in the stream's order; inside each, one output per key."""
    parts: dict[Any, list[Arrived]] = defaultdict(list)
    for tick in ticks:
        mark = tick.watermark if tick.watermark is not None else -(10**15)
        for one in tick.rows or []:
            parts[partition(one.row)] += [one] if one.row.time >= mark else []
    out: Counter[Any] = Counter()
    for name, rows in parts.items():
        for window in windows(sorted(rows, key=lambda one: one.order), count, every, True):
            for value in {key(one.row) for one in window}:
                out[*aggregated([one for one in window if key(one.row) == value]), *name, *value] += 1
    return out


def late_rows(ticks: list[Tick]) -> int:
    marks = ((one, tick.watermark) for tick in ticks for one in tick.rows or [])
    return sum(mark is not None and one.row.time < mark for one, mark in marks)


@settings(max_examples=100)
@given(batches(), DELAYS, COUNTS, EVERY, RESTARTS, IDLE)
def test_count_is_its_definition(
    batches: list[Batch], delay: int, count: int, every: int | None, restarts: set[int], idle: list[bool]
) -> None:
    ticks = script(batches, delay, idle)
    done = run(kernel(count, every), ticks, restarts)
    assert done.rows == definition(ticks, count, every, lambda row: (row.key,), lambda row: ())
    assert done.late == late_rows(ticks)
    assert not done.state.chunks


@settings(max_examples=60)
@given(batches(), DELAYS, COUNTS, EVERY, RESTARTS, IDLE, st.booleans())
def test_keys_group_inside_a_window(
    batches: list[Batch],
    delay: int,
    count: int,
    every: int | None,
    restarts: set[int],
    idle: list[bool],
    partitioned: bool,
) -> None:
    """The window counts all rows of its partition, and each key that is in it gives a row."""
    ticks = script(batches, delay, idle)
    partition = (KEY,) if partitioned else ()
    done = run(kernel(count, every, partition, (TIE,)), ticks, restarts)
    parts = (lambda row: (row.key,)) if partitioned else (lambda row: ())
    assert done.rows == definition(ticks, count, every, parts, lambda row: (row.tie,))


@settings(max_examples=40)
@given(batches(), COUNTS, EVERY, RESTARTS)
def test_in_arrival_mode_rows_count_as_they_come(
    batches: list[Batch], count: int, every: int | None, restarts: set[int]
) -> None:
    ticks = script(batches, 0)
    done = run(kernel(count, every, (), waits=False), ticks, restarts)
    rows = [one for tick in ticks for one in tick.rows or []]
    expected = [[one.row.value for one in window] for window in windows(rows, count, every, True)]
    got = sorted((number, total or 0) for number, total, _ in done.rows.elements())
    assert got == sorted((len(values), sum(value or 0 for value in values)) for values in expected)
    assert done.late == 0


@settings(max_examples=20)
@given(batches(), DELAYS, COUNTS, EVERY, st.integers(0, 2))
def test_wake_is_never_too_late(batches: list[Batch], delay: int, count: int, every: int | None, quiet: int) -> None:
    check_lazy(kernel(count, every), batches, delay, quiet)


@settings(max_examples=40)
@given(punctual(), COUNTS, EVERY, CUTS, RESTARTS, IDLE)
def test_cuts_do_not_show(
    stream: tuple[list[Row], int], count: int, every: int | None, cuts: set[int], restarts: set[int], idle: list[bool]
) -> None:
    rows, delay = stream
    done = run(kernel(count, every), script(cut(rows, cuts), delay, idle), restarts)
    assert done.rows == run(kernel(count, every), script(cut(rows, []), delay)).rows
    assert done.late == 0


def test_a_window_comes_out_with_its_closing_row() -> None:
    """Rows at 0 … 6, W = 4 releases four of them: one window of three, and one row waits for its fellows."""
    ticks = [Tick([Arrived(Row(at * MS, value=at), 0, at) for at in range(7)], None), Tick(None, 4 * MS)]
    assert list(run(kernel(3, None, ()), ticks).steps[1]) == [(3, 3, (0, 1, 2))]


def test_with_every_the_last_rows_come_again() -> None:
    """n = 3, every = 2 over 1 … 7: at 4 and 6, and at the end once more for the row that came since."""
    ticks = [
        Tick([Arrived(Row(at * MS, value=at), 0, at) for at in range(1, 8)], None),
        Tick(None, None, flush=True),
    ]
    values = sorted(values for *_, values in run(kernel(3, 2, ()), ticks).rows)
    assert values == [(2, 3, 4), (4, 5, 6), (5, 6, 7)]


def open_windows(rows: int, count: int, every: int | None) -> int:
    """Windows in which some of a partition's first rows are, and others still to come."""
    ends = range(every or count, rows + count, every or count)
    return sum(end >= count and end - count < rows < end for end in ends)


@settings(max_examples=60)
@given(batches(), COUNTS, EVERY, st.booleans())
def test_open_windows_have_rows_and_have_not_closed(
    batches: list[Batch], count: int, every: int | None, partitioned: bool
) -> None:
    counting, state = kernel(count, every, (KEY,) if partitioned else (), waits=False), State()
    seen: Counter[str | None] = Counter()
    for tick in script(batches, 0):
        step = step_twice(counting, state, packed(counting, tick.rows or []), Clock(tick.watermark, tick.flush))
        state = step.state
        seen.update(one.row.key if partitioned else None for one in tick.rows or [])
        expected = sum(open_windows(rows, count, every) for rows in seen.values())
        assert step.counters["open_windows"] == (0 if tick.flush else expected)


def lives(rows: list[Arrived], ttl: int) -> Iterator[list[Arrived]]:
    """Rows of a partition up to each pause that is longer than the ttl."""
    life: list[Arrived] = []
    for one in rows:
        if life and one.row.time - life[-1].row.time > ttl:
            yield life
            life = []
        life.append(one)
    yield life


@settings(max_examples=100)
@given(punctual(), COUNTS, EVERY, CUTS, RESTARTS, IDLE, st.integers(1, 8))
def test_a_forgotten_partition_counts_from_one_again(
    stream: tuple[list[Row], int],
    count: int,
    every: int | None,
    cuts: set[int],
    restarts: set[int],
    idle: list[bool],
    ttl: int,
) -> None:
    rows, delay = stream
    forgetful = replace(kernel(count, every), ttl=ttl * MS)
    ticks = script(cut(rows, cuts), delay, idle)
    done = run(forgetful, ticks, restarts)
    parts: dict[Any, list[Arrived]] = defaultdict(list)
    for tick in ticks:
        for one in tick.rows or []:
            parts[one.row.key].append(one)
    last_mark = max((tick.watermark for tick in ticks if tick.watermark is not None), default=-(10**15))
    expected: Counter[Any] = Counter()
    for name, own in parts.items():
        own.sort(key=lambda one: one.order)
        for life in lives(own, ttl * MS):
            goes_on = life[-1] is own[-1] and life[-1].row.time + ttl * MS >= last_mark
            for window in windows(life, count, every, goes_on):
                expected[*aggregated(window), name] += 1
    assert done.rows == expected
