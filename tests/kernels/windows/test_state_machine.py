"""State windows against their definition after every step, however the input is cut, split and restarted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.grouping import COUNT
from panes.kernels.kernel import Chunk, Clock, State, Step
from panes.kernels.state.carry import Carry
from panes.kernels.state.release import WAITING, Release
from panes.kernels.windows.open_groups import PARTS
from panes.kernels.windows.state_machine import ACTIVE, StateWindows, scan

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
    aggregated,
    batches,
    check_lazy,
    cut,
    packed,
    plain,
    punctual,
    restarted,
    script,
    step_twice,
)

TTLS = st.none() | st.integers(0, 60).map(lambda half: half * 500)
OPEN, EMIT = "open", "emit"
FLAGS = (None, False, True)
KEYED = (lambda row: (row.key,), lambda row: (row.tie,))


@st.composite
def spread(draw: st.DrawFn) -> list[list[list[Row]]]:
    """Micro-batches, often so far apart that one is released before the next, and windows stay open between them."""
    drift = draw(st.sampled_from([0, 15 * MS, 40 * MS]))
    return [
        [[replace(row, time=row.time + number * drift) for row in part] for part in batch]
        for number, batch in enumerate(draw(batches()))
    ]


def opens(value: int | None) -> bool | None:
    """The conditions are made of a row's value: it stands for each of the nine pairs of NULL, false and true."""
    return None if value is None else FLAGS[value % 3]


