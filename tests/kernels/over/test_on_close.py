"""OVER on window close against its definition, however the input is cut, split and restarted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.kernel import Clock, Kernel, State, Step
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall, Values
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.state.release import Release

from ..harness import (
    BATCH,
    CUTS,
    DELAYS,
    HAS_TIE,
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
    cut,
    packed,
    punctual,
    run,
    script,
    step_twice,
)
from . import test_functions as naive
from .test_functions import AGGREGATES, DEFAULT, KEEP, RUNNING, X, Y

HALF = 500


@dataclass(frozen=True)
class Move:
    """What Spark computes before: a bound some way from the time, further away from some times than from others."""

    column: str
    by: int
    wobble: int

    def of(self, time: int) -> int:
        return time + self.by + self.wobble * (time // HALF % 2)


@dataclass(frozen=True)
class Prepared:
    """A kernel whose rows come with the columns that Spark computes."""

    kernel: Kernel
    moves: tuple[Move, ...]

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def pack(self, rows: pa.Table) -> pa.Table:
        times = rows[TIME].cast(pa.int64()).to_pylist()
        for move in self.moves:
            rows = rows.append_column(move.column, pa.array([move.of(time) for time in times], rows[TIME].type))
        rows = rows.append_column(X, rows[VALUE]).append_column(Y, rows[TIE].cast(pa.int64()))
        rows = rows.append_column(KEEP, pa.array([kept(value) for value in rows[VALUE].to_pylist()], pa.bool_()))
        return self.kernel.pack(rows.append_column(DEFAULT, pa.array([time // HALF for time in times])))

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        return self.kernel.step(state, batch, clock)


def kept(value: int | None) -> bool | None:
    return None if value is None else value % 3 > 0


def plain_row(one: Arrived, moves: Sequence[Move]) -> dict[str, Any]:
    row = one.row
    found = {TIME: row.time, KEY: row.key, TIE: row.tie, VALUE: row.value, BATCH: one.batch, PLACE: one.place}
    found |= {HAS_TIE: row.tie is not None, X: row.value, Y: row.tie, KEEP: kept(row.value), DEFAULT: row.time // HALF}
    return found | {move.column: move.of(row.time) for move in moves}


@st.composite
def frames(draw: st.DrawFn, number: int) -> tuple[Frame, list[Move]]:
    """Any frame that is ever complete, with its bounds."""
    edges = [*Edge][:-1]
    unit = draw(st.sampled_from(Unit))
    start = draw(st.sampled_from(edges))
    end = draw(st.sampled_from(edges[max(1, edges.index(start)) :]))
    moves: list[Move] = []

    def bound(edge: Edge, name: str) -> Bound:
        if edge not in (Edge.PRECEDING, Edge.FOLLOWING):
            return Bound(edge)
        far = draw(st.integers(0, 3))
        if unit is Unit.ROWS:
            return Bound(edge, far)
        sign = -1 if edge is Edge.PRECEDING else 1
        wobble = draw(st.sampled_from([0, 0, 3]))
        moves.append(Move(f"{name}{number}", sign * far * 3 * HALF, sign * wobble * HALF))
        return Bound(edge, Values(f"{name}{number}", (far * 3 + wobble) * HALF))

    return Frame(unit, bound(start, "low"), bound(end, "high")), moves


PICKS = ["row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value", "nth_value"]


@st.composite
def some_calls(draw: st.DrawFn) -> tuple[tuple[OverCall, ...], tuple[Move, ...]]:
    found: list[OverCall] = []
    moves: list[Move] = []
    for number in range(draw(st.integers(1, 3))):
        frame, more = draw(frames(number))
        moves += more
        if draw(st.booleans()):
            names = RUNNING if frame.start.edge is Edge.UNBOUNDED_PRECEDING else [*AGGREGATES]
            name = draw(st.sampled_from(names))
            call = naive.aggregate(name, frame, draw(st.sampled_from([None, KEEP])))
        else:
            call = OverCall(draw(st.sampled_from(PICKS)), (X,), "", frame, draw(st.booleans()))
            call = replace(call, offset=draw(st.integers(1, 3)), default=draw(st.sampled_from([None, DEFAULT])))
        found.append(replace(call, output=f"out {number} {call.output}"))
    return tuple(found), tuple(moves)


TIMES = OrderKey(TIME)
ORDERS = st.sampled_from([(TIMES,), (TIMES, OrderKey(VALUE, True, False)), (TIMES, OrderKey(TIE), OrderKey(VALUE))])
TTLS = st.sampled_from([None, None, 0, 2 * MS, 8 * MS])
PARTITIONS = st.sampled_from([(KEY,), (KEY,), (), (KEY, TIE)])


def kernel(
    calls: tuple[OverCall, ...],
    moves: tuple[Move, ...] = (),
    order: tuple[OrderKey, ...] = (TIMES,),
    partition: tuple[str, ...] = (KEY,),
    ttl: int | None = None,
    top_n: tuple[str, int] | None = None,
) -> Prepared:
    return Prepared(OverOnClose(partition, order, calls, Release(TIME, ORDER, True, True), top_n, ttl), moves)


def lives(rows: list[dict[str, Any]], ttl: int | None) -> list[list[dict[str, Any]]]:
    """A partition's rows, cut where one comes more than the ttl after the row before it."""
    found: list[list[dict[str, Any]]] = []
    for row in rows:
        if not found or (ttl is not None and row[TIME] - found[-1][-1][TIME] > ttl):
            found.append([])
        found[-1].append(row)
    return found


