"""Sliding windows against their definition, however the input is cut, split, summarised and restarted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold
from panes.kernels.kernel import Clock, State
from panes.kernels.state.release import Release
from panes.kernels.windows import block_store, frames
from panes.kernels.windows.block_store import SUMMARY
from panes.kernels.windows.sliding import FIRST, ROWS, SlidingWindows

from .. import harness
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
    VALUE,
    Arrived,
    Batch,
    Row,
    Tick,
    batches,
    check_lazy,
    check_quiet,
    cut,
    packed,
    plain,
    punctual,
    restarted,
    rows_of,
    script,
    step_twice,
)

FLAG = "flag"  # the column that says which rows trigger: those with an even value, NULL where that is NULL
LOOKBACKS = st.sampled_from([0, 500, 1 * MS, 3 * MS, 7 * MS, 20 * MS, 60 * MS])
LOOKAHEADS = st.none() | LOOKBACKS
TTLS = st.none() | st.sampled_from([0, 500, 2 * MS, 5 * MS, 30 * MS])

# Accumulators of fixed size: counted, summed, smallest, first and last row in order, average, and one with a condition.
SMALL = (
    Fold(present(accumulator("count", [])), (), None, "a_count"),
    Fold(present(accumulator("sum", ["bigint"])), (VALUE,), None, "b_sum"),
    Fold(present(accumulator("min", ["bigint"])), (VALUE,), None, "c_min"),
    Fold(present(accumulator("first", ["bigint"])), (VALUE,), None, "d_first"),
    Fold(present(accumulator("last", ["bigint"], ignore_nulls=True)), (VALUE,), None, "e_last"),
    Fold(present(accumulator("avg", ["bigint"])), (VALUE,), None, "f_avg"),
    Fold(present(accumulator("count", ["bigint"])), (VALUE,), FLAG, "g_count_if"),
)


def small(rows: Sequence[Arrived]) -> tuple[Any, ...]:
    """What SMALL say of a window's rows, which come in order."""
    ordered = [one.row.value for one in rows]
    values = [value for value in ordered if value is not None]
    least, last = (min(values), values[-1]) if values else (None, None)
    average = sum(values) / len(values) if values else None
    even = sum(value % 2 == 0 for value in values)
    return len(rows), sum(values) if values else None, least, ordered[0], last, average, even


def listed(rows: Sequence[Arrived]) -> tuple[Any, ...]:
    """What FOLDS say of them."""
    values = [one.row.value for one in rows if one.row.value is not None]
    return len(rows), sum(values) if values else None, tuple(values)


class Flagged(SlidingWindows):
    """The kernel, with the column that Spark would have computed."""

    def pack(self, rows: pa.Table) -> pa.Table:
        flags = [None if value is None else value % 2 == 0 for value in rows[VALUE].to_pylist()]
        return super().pack(rows.append_column(FLAG, pa.array(flags, pa.bool_())))


@dataclass(frozen=True)
class Case:
    """A query, and what it should say of a window."""

    lookback: int
    lookahead: int | None = None
    when: bool = False
    partition: tuple[str, ...] = (KEY,)
    keys: tuple[str, ...] = ()
    ttl: int | None = None
    waits: bool = True
    folds: tuple[Fold, ...] = SMALL
    says: Callable[[Sequence[Arrived]], tuple[Any, ...]] = field(default=small)

    @property
    def kernel(self) -> SlidingWindows:
        release = Release(TIME, ORDER if self.waits else (BATCH, PLACE), self.waits, self.waits)
        flag = FLAG if self.when else None
        return Flagged(self.lookback, self.lookahead, flag, self.partition, self.keys, self.folds, release, self.ttl)

    def windows(self, rows: list[Arrived]) -> Iterable[tuple[Arrived, list[Arrived] | None]]:
        """The window of each row of a partition that triggers; None if its partition is forgotten before its end."""
        gaps = [at for at in range(1, len(rows)) if self.ttl is not None and self.gap(rows, at) > self.ttl]
        for at, one in enumerate(rows):
            if self.when and (one.row.value is None or one.row.value % 2):
                continue
            low, high = one.row.time - self.lookback, one.row.time + (self.lookahead or 0)
            start = max((gap for gap in gaps if gap <= at), default=0)
            stop = min((gap for gap in gaps if gap > at), default=len(rows))
            forgotten = self.lookahead is not None and stop < len(rows) and rows[stop].row.time <= high
            stop = at + 1 if not self.waits and self.lookahead is None else stop
            inside = [other for other in rows[start:stop] if low <= other.row.time <= high]
            yield one, None if forgotten else inside

    @staticmethod
    def gap(rows: list[Arrived], at: int) -> int:
        return rows[at].row.time - rows[at - 1].row.time

    def when_out(self, one: Arrived, ticks: list[Tick]) -> int:
        """The step in which a trigger's window comes out."""
        high = one.row.time + (self.lookahead or 0)
        for number, tick in enumerate(ticks):
            came = number >= next(at for at, tick in enumerate(ticks) if one in (tick.rows or []))
            passed = tick.watermark is not None and high < tick.watermark
            if came and (passed or tick.flush or (not self.waits and self.lookahead is None)):
                return number
        raise AssertionError