def emits(value: int | None) -> bool | None:
    return None if value is None else FLAGS[value // 3 % 3]


class Windows(StateWindows):
    """The kernel over the harness's rows, which have no conditions of their own."""

    def pack(self, rows: pa.Table) -> pa.Table:
        values = rows[VALUE].to_pylist()
        rows = rows.append_column(OPEN, pa.array([opens(value) for value in values], pa.bool_()))
        rows = rows.append_column(EMIT, pa.array([emits(value) for value in values], pa.bool_()))
        return super().pack(rows)


def kernel(
    ttl: int | None = None, partition: tuple[str, ...] = (KEY,), keys: tuple[str, ...] = (), waits: bool = True
) -> Windows:
    release = Release(TIME, ORDER if waits else (BATCH, PLACE), waits, waits)
    return Windows(OPEN, EMIT, partition, keys, FOLDS, release, ttl)


@dataclass
class Machine:
    """The state machine of one partition, row by row."""

    ttl: int | None
    closed: list[list[Arrived]] = field(default_factory=list)
    current: list[Arrived] = field(default_factory=list)
    expired: int = 0

    def take(self, one: Arrived) -> None:
        self.forget(one.row.time)
        if self.current:
            self.current.append(one)
            if emits(one.row.value):
                self.close()
        elif opens(one.row.value):
            self.current = [one]

    def forget(self, time: int | None) -> None:
        """The clock, or a row's time, is more than the ttl after the last row."""
        if self.current and self.ttl is not None and time is not None and time - self.current[-1].row.time > self.ttl:
            self.expired += len(self.current)
            self.current = []

    def close(self) -> None:
        self.closed.append(self.current)
        self.current = []


def machines(
    rows: Iterable[Arrived], ttl: int | None, tick: Tick, partition: Callable[[Row], Any]
) -> dict[Any, Machine]:
    """All machines after these rows, at the clock of a step."""
    found: dict[Any, Machine] = defaultdict(lambda: Machine(ttl))
    for one in rows:
        found[partition(one.row)].take(one)
    for machine in found.values():
        machine.forget(tick.watermark)
        if tick.flush and machine.current:
            machine.close()
    return found


def in_time(ticks: Sequence[Tick]) -> list[Arrived]:
    return [
        one for tick in ticks for one in tick.rows or [] if tick.watermark is None or one.row.time >= tick.watermark
    ]


def released(ticks: Sequence[Tick]) -> list[Arrived]:
    """The rows of these steps that the last one's watermark has passed, in the stream's order."""
    mark = ticks[-1].watermark
    passed = [one for one in in_time(ticks) if ticks[-1].flush or (mark is not None and one.row.time < mark)]
    return sorted(passed, key=lambda one: one.order)


def values(windows: Iterable[list[Arrived]], name: Any, key: Callable[[Row], Any]) -> Counter[Any]:
    return Counter(
        (*aggregated([one for one in window if key(one.row) == value]), *name, *value)
        for window in windows
        for value in {key(one.row) for one in window}
    )


def follow(kernel: StateWindows, ticks: Sequence[Tick], restarts: Iterable[int] = ()) -> list[Step]:
    """All steps of a script."""
    steps: list[Step] = []
    state = State()
    for number, tick in enumerate(ticks):
        steps.append(step_twice(kernel, state, packed(kernel, tick.rows or []), Clock(tick.watermark, tick.flush)))
        state = restarted(steps[-1].state) if number in set(restarts) else steps[-1].state
    return steps


def check_definition(
    kernel: Windows, ticks: Sequence[Tick], restarts: Iterable[int], partition: Any, key: Any = lambda row: ()
) -> None:
    """After every step: what came out so far, what was forgotten, and the gauges are what the machines say."""
    out: Counter[Any] = Counter()
    late = expired = 0
    for number, step in enumerate(follow(kernel, ticks, restarts), 1):
        rows = released(ticks[:number])
        expected = machines(rows, kernel.ttl, ticks[number - 1], partition)
        current = [machine.current for machine in expected.values() if machine.current]
        out += Counter(plain(step.rows))
        late += step.counters["late_rows"]
        expired += step.counters["expired_rows"]
        assert out == sum((values(one.closed, name, key) for name, one in expected.items()), Counter())
        assert expired == sum(machine.expired for machine in expected.values())
        assert late == sum(len(tick.rows or []) for tick in ticks[:number]) - len(in_time(ticks[:number]))
        assert step.counters["open_windows"] == len(current)
        assert step.counters.get("oldest_open_window") == min((one[0].row.time for one in current), default=None)
        waiting = len(in_time(ticks[:number])) - len(rows)
        assert step.counters["buffered_rows"] == waiting + sum(len(one) for one in current)
        assert bool(step.state.chunks) == bool(current or waiting)


@settings(max_examples=60)
@given(spread(), DELAYS, TTLS, RESTARTS, IDLE)
def test_state_windows_are_their_definition(
    batches: list[Batch], delay: int, ttl: int | None, restarts: set[int], idle: list[bool]
) -> None:
    check_definition(kernel(ttl), script(batches, delay, idle), restarts, lambda row: (row.key,))


@pytest.mark.slow
@settings(max_examples=3000)
@given(spread(), DELAYS, TTLS, RESTARTS, IDLE)
def test_state_windows_are_their_definition_many_times(
    batches: list[Batch], delay: int, ttl: int | None, restarts: set[int], idle: list[bool]
) -> None:
    check_definition(kernel(ttl, (KEY,), (TIE,)), script(batches, delay, idle), restarts, *KEYED)


@settings(max_examples=25)
@given(spread(), DELAYS, TTLS, RESTARTS, IDLE)
def test_keys_group_inside_a_window(
    batches: list[Batch], delay: int, ttl: int | None, restarts: set[int], idle: list[bool]
) -> None:
    """The machine sees all rows of its partition, and each key that is in a window gives a row."""
    ticks = script(batches, delay, idle)
    check_definition(kernel(ttl, (KEY,), (TIE,)), ticks, restarts, *KEYED)
    check_definition(kernel(ttl, (), (KEY, TIE)), ticks, restarts, lambda row: (), lambda row: (row.key, row.tie))


@settings(max_examples=20)
@given(spread(), DELAYS, TTLS, RESTARTS)
def test_partitions_of_several_columns_and_of_none(
    batches: list[Batch], delay: int, ttl: int | None, restarts: set[int]
) -> None:
    ticks = script(batches, delay)
    check_definition(kernel(ttl, (KEY, TIE)), ticks, restarts, lambda row: (row.key, row.tie))
    check_definition(kernel(ttl, ()), ticks, restarts, lambda row: ())


@settings(max_examples=25)
@given(spread(), RESTARTS)
def test_in_arrival_mode_rows_count_as_they_come(batches: list[Batch], restarts: set[int]) -> None:
    ticks = script(batches, 0)
    steps = follow(kernel(None, (KEY,), waits=False), ticks, restarts)
    rows = [one for tick in ticks for one in tick.rows or []]
    expected = machines(rows, None, ticks[-1], lambda row: (row.key,))
    got = sorted((number, total or 0, str(key)) for step in steps for number, total, _, key in plain(step.rows))
    assert got == sorted(
        (len(window), sum(one.row.value or 0 for one in window), str(*name))
        for name, machine in expected.items()
        for window in machine.closed
    )
    assert sum(step.counters["late_rows"] for step in steps) == 0


@settings(max_examples=20)
@given(spread(), DELAYS, TTLS, st.integers(0, 2))
def test_wake_is_never_too_late(batches: list[Batch], delay: int, ttl: int | None, quiet: int) -> None:
    check_lazy(kernel(ttl), batches, delay, quiet)


@settings(max_examples=20)
@given(spread(), DELAYS, TTLS, RESTARTS)
def test_wake_is_never_too_early(batches: list[Batch], delay: int, ttl: int | None, restarts: set[int]) -> None:
    """At the moment that the kernel asked for, something happens: rows are released, or a window is forgotten."""
    machine = kernel(ttl)
    for step in follow(machine, script(batches, delay), restarts):
        if step.wake is not None:
            then = step_twice(machine, step.state, None, Clock(step.wake))
            assert then.state.chunks != step.state.chunks
            assert then.counters["expired_rows"] or waiting(then) < waiting(step)


def waiting(step: Step) -> int:
    return sum(chunk.rows for chunk in step.state.chunks if chunk.kind == WAITING)


@settings(max_examples=25)
@given(punctual(), TTLS, CUTS, RESTARTS, IDLE)
def test_cuts_do_not_show(
    stream: tuple[list[Row], int], ttl: int | None, cuts: set[int], restarts: set[int], idle: list[bool]
) -> None:
    """Each partition's windows come in the order in which they closed, and inside a window its keys are sorted."""
    rows, delay = stream
    for machine, partition, key in (
        (kernel(ttl, (KEY,)), lambda row: (row.key,), lambda row: ()),
        (kernel(ttl, (), (KEY,)), lambda row: (), lambda row: (row.key,)),
    ):
        ticks = script(cut(rows, cuts), delay, idle)
        steps = follow(machine, ticks, restarts)
        expected = machines(released(ticks), ttl, ticks[-1], partition)
        found: dict[Any, list[Any]] = defaultdict(list)
        for *folded, name in (row for step in steps for row in plain(step.rows)):
            found[(name,) if machine.partition else ()].append((*folded, name))
        assert found == {name: in_order(one, name, key) for name, one in expected.items() if one.closed}
        assert sum(step.counters["late_rows"] for step in steps) == 0
        assert sum(step.counters["expired_rows"] for step in steps) == sum(one.expired for one in expected.values())


def in_order(machine: Machine, name: Any, key: Callable[[Row], Any]) -> list[Any]:
    """What comes out of one partition, one after the other; NULL is the last key."""
    return [
        one
        for window in machine.closed
        for one in sorted(values([window], name, key), key=lambda one: [(part is None, part or "") for part in one[3:]])
    ]


BITS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=40)