def definition(
    rows: Sequence[Arrived], calls: Sequence[OverCall], moves: Sequence[Move], order: Sequence[OrderKey],
    partition: Sequence[str], ttl: int | None,
) -> dict[Any, list[dict[str, Any]]]:  # fmt: skip
    """The output of each partition, in its order; ties are broken by key (NULL first), time, arrival."""
    parts: dict[Any, list[dict[str, Any]]] = {}
    for one in sorted(rows, key=lambda one: (one.order[1], one.row.time, one.batch, one.place)):
        row = plain_row(one, moves)
        parts.setdefault(tuple(row[name] for name in partition), []).append(row)
    out = {}
    for key, mine in parts.items():
        mine.sort(key=lambda row: naive.order_of(row, order))
        out[key] = [
            row | {call.output: value(life, i, call, order) for call in calls}
            for life in lives(mine, ttl)
            for i, row in enumerate(life)
        ]
    return out


def value(rows: list[dict[str, Any]], i: int, call: OverCall, order: Sequence[OrderKey]) -> Any:
    return naive.definition(rows, i, replace(call, output=call.output.split(" ", 2)[2]), order)


def in_time(ticks: Sequence[Tick]) -> list[Arrived]:
    marks = ((one, tick.watermark) for tick in ticks for one in tick.rows or [])
    return [one for one, mark in marks if mark is None or one.row.time >= mark]


NAMES = (TIME, KEY, HAS_TIE, TIE, VALUE, BATCH, PLACE, X, Y, KEEP, DEFAULT)


def came_out(
    steps: Sequence[Any], calls: Sequence[OverCall], moves: Sequence[Move], partition: Sequence[str]
) -> dict[Any, list[dict[str, Any]]]:
    """Rows as they came, by partition."""
    names = sorted([*NAMES, *(move.column for move in moves), *(call.output for call in calls)])
    out: dict[Any, list[dict[str, Any]]] = {}
    for step in steps:
        for values in step.elements():
            row = {name: microseconds(value) for name, value in zip(names, values, strict=True)}
            out.setdefault(tuple(row[name] for name in partition), []).append(row)
    return out


def microseconds(value: Any) -> Any:
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1e6)
    return list(value) if isinstance(value, tuple) else value