def definition(case: Case, ticks: list[Tick]) -> tuple[list[dict[Any, list[Any]]], int]:
    """The windows of each step, of each partition in the order of their triggers; and how many were forgotten."""
    parts: dict[Any, list[Arrived]] = defaultdict(list)
    for tick in ticks:
        for one in tick.rows or []:
            if not case.waits or tick.watermark is None or one.row.time >= tick.watermark:
                parts[one.row.key if case.partition else ()].append(one)
    steps: list[dict[Any, list[Any]]] = [defaultdict(list) for _ in ticks]
    expired = 0
    for name, rows in parts.items():
        order = (lambda one: one.order) if case.waits else (lambda one: (one.batch, one.place))
        for one, inside in case.windows(sorted(rows, key=order)):
            if inside is None:
                expired += 1
                continue
            at, time = case.when_out(one, ticks), one.row.time
            bounds = (time + (case.lookahead or 0), time - case.lookback, time)
            for tie in {one.row.tie for one in inside} if case.keys else [()]:
                grouped = [one for one in inside if not case.keys or one.row.tie == tie]
                steps[at][name].append((*case.says(grouped), *([tie] if case.keys else []), *bounds))
    return steps, expired


@dataclass(frozen=True)
class Played:
    """What came out in each step, of each partition in order; how many rows were late and forgotten."""

    steps: list[dict[Any, list[Any]]]
    late: int
    expired: int
    state: State

    @property
    def parts(self) -> dict[Any, list[Any]]:
        return {
            name: [one for step in self.steps for one in step.get(name, [])]
            for name in {name for step in self.steps for name in step}
        }


def play(case: Case, ticks: list[Tick], restarts: Iterable[int] = (), block: int = 1 << 16, pairs: int = 5) -> Played:
    state, late, expired, again = State(), 0, 0, set(restarts)
    steps: list[dict[Any, list[Any]]] = []
    with patch.object(block_store, "BLOCK", block), patch.object(frames, "PAIRS", pairs):
        for number, tick in enumerate(ticks):
            clock = Clock(tick.watermark, tick.flush)
            step = step_twice(case.kernel, state, packed(case.kernel, tick.rows or []), clock)
            check_quiet(case.kernel, step, clock)
            steps.append(outputs(case, rows_of(step)))
            late += step.counters["late_rows"]
            expired += step.counters["expired_rows"]
            assert step.counters["rows_out"] == (step.rows.num_rows if step.rows is not None else 0)
            state = restarted(step.state) if number in again else step.state
    return Played(steps, late, expired, state)


def outputs(case: Case, rows: pa.Table | None) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    if rows is not None:
        names = [KEY] if case.partition else []
        keys = rows[KEY].to_pylist() if case.partition else [()] * rows.num_rows
        for key, one in zip(keys, plain(rows.drop_columns(names)), strict=True):
            found[key].append(one)
    return found


def late_rows(ticks: list[Tick]) -> int:
    marks = ((one, tick.watermark) for tick in ticks for one in tick.rows or [])
    return sum(mark is not None and one.row.time < mark for one, mark in marks)


SAYS = {SMALL: small, FOLDS: listed}
BLOCKS = st.sampled_from([1, 2, 3, 1 << 16])


@settings(max_examples=80)
@given(batches(), DELAYS, LOOKBACKS, LOOKAHEADS, st.booleans(), TTLS, RESTARTS, IDLE, BLOCKS, st.booleans())
def test_sliding_is_its_definition(
    batches: list[Batch],
    delay: int,
    lookback: int,
    lookahead: int | None,
    when: bool,
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
    block: int,
    partitioned: bool,
) -> None:
    ticks = script(batches, delay, idle)
    case = Case(lookback, lookahead, when, (KEY,) if partitioned else (), ttl=ttl)
    done = play(case, ticks, restarts, block)
    steps, expired = definition(case, ticks)
    assert done.steps == steps
    assert (done.late, done.expired) == (late_rows(ticks), expired)
    assert not done.state.chunks