@settings(max_examples=100)
@given(BITS)
def test_the_scan_is_a_loop(bits: list[tuple[bool, bool, bool, bool]]) -> None:
    open_, emit, starts, entering = np.array(bits).T
    starts[0] = True
    found = scan(open_, emit, starts, entering)
    active = False
    for at in range(len(bits)):
        before = bool(entering[at]) if starts[at] else active
        opened, closed = not before and open_[at], before and emit[at]
        active = opened or (before and not closed)
        expected = (opened, before or opened, closed, active)
        assert (found.opens[at], found.inside[at], found.closes[at], found.active[at]) == expected


# Values with a meaning: 0 NULL and NULL, 2 opens, 6 emits, 8 both, 4 neither.
NEITHER, OPENS, EMITS, BOTH = 4, 2, 6, 8


def tick(batch: int, mark: int | None, *rows: tuple[int, str, int], flush: bool = False) -> Tick:
    return Tick([Arrived(Row(at * MS, key, 0, value), batch, place) for place, (at, key, value) in enumerate(rows)],
                None if mark is None else mark * MS, flush)  # fmt: skip


def test_a_row_that_emits_does_not_open_the_next_window() -> None:
    rows = [(at, "a", value) for at, value in enumerate([BOTH, NEITHER, BOTH, NEITHER, OPENS, OPENS, 0, EMITS, EMITS])]
    steps = follow(kernel(), [tick(0, None, *rows), tick(1, 100)])
    assert present(steps[1].rows)["a_values"].to_pylist() == [[BOTH, NEITHER, BOTH], [OPENS, OPENS, 0, EMITS]]