def same(found: dict[Any, list[dict[str, Any]]], expected: dict[Any, list[dict[str, Any]]]) -> None:
    near = {
        key: [{n: pytest.approx(v) if isinstance(v, float) else v for n, v in row.items()} for row in rows]
        for key, rows in expected.items()
    }
    assert found == near


@settings(max_examples=70)
@given(batches(), DELAYS, some_calls(), ORDERS, PARTITIONS, TTLS, RESTARTS, IDLE)
def test_over_is_its_definition(
    batches: list[Batch],
    delay: int,
    some: tuple[tuple[OverCall, ...], tuple[Move, ...]],
    order: tuple[OrderKey, ...],
    partition: tuple[str, ...],
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
) -> None:
    calls, moves = some
    ticks = script(batches, delay, idle)
    done = run(kernel(calls, moves, order, partition, ttl), ticks, restarts)
    rows = in_time(ticks)
    same(came_out(done.steps, calls, moves, partition), definition(rows, calls, moves, order, partition, ttl))
    assert done.late == sum(len(tick.rows or []) for tick in ticks) - len(rows)
    assert not done.state.chunks


@settings(max_examples=40)
@given(punctual(), some_calls(), ORDERS, TTLS, CUTS, RESTARTS, IDLE)
def test_cuts_do_not_show(
    stream: tuple[list[Row], int],
    some: tuple[tuple[OverCall, ...], tuple[Move, ...]],
    order: tuple[OrderKey, ...],
    ttl: int | None,
    cuts: set[int],
    restarts: set[int],
    idle: list[bool],
) -> None:
    (rows, delay), (calls, moves) = stream, some
    outputs = []
    for ticks in (script(cut(rows, cuts), delay, idle), script(cut(rows, []), delay)):
        done = run(kernel(calls, moves, order, ttl=ttl), ticks, restarts)
        found = came_out(done.steps, calls, moves, (KEY,))
        outputs.append(
            {k: [{n: v for n, v in r.items() if n not in (BATCH, PLACE)} for r in rs] for k, rs in found.items()}
        )
        assert done.late == 0
    same(*outputs)


@settings(max_examples=40)
@given(batches(), DELAYS, some_calls(), TTLS, st.integers(0, 2))
def test_wake_is_never_too_late(
    batches: list[Batch], delay: int, some: tuple[tuple[OverCall, ...], tuple[Move, ...]], ttl: int | None, quiet: int
) -> None:
    calls, moves = some
    ticks = script([one for batch in batches for one in (batch, *[[]] * quiet)], delay, [True] * 30)
    always = run(kernel(calls, moves, ttl=ttl), ticks)
    asked = run(kernel(calls, moves, ttl=ttl), ticks, lazy=True)
    assert asked.steps == always.steps
    assert asked.late == always.late


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(batches(), DELAYS, some_calls(), ORDERS, PARTITIONS, TTLS, RESTARTS, IDLE)
def test_over_is_its_definition_at_length(
    batches: list[Batch],
    delay: int,
    some: tuple[tuple[OverCall, ...], tuple[Move, ...]],
    order: tuple[OrderKey, ...],
    partition: tuple[str, ...],
    ttl: int | None,
    restarts: set[int],
    idle: list[bool],
) -> None:
    calls, moves = some
    ticks = script(batches, delay, idle)
    done = run(kernel(calls, moves, order, partition, ttl), ticks, restarts)
    expected = definition(in_time(ticks), calls, moves, order, partition, ttl)
    same(came_out(done.steps, calls, moves, partition), expected)


RANKED = OverCall("rank", (), "out 0 rank")


@settings(max_examples=40)
@given(batches(), DELAYS, st.integers(1, 3), ORDERS, RESTARTS)
def test_only_the_first_n_come_out(
    batches: list[Batch], delay: int, most: int, order: tuple[OrderKey, ...], restarts: set[int]
) -> None:
    ticks = script(batches, delay)
    calls = (RANKED,)
    done = run(kernel(calls, order=order, top_n=(RANKED.output, most)), ticks, restarts)
    expected = definition(in_time(ticks), calls, (), order, (KEY,), None)
    best = {key: [row for row in rows if row[RANKED.output] <= most] for key, rows in expected.items()}
    same(came_out(done.steps, calls, (), (KEY,)), best)