@settings(max_examples=40)
@given(batches(), DELAYS, LOOKBACKS, LOOKAHEADS, st.booleans(), TTLS, RESTARTS, IDLE, BLOCKS)
def test_the_rows_of_a_window_come_in_order(
    batches: list[Batch],
    delay: int,
    lookback: int,
    lookahead: int | None,
    when: bool,
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
    block: int,
) -> None:
    ticks = script(batches, delay, idle)
    case = Case(lookback, lookahead, when, ttl=ttl, folds=FOLDS, says=listed)
    done = play(case, ticks, restarts, block)
    steps, expired = definition(case, ticks)
    assert done.steps == steps
    assert done.expired == expired


@settings(max_examples=40)
@given(batches(), DELAYS, LOOKBACKS, LOOKAHEADS, st.booleans(), RESTARTS, IDLE, st.booleans())
def test_keys_group_inside_a_window(
    batches: list[Batch],
    delay: int,
    lookback: int,
    lookahead: int | None,
    when: bool,
    restarts: set[int],
    idle: list[bool],
    partitioned: bool,
) -> None:
    """Each key that is in a window gives a row; rows of one window come in no order."""
    ticks = script(batches, delay, idle)
    case = Case(lookback, lookahead, when, (KEY,) if partitioned else (), (TIE,), folds=FOLDS, says=listed)
    done = play(case, ticks, restarts)
    steps, _ = definition(case, ticks)
    # columns come in the order of their names: the aggregates, the key, and the window's bounds
    assert [_counted(step) for step in done.steps] == [_counted(step) for step in steps]
    for part in done.parts.values():
        times = [one[-1] for one in part]
        assert times == sorted(times)


def _counted(step: dict[Any, list[Any]]) -> dict[Any, Counter[Any]]:
    return {name: Counter(part) for name, part in step.items()}


@settings(max_examples=60)
@given(punctual(), LOOKBACKS, st.booleans(), TTLS, CUTS, RESTARTS, BLOCKS, st.sampled_from([SMALL, FOLDS]))
def test_immediately_a_window_holds_what_came_before(
    stream: tuple[list[Row], int],
    lookback: int,
    when: bool,
    ttl: int | None,
    cuts: set[int],
    restarts: set[int],
    block: int,
    folds: tuple[Fold, ...],
) -> None:
    """Times are out of order, nothing waits, and the watermark only evicts."""
    rows, delay = stream
    ticks = script(cut(rows, cuts), delay)
    case = Case(lookback, None, when, ttl=ttl, waits=False, folds=folds, says=SAYS[folds])
    done = play(case, ticks, restarts, block)
    assert done.steps == definition(case, ticks)[0]
    assert (done.late, done.expired) == (0, 0)
    assert not done.state.chunks


@settings(max_examples=40)
@given(batches(), LOOKBACKS, LOOKAHEADS, st.booleans(), TTLS, RESTARTS, BLOCKS, st.sampled_from([SMALL, FOLDS]))
def test_in_arrival_mode_the_clock_decides(
    batches: list[Batch],
    lookback: int,
    lookahead: int | None,
    when: bool,
    ttl: int | None,
    restarts: set[int],
    block: int,
    folds: tuple[Fold, ...],
) -> None:
    """All rows of a micro-batch have its time; with lookahead a window comes out once the clock has passed its end."""
    ticks = []
    for number, batch in enumerate(batches):
        rows = [replace(one, row=replace(one.row, time=number * 2 * MS)) for one in harness.arrivals(batch, number)]
        ticks.append(Tick(rows, number * 2 * MS))
    ticks.append(Tick(None, len(batches) * 2 * MS, flush=True))
    case = Case(lookback, lookahead, when, ttl=ttl, waits=False, folds=folds, says=SAYS[folds])
    done = play(case, ticks, restarts, block)
    steps, expired = definition(case, ticks)
    assert done.steps == steps
    assert (done.late, done.expired) == (0, expired)


@settings(max_examples=30)
@given(batches(), DELAYS, LOOKBACKS, LOOKAHEADS, st.booleans(), st.integers(0, 2))
def test_wake_is_never_too_late(
    batches: list[Batch], delay: int, lookback: int, lookahead: int | None, when: bool, quiet: int
) -> None:
    check_lazy(Case(lookback, lookahead, when).kernel, batches, delay, quiet)


