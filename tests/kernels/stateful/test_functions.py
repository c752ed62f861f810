"""Stateful functions against their definitions, however the input is cut, split and restarted."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.functions.stateful import BUILT_INS
from panes.kernels.kernel import Clock, State, Step
from panes.kernels.state.release import WAITING, Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions

from ..harness import (
    BATCH,
    CUTS,
    DELAYS,
    IDLE,
    KEY,
    KEYS,
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
    check_lazy,
    cut,
    punctual,
    run,
    script,
    step_twice,
)
from .definitions import (
    BEGIN,
    COND,
    DEFAULT,
    LAG,
    RESET,
    SIZE,
    Cells,
    X,
    Y,
    at_once,
    call,
    cells,
    outputs,
    typed,
    values_of,
)


def definition(
    ticks: Sequence[Tick], calls: Sequence[StatefulCall], ttl: int | None, partitioned: bool = True, waits: bool = True
) -> Counter[Any]:
    """Rows that were in time, with the values that they get; a row is known by where it arrived, and its key."""
    parts: dict[Any, list[Arrived]] = defaultdict(list)
    for tick in ticks:
        mark = tick.watermark if waits and tick.watermark is not None else -(10**15)
        for one in tick.rows or []:
            parts[one.row.key if partitioned else None] += [one] if one.row.time >= mark else []
    out: Counter[Any] = Counter()
    for rows in parts.values():
        ordered = sorted(rows, key=lambda one: one.order) if waits else rows
        values = values_of([(one.row.time, cells(present(one.row.value))) for one in ordered], calls, ttl)
        out.update((one.batch, one.place, one.row.key, *value) for one, value in zip(ordered, values, strict=True))
    return out


@dataclass(frozen=True)
class Prepared:
    """The kernel behind what Spark computes before it; gives out only the columns that `shown` names."""

    kernel: StatefulFunctions
    shown: tuple[str, ...] = (BATCH, PLACE, KEY)

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def pack(self, rows: pa.Table) -> pa.Table:
        types = (pa.int64(), pa.int64(), pa.bool_(), pa.bool_(), pa.bool_(), pa.int64())
        columns = zip(*(cells(value) for value in rows["v"].to_pylist()), strict=True)
        for name, type_, column in zip(Cells._fields, types, columns, strict=True):
            rows = rows.append_column(name, pa.array(column, type_))
        return self.kernel.pack(rows)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        step = self.kernel.step(state, batch, clock)
        if step.rows is None:
            return step
        order = step.rows.sort_by([(name, "ascending") for name in self.kernel.release.order])
        assert order.equals(step.rows)
        assert step.counters["rows_out"] == step.rows.num_rows
        columns = [*self.shown, *(call.output for call in self.kernel.calls)]
        shown = step.rows.select(columns).rename_columns([f"{at:02}" for at in range(len(columns))])
        return replace(step, rows=shown)


def kernel(
    calls: Sequence[StatefulCall], ttl: int | None = None, partition: tuple[str, ...] = (KEY,), waits: bool = True
) -> Prepared:
    release = Release(TIME, ORDER if waits else (BATCH, PLACE), waits, waits)
    return Prepared(StatefulFunctions(partition, tuple(calls), release, ttl))


WHEN = {"condition": COND}
SPAN = {"begin": BEGIN, "reset": RESET}
CHANGED = call("had_changed", X, ignore_nulls=True)
STREAK = call("streak", X, **WHEN)
GROUPS = [
    (LAG,),
    (call("lag", X, offset=3, **WHEN),),
    (call("lag", X, offset=2, default=DEFAULT),),
    (call("lag", X, offset=2, default=DEFAULT, ignore_nulls=True, **WHEN),),
    (LAG, call("lag", LAG.output, **WHEN), call("latest", LAG.output)),
    (call("latest", X),),
    (call("latest", X, default=DEFAULT, **WHEN),),
    (call("changed_col", X, **WHEN), call("changed_col", X, ignore_nulls=True)),
    (call("had_changed", X, Y, **WHEN), call("had_changed", X, Y, ignore_nulls=True, **WHEN)),
    (CHANGED, call("lag", Y, condition=CHANGED.output), call("acc_count", Y, begin=CHANGED.output)),
    (call("row_number"), call("row_number", **WHEN)),
    (call("acc_count", X, **WHEN), call("acc_count", X, **SPAN), call("acc_count", X, **SPAN, **WHEN)),
    (call("acc_sum", X), call("acc_sum", X, **SPAN, **WHEN)),
    (call("acc_avg", X, **WHEN), call("acc_avg", X, **SPAN)),
    (call("acc_min", X, **SPAN, **WHEN), call("acc_max", X, begin=BEGIN)),
    (STREAK, call("lag", STREAK.output), call("streak", Y)),
    (call("trail", X, **WHEN), call("trail", X)),
]
CALLS = st.lists(st.sampled_from(GROUPS), min_size=1, max_size=2, unique=True).map(
    lambda groups: tuple(dict.fromkeys(one for group in groups for one in group))
)
TTLS = st.none() | st.sampled_from([0, 500, 2 * MS, 15 * MS])
VALUES = st.integers(0, SIZE - 1)


@st.composite
def streams(draw: st.DrawFn) -> list[list[list[Row]]]:
    """Micro-batches of rows on some source partitions, later ones a bit later."""
    drift = draw(st.sampled_from([0, 3 * MS, 10 * MS]))
    times = st.integers(-40, 40).map(lambda half: half * 500)
    row = st.builds(Row, times, KEYS, st.sampled_from([0, 1, None]), VALUES)
    drawn = draw(st.lists(st.lists(st.lists(row, max_size=5), min_size=1, max_size=2), max_size=5))
    return [
        [[replace(row, time=row.time + number * drift) for row in part] for part in batch]
        for number, batch in enumerate(drawn)
    ]


def late_rows(ticks: Sequence[Tick]) -> int:
    marks = ((one, tick.watermark) for tick in ticks for one in tick.rows or [])
    return sum(mark is not None and one.row.time < mark for one, mark in marks)


def check_definition(
    batches: list[Batch],
    delay: int,
    calls: Sequence[StatefulCall],
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
    partitioned: bool,
) -> None:
    ticks = script(batches, delay, idle)
    done = run(kernel(calls, ttl, (KEY,) if partitioned else ()), ticks, restarts)
    assert done.rows == definition(ticks, calls, ttl, partitioned)
    assert done.late == late_rows(ticks)
    assert not done.state.chunks


@pytest.mark.parametrize("calls", GROUPS, ids=lambda calls: calls[-1].output)
def test_every_function_is_its_definition(calls: tuple[StatefulCall, ...]) -> None:
    @settings(max_examples=10)
    @given(streams(), DELAYS, TTLS, RESTARTS, IDLE)
    def check(batches: list[Batch], delay: int, ttl: int | None, restarts: set[int], idle: list[bool]) -> None:
        check_definition(batches, delay, calls, ttl, restarts, idle, partitioned=True)

    check()


@settings(max_examples=40)
@given(streams(), DELAYS, CALLS, TTLS, RESTARTS, IDLE, st.booleans())
def test_calls_together_are_their_definitions(
    batches: list[Batch],
    delay: int,
    calls: tuple[StatefulCall, ...],
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
    partitioned: bool,
) -> None:
    check_definition(batches, delay, calls, ttl, restarts, idle, partitioned)


EVERYTHING = tuple(dict.fromkeys(one for group in GROUPS for one in group))


@pytest.mark.parametrize(
    ("seed", "ttl", "waits"), [(1, None, True), (2, 500, True), (3, 2 * MS, True), (4, None, False)]
)
def test_a_long_stream_is_its_definition(seed: int, ttl: int | None, waits: bool) -> None:
    """Few partitions and many small micro-batches, so that nearly every value depends on what was kept."""
    dice = Random(seed)
    times = sorted(dice.randrange(-60, 60) * 500 for _ in range(150))
    rows = [Row(time, dice.choice("aab"), number, dice.randrange(SIZE)) for number, time in enumerate(times)]
    batches = cut(rows, dice.sample(range(150), 20))
    ticks = script(batches, MS, [dice.random() < 0.3 for _ in batches])
    done = run(kernel(EVERYTHING, ttl, waits=waits), ticks, dice.sample(range(20), 6))
    assert done.rows == definition(ticks, EVERYTHING, ttl, waits=waits)
    assert done.late == (late_rows(ticks) if waits else 0)


@pytest.mark.slow
@settings(max_examples=3000)
@given(streams(), DELAYS, CALLS, TTLS, RESTARTS, IDLE, st.booleans())
def test_calls_together_are_their_definitions_at_length(
    batches: list[Batch],
    delay: int,
    calls: tuple[StatefulCall, ...],
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
    partitioned: bool,
) -> None:
    check_definition(batches, delay, calls, ttl, restarts, idle, partitioned)


@settings(max_examples=30)
@given(streams(), CALLS, RESTARTS)
def test_in_arrival_mode_rows_count_as_they_come(
    batches: list[Batch], calls: tuple[StatefulCall, ...], restarts: set[int]
) -> None:
    ticks = script(batches, 0)
    done = run(kernel(calls, waits=False), ticks, restarts)
    assert done.rows == definition(ticks, calls, None, waits=False)
    assert done.late == 0


@settings(max_examples=30)
@given(streams(), DELAYS, CALLS, TTLS, st.integers(0, 2))
def test_wake_is_never_too_late(
    batches: list[Batch], delay: int, calls: tuple[StatefulCall, ...], ttl: int | None, quiet: int
) -> None:
    check_lazy(kernel(calls, ttl), batches, delay, quiet)


@settings(max_examples=40)
@given(punctual(), st.lists(VALUES, min_size=20, max_size=20), CALLS, TTLS, CUTS, RESTARTS, IDLE)
def test_cuts_do_not_show(
    stream: tuple[list[Row], int],
    values: list[int],
    calls: tuple[StatefulCall, ...],
    ttl: int | None,
    cuts: set[int],
    restarts: set[int],
    idle: list[bool],
) -> None:
    rows, delay = [replace(row, value=value) for row, value in zip(stream[0], values, strict=False)], stream[1]
    one = replace(kernel(calls, ttl), shown=(TIME, KEY, TIE))
    done = run(one, script(cut(rows, cuts), delay, idle), restarts)
    assert done.rows == run(one, script(cut(rows, []), delay)).rows
    assert done.late == 0


@settings(max_examples=30)
@given(streams(), DELAYS, CALLS, TTLS, RESTARTS)
def test_in_arrival_mode_restarts_do_not_show(
    batches: list[Batch], delay: int, calls: tuple[StatefulCall, ...], ttl: int | None, restarts: set[int]
) -> None:
    ticks = script(batches, delay)
    one = kernel(calls, ttl, waits=False)
    assert run(one, ticks, restarts).steps == run(one, ticks).steps


def many(keys: Iterable[int], time: int) -> pa.Table:
    names = [str(key) for key in keys]
    return pa.table(
        {
            TIME: pa.array([time] * len(names), pa.timestamp("us", "UTC")),
            KEY: names,
            PLACE: pa.array(range(len(names)), pa.int64()),
            X: pa.array(range(len(names)), pa.int64()),
        }
    )


def test_every_built_in_function_is_in_a_group() -> None:
    assert {row.name for row in BUILT_INS} <= {one.function for one in EVERYTHING}


def test_only_what_changed_is_written() -> None:
    one = at_once([LAG])
    first = step_twice(one, State(), many(range(1000), 0), Clock())
    second = step_twice(one, first.state, many(range(10), MS), Clock())
    assert second.state.chunks[0] is first.state.chunks[0]
    assert [chunk.rows for chunk in second.state.chunks] == [1000, 10]
    quiet = step_twice(one, second.state, many([], 0), Clock(10**9))
    assert quiet.state == second.state and quiet.wake is None
    assert all(a is b for a, b in zip(quiet.state.chunks, second.state.chunks, strict=True))


def test_expired_partitions_leave_the_state() -> None:
    """At W = seen + ttl a row at W still finds its partition; a moment later the chunk goes, and asks for no more."""
    one = at_once([LAG], ttl=10 * MS)
    first = step_twice(one, State(), many(range(1000), 0), Clock())
    second = step_twice(one, first.state, many(range(10), 4 * MS), Clock(4 * MS))
    assert second.wake == 10 * MS + 1
    assert step_twice(one, second.state, None, Clock(10 * MS)).state == second.state
    third = step_twice(one, second.state, None, Clock(10 * MS + 1))
    assert third.state.chunks == second.state.chunks[1:]
    assert third.wake == 14 * MS + 1
    assert not step_twice(one, third.state, None, Clock(third.wake)).state.chunks
    assert third.counters["expired_rows"] == 0


def test_rewritten_chunks_lose_what_has_expired() -> None:
    """The second chunk is nearly as big as the first, so both are made one, without the partitions of the first."""
    one = at_once([LAG], ttl=10 * MS)
    first = step_twice(one, State(), many(range(100), 0), Clock())
    second = step_twice(one, first.state, many(range(50, 150), 10 * MS), Clock(10 * MS + 1))
    assert [chunk.rows for chunk in second.state.chunks] == [100]


def test_a_row_at_the_last_moment_finds_its_partition() -> None:
    """Nor is it lost when its chunk is rewritten at that moment."""
    one = at_once([LAG], ttl=10 * MS)
    first = step_twice(one, State(), many(range(10), 0), Clock())
    second = step_twice(one, first.state, many(range(10, 20), 10 * MS), Clock(10 * MS))
    assert [chunk.rows for chunk in second.state.chunks] == [20]
    third = step_twice(one, second.state, many(range(10), 10 * MS), Clock(10 * MS))
    assert present(third.rows)[LAG.output].to_pylist() == list(range(10))


def test_in_any_order_the_largest_time_counts() -> None:
    """A late row does not make its partition older; once the watermark has left it behind, a late row does not help."""
    one = at_once([LAG], ttl=10 * MS)
    state = State()
    for time, mark, before in [(9 * MS, None, None), (0, 9 * MS, 0), (0, 19 * MS, 0), (0, 19 * MS + 1, None)]:
        step = step_twice(one, state, many([1], time), Clock(mark))
        assert present(step.rows)[LAG.output].to_pylist() == [before]
        state = step.state


def test_rows_come_out_with_all_their_columns() -> None:
    batch = typed([1, 2], pa.int64())
    rows = outputs(at_once([LAG]), [batch])
    assert rows.drop_columns([LAG.output]).equals(batch)
    assert rows.column_names == [*batch.column_names, LAG.output]


def test_waiting_rows_are_counted() -> None:
    one = kernel([LAG])
    step = step_twice(one, State(), one.pack(_value_rows(3)), Clock(0))
    assert step.counters["buffered_rows"] == 3 and step.wake == 1
    assert [chunk.kind for chunk in step.state.chunks] == [WAITING]


def _value_rows(rows: int) -> pa.Table:
    at = pa.array(range(rows), pa.int64())
    return pa.table(
        {TIME: at.cast(pa.timestamp("us", "UTC")), KEY: ["a"] * rows, TIE: at, "v": at, BATCH: at, PLACE: at}
    )


def test_a_kernel_travels() -> None:
    one = at_once([call("acc_sum", X), call("lag", X)])
    assert pickle.loads(pickle.dumps(one)) == one