LOW_HIGH = (Move("low0", -5 * MS, 0), Move("high0", 3 * MS, 0))
LOOK_BACK = (Move("high0", -5 * MS, 0),)
BEFORE = Bound(Edge.PRECEDING, Values("low0", 5 * MS))
AFTER = Bound(Edge.FOLLOWING, Values("high0", 3 * MS))
ALL = Bound(Edge.UNBOUNDED_PRECEDING)
SMALL_STATE = {
    "row_number": (OverCall("row_number", (), "out 0 row_number"), (), 3),
    "lag": (OverCall("lag", (X,), "out 0 lag", offset=2), (), 2 * 3),
    "lag IGNORE NULLS": (OverCall("lag", (X,), "out 0 lag", ignore_nulls=True), (), 3),
    "lead": (OverCall("lead", (X,), "out 0 lead"), (), 3),
    "RANGE": (naive.aggregate("sum", Frame(Unit.RANGE, BEFORE, AFTER)), LOW_HIGH, 20),
    "ROWS": (naive.aggregate("sum", Frame(Unit.ROWS, Bound(Edge.PRECEDING, 2), Bound(Edge.FOLLOWING, 2))), (), 4 * 3),
    "running": (naive.aggregate("sum", Frame(Unit.RANGE, ALL, Bound(Edge.CURRENT_ROW))), (), 3),
    "running, to some time ago": (
        naive.aggregate("sum", Frame(Unit.RANGE, ALL, replace(BEFORE, offset=Values("high0", 5 * MS)))),
        LOOK_BACK,
        20,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL_STATE)
def test_only_what_can_be_reached_is_kept(name: str) -> None:
    """60 rows of three partitions, one of which falls silent: what is kept does not grow."""
    call, moves, most = SMALL_STATE[name]
    over, state = kernel((call,), moves), State()
    for at in range(60):
        row = Row(at * MS, ["a", "b", None][at % (3 if at < 20 else 2)], 0, at)
        state = step_twice(over, state, packed(over, [Arrived(row, at, 0)]), Clock((at - 1) * MS)).state
        assert sum(chunk.rows for chunk in state.chunks if chunk.kind != "waiting") <= 2 * most


ANY_TYPE = {
    "zone": pa.array([7], pa.timestamp("us", "Europe/Berlin")),
    "duration": pa.array([7], pa.duration("us")),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
    "large": pa.array(["a"], pa.large_string()),
}


@pytest.mark.parametrize("partition", ["zone", "duration", "large"])
def test_columns_of_any_type_come_out_as_they_came(partition: str) -> None:
    calls = (OverCall("lag", ("map",), "before"), OverCall("lead", ("zone",), "after"), OverCall("row_number", (), "n"))
    over = OverOnClose((partition,), (TIMES,), calls, Release(TIME, (TIME,), True, True), ttl=5)
    state = State()
    out: list[pa.Table] = []
    for at in (*range(8), 100):
        batch = pa.table({TIME: pa.array([at], pa.timestamp("us")), **ANY_TYPE})
        step = step_twice(over, state, batch, Clock(at))
        state, out = step.state, [*out, *([step.rows] if step.rows is not None else [])]
    rows = pa.concat_tables(out)
    assert {name: rows.schema.field(name).type for name in ANY_TYPE} == {n: a.type for n, a in ANY_TYPE.items()}
    assert rows["n"].to_pylist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_small_batch_writes_little() -> None:
    """10,000 partitions are known; one row of one of them leaves their chunk as it is."""
    many = [Row(at, str(at), 0, at) for at in range(10_000)]
    calls = (OverCall("lag", (X,), "out 0 lag"), OverCall("row_number", (), "out 1 row_number"))
    ticks = [Tick([Arrived(row, 0, at) for at, row in enumerate(many)], None), Tick(None, 20_000)]
    before = run(kernel(calls), ticks).state
    later = [*ticks, Tick([Arrived(Row(20_000, "7"), 1, 0)], 20_000), Tick(None, 30_000)]
    state = run(kernel(calls), later).state
    assert sorted(chunk.rows for chunk in before.chunks) == [10_000, 10_000]
    assert sorted(chunk.rows for chunk in state.chunks) == [1, 1, 10_000, 10_000]


@settings(max_examples=30)
@given(batches(), st.sampled_from([0, 2 * MS, 8 * MS]), st.sampled_from([*SMALL_STATE]))
def test_forgotten_partitions_leave_nothing(batches: list[Batch], ttl: int, name: str) -> None:
    """When the watermark has passed the last row by far, only rows that wait for it are left."""
    call, moves, _ = SMALL_STATE[name]
    ticks = script(batches, 0)[:-1]
    done = run(kernel((call,), moves, ttl=ttl), [*ticks, Tick(None, 10**12), Tick(None, 10**13)])
    assert not [chunk for chunk in done.state.chunks if chunk.kind in ("running", "tail")]


def told(
    call: OverCall, rows: Sequence[Row], moves: tuple[Move, ...] = (), ttl: int | None = None
) -> dict[tuple[int, str | None], Any]:
    """What a call gives to rows that come one by one, each released by the next."""
    call = replace(call, output=f"out 0 {call.output or call.function}")
    ticks = [Tick([Arrived(row, at, 0)], row.time) for at, row in enumerate(rows)]
    done = run(kernel((call,), moves, ttl=ttl), [*ticks, Tick(None, rows[-1].time, flush=True)])
    out = came_out(done.steps, (call,), moves, ())[()]
    return {(row[TIME] // MS, row[KEY]): row[call.output] for row in out}


def test_a_count_of_nothing_is_zero() -> None:
    frame = Frame(Unit.ROWS, ALL, Bound(Edge.PRECEDING, 2))
    assert list(told(naive.aggregate("count", frame), [Row(at * MS) for at in range(4)]).values()) == [0, 0, 1, 2]


def test_a_partition_does_not_expire_while_its_rows_wait_for_their_frames() -> None:
    """ttl 2, frames to 10 later: at W = 11 the row at 0 is complete, and the row at 1 is still to follow it."""
    moves = (Move("high0", 10 * MS, 0),)
    wide = replace(naive.aggregate("count", Frame(Unit.RANGE, Bound(Edge.CURRENT_ROW), AFTER)), output="out 1 count")
    lead = OverCall("lead", (X,), "out 0 lead")
    rows = [Arrived(Row(0, value=1), 0, 0), Arrived(Row(1 * MS, value=2), 0, 1)]
    ticks = [Tick(rows, None), Tick(None, 11 * MS), Tick(None, 12 * MS), Tick(None, 13 * MS)]
    done = run(kernel((lead, wide), moves, ttl=2 * MS), ticks)
    assert [row["out 0 lead"] for row in came_out(done.steps, (lead, wide), moves, ())[()]] == [2, None]


def test_a_row_at_the_ttl_finds_its_partition() -> None:
    """ttl 5: at W = 7 `a` (last seen at 1) is forgotten; `b` (at 2) is not yet, and its row at 7 comes in time."""
    rows = [Row(1 * MS, "a", value=1), Row(2 * MS, "b", value=2), Row(3 * MS), Row(7 * MS), Row(7 * MS, "b", value=3)]
    rows += [Row(7 * MS, "a", value=4)]
    found = told(OverCall("lag", (X,), ""), rows, ttl=5 * MS)
    assert (found[7, "a"], found[7, "b"]) == (None, 2)
    found = told(OverCall("row_number", (), ""), rows, ttl=5 * MS)
    assert (found[7, "a"], found[7, "b"]) == (1, 2)