@settings(max_examples=40)
@given(punctual(), LOOKBACKS, LOOKAHEADS, st.booleans(), TTLS, CUTS, RESTARTS, IDLE, BLOCKS)
def test_cuts_do_not_show(
    stream: tuple[list[Row], int],
    lookback: int,
    lookahead: int | None,
    when: bool,
    ttl: int | None,
    cuts: set[int],
    restarts: set[int],
    idle: list[bool],
    block: int,
) -> None:
    rows, delay = stream
    case = Case(lookback, lookahead, when, ttl=ttl)
    done = play(case, script(cut(rows, cuts), delay, idle), restarts, block)
    whole = play(case, script(cut(rows, []), delay))
    assert done.parts == whole.parts
    assert (done.late, done.expired) == (0, whole.expired)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(batches(), DELAYS, LOOKBACKS, LOOKAHEADS, st.booleans(), TTLS, RESTARTS, IDLE, BLOCKS)
def test_sliding_is_its_definition_very_often(
    batches: list[Batch],
    delay: int,
    lookback: int,
    lookahead: int | None,
    when: bool,
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
    block: int,
) -> None:
    ticks = script(batches, delay, idle)
    case = Case(lookback, lookahead, when, ttl=ttl)
    assert play(case, ticks, restarts, block).steps == definition(case, ticks)[0]


@pytest.mark.parametrize(("lookback", "lookahead"), [(30 * MS, None), (15 * MS, 15 * MS), (0, 30 * MS)])
def test_a_long_window_is_summed_up_in_advance(lookback: int, lookahead: int | None) -> None:
    """Many small micro-batches and blocks of four rows: most of each window comes from summaries of blocks."""
    rows = [Row(at * 500, "abc"[at * at % 3], 0, at % 7) for at in range(100)]
    case, ticks = Case(lookback, lookahead), script(cut(rows, range(4, 100, 4)), 0)
    done = play(case, ticks[:-1], [9, 15], block=4)
    assert done.steps == definition(case, ticks)[0][:-1]
    summaries = [chunk for chunk in done.state.chunks if chunk.kind == SUMMARY]
    assert max(chunk.high - chunk.low for chunk in summaries) >= 3
    assert min(chunk.low for chunk in summaries) >= done.state.facts[FIRST] > 0


def test_a_column_can_have_several_roles() -> None:
    """The partition breaks ties, groups and is counted."""
    count = (Fold(present(accumulator("first", ["string"])), (KEY,), KEY + "_is_a", "a"),)
    release = Release(TIME, (TIME, KEY, BATCH, PLACE), True, True)
    rows = harness.table([Arrived(Row(at * MS, key), 0, at) for at, key in enumerate("aab")])
    rows = rows.append_column(KEY + "_is_a", pa.array([True, True, False]))
    for keys in ((), (KEY,), (KEY, TIE)):
        kernel = SlidingWindows(5 * MS, None, None, (KEY,), keys, count, release)
        out = rows_of(step_twice(kernel, State(), rows, Clock(None, flush=True)))
        assert [(one[KEY], one["a"]) for one in present(out).to_pylist()] == [("a", "a"), ("a", "a"), ("b", None)]