def test_windows_come_in_the_order_in_which_they_closed_and_keys_inside() -> None:
    rows = [(at, key, value) for at, (key, value) in enumerate([("b", OPENS), ("a", EMITS), ("b", BOTH), ("a", BOTH)])]
    steps = follow(kernel(None, (), (KEY,)), [tick(0, None, *rows), tick(1, 100)])
    found = [(values, key) for _, _, values, key in plain(steps[1].rows)]
    assert found == [((EMITS,), "a"), ((OPENS,), "b"), ((BOTH,), "a"), ((BOTH,), "b")]


def test_a_forgotten_window_is_dropped_by_the_clock_or_by_the_next_row() -> None:
    """ttl 5 ms: in one partition W forgets the window, in the other a row at 20 ms does, and opens one."""
    batch = tick(0, None, (0, "a", OPENS), (1, "a", NEITHER), (0, "b", OPENS), (5, "b", NEITHER), (20, "b", OPENS))
    steps = follow(kernel(5 * MS), [batch, tick(1, 6), tick(2, 7), tick(3, 21), tick(4, 21, flush=True)])
    assert [step.counters["expired_rows"] for step in steps] == [0, 0, 2, 2, 0]
    assert [step.counters["open_windows"] for step in steps] == [0, 2, 1, 1, 0]
    assert [step.wake for step in steps[1:3]] == [6 * MS + 1, 10 * MS + 1]
    assert list(plain(steps[4].rows)) == [(1, OPENS, (OPENS,), "b")]


def test_a_micro_batch_writes_what_it_changed() -> None:
    """A window that stays open while others come and go: its rows are written a few times, and theirs do not stay."""
    machine, state = kernel(), State()
    written: Counter[str] = Counter()
    for number in range(33):
        rows = [(number, "stays", OPENS if number == 0 else NEITHER)] * 10
        rows += [(number, key, value) for value in (EMITS, OPENS) for key in "xyz"]
        step = step_twice(machine, state, packed(machine, tick(number, None, *rows).rows or []), Clock(number * MS))
        known = {chunk.id for chunk in state.chunks}
        for chunk in step.state.chunks:
            written[chunk.kind] += 0 if chunk.id in known else size(chunk)
        state = step.state
    assert step.counters["buffered_rows"] == 32 * 10 + 3 + 16
    assert written[PARTS] < 6 * 32 * 13  # each time all of them: 12 * 32 * 13
    assert written[ACTIVE] <= 32 * 2 * 4
    assert step.counters["groups"] <= 16


def size(chunk: Chunk) -> int:
    return int(pc.sum(chunk.load()[COUNT]).as_py()) if chunk.kind == PARTS else chunk.rows


def test_rows_of_a_window_that_stays_open_do_not_touch_what_is_known_of_its_partition() -> None:
    """Without a ttl; with one, the time of the last row is kept."""
    ticks = [tick(0, None, (0, "a", OPENS)), tick(1, 0, (1, "a", NEITHER)), tick(2, 1), tick(3, 2)]
    for ttl, same in ((None, True), (10 * MS, False)):
        before, after = (
            {c.id for c in Carry((), ACTIVE).own(step.state.chunks)} for step in follow(kernel(ttl), ticks)[2:]
        )
        assert before and (before == after) is same


def test_each_partition_finds_its_own_window() -> None:
    """Whatever the order in which values of several partition columns come."""
    partitions = [("a", 0), ("b", 1), ("a", None), ("b", None)]
    opening = [Arrived(Row(at, *partitions[at], value), 0, at) for at, value in enumerate([2, 5, -7, -4])]
    closing = [Arrived(Row(MS + at, *partitions[at], EMITS), 1, at) for at in range(4)]
    steps = follow(kernel(None, (KEY, TIE)), [Tick(opening, None), Tick(closing, MS), Tick(None, 2 * MS)])
    found = {(key, tie): values for _, _, values, key, tie in plain(steps[2].rows)}
    assert found == dict(zip(partitions, [(2, EMITS), (5, EMITS), (-7, EMITS), (-4, EMITS)], strict=True))