def test_groups_inside_windows_come_in_pieces() -> None:
    """Each row is in the windows of all rows after it: 99 rows give 4,950 groups, of which few are there at once."""
    kernel = SlidingWindows(1_000 * MS, None, None, (), (TIE,), FOLDS, Release(TIME, ORDER, True, True))
    rows = packed(kernel, [Arrived(Row(at * MS, tie=at), 0, at) for at in range(99)])
    with patch.object(frames, "PAIRS", 200):
        step = step_twice(kernel, State(), rows, Clock(None, flush=True))
        pieces = [table.num_rows for table in step.pieces]
    assert (step.rows, sum(pieces), len(pieces)) == (None, 99 * 100 // 2, 25)
    assert max(pieces) < 200 + 99


def test_windows_without_aggregates_are_rows() -> None:
    kernel = replace(Case(5 * MS).kernel, folds=())
    rows = packed(kernel, [Arrived(Row(at * MS), 0, at) for at in range(3)])
    out = rows_of(step_twice(kernel, State(), rows, Clock(None, flush=True)))
    assert present(out).column_names == [KEY, "window_start", "window_end", "window_trigger"]
    assert present(out)["window_trigger"].to_pylist() == [0, 1 * MS, 2 * MS]


def test_a_window_holds_the_peers_of_its_trigger() -> None:
    ticks = [Tick([Arrived(Row(0, value=1), 0, 0), Arrived(Row(0, value=2), 0, 1)], None), Tick(None, 1 * MS)]
    case = Case(5 * MS, folds=FOLDS, says=listed)
    assert play(case, ticks).steps[1] == {None: [(2, 3, (1, 2), 0, -5 * MS, 0)] * 2}


def test_lookahead_comes_out_strictly_after_its_end() -> None:
    """A trigger at 0 with lookahead 2: at W = 2 a peer of the end may still come, at the next moment none can."""
    ticks = [Tick([Arrived(Row(0), 0, 0)], None), Tick(None, 2 * MS), Tick(None, 2 * MS + 1)]
    done = play(Case(1 * MS, 2 * MS, folds=FOLDS), ticks)
    assert [len(step) for step in done.steps] == [0, 0, 1]


def test_gauges_tell_what_is_open() -> None:
    kernel = Case(3 * MS, 2 * MS).kernel
    rows = packed(kernel, [Arrived(Row(at * MS), 0, at) for at in range(4)])
    step = step_twice(kernel, State(), rows, Clock(None))
    step = step_twice(kernel, step.state, None, Clock(3 * MS))
    assert step.counters == {
        "late_rows": 0,
        "rows_out": 1,
        "expired_rows": 0,
        "open_windows": 2,
        "buffered_rows": 4,
        "oldest_open_window": -2 * MS,
    }
    assert step.wake == 3 * MS + 1


def test_old_rows_leave() -> None:
    """A row stays as long as a later trigger can reach it, and then goes with its block."""
    rows = [Row(at * MS, "a", 0, 1) for at in range(30)]
    case, ticks = Case(5 * MS, folds=FOLDS, says=listed), script(cut(rows, range(30)), 0)
    for stop in range(1, 31, 6):
        done = play(case, ticks[:stop], block=2)
        assert done.steps == definition(case, ticks)[0][:stop]
        assert sum(chunk.rows for chunk in done.state.chunks if chunk.kind == ROWS) <= 8


def test_a_forgotten_partition_starts_anew() -> None:
    """Rows at 0, 5, 6 with a ttl of 2: the window of 0 would reach 5 and is dropped, those of 5 and 6 do not see 0."""
    ticks = [Tick([Arrived(Row(at * MS, value=at), 0, at) for at in (0, 5, 6)], None, flush=True)]
    done = play(Case(10 * MS, 5 * MS, ttl=2 * MS, folds=FOLDS, says=listed), ticks)
    assert [values for _, _, values, *_ in done.parts[None]] == [(5, 6), (5, 6)]
    assert done.expired == 1
    done = play(Case(10 * MS, 4 * MS, ttl=2 * MS, folds=FOLDS, says=listed), ticks)
    assert [values for _, _, values, *_ in done.parts[None]] == [(0,), (5, 6), (5, 6)]
    assert done.expired == 0


@settings(max_examples=40)
@given(
    batches(),
    DELAYS,
    st.sampled_from([0, 2 * MS, 20 * MS]),
    st.sampled_from([5 * MS, 20 * MS]),
    st.sampled_from([0, 500, 2 * MS, 4 * MS]),
    RESTARTS,
    IDLE,
    st.sampled_from([SMALL, FOLDS]),
)
def test_what_is_forgotten_is_counted(
    batches: list[Batch],
    delay: int,
    lookback: int,
    lookahead: int,
    ttl: int,
    restarts: set[int],
    idle: list[bool],
    folds: tuple[Fold, ...],
) -> None:
    ticks = script(batches, delay, idle)
    case = Case(lookback, lookahead, ttl=ttl, folds=folds, says=SAYS[folds])
    done = play(case, ticks, restarts, block=2)
    assert (done.steps, done.expired) == definition(case, ticks)


@pytest.mark.parametrize("folds", [SMALL, FOLDS])
@pytest.mark.parametrize("waits", [True, False])
def test_windows_come_in_the_order_of_their_triggers(folds: tuple[Fold, ...], waits: bool) -> None:
    """Also where there are so many that the order of groups is not that of rows."""
    random = np.random.default_rng(1)
    case = Case(100 * MS, folds=folds, waits=waits)
    for ascending in (True, False):
        times = random.integers(0, 400, 4000) * 500
        times = np.sort(times) if ascending else times
        arrived = [Arrived(Row(int(time), "abc"[at % 3], 0, at), 0, at) for at, time in enumerate(times)]
        done = play(case, [Tick(arrived, None, flush=True)], pairs=100_000)
        ordered = sorted(arrived, key=lambda one: one.order) if waits else arrived
        for key, part in done.parts.items():
            assert [one[-1] for one in part] == [one.row.time for one in ordered if one.row.key == key]
