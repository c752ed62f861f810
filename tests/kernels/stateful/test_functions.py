"""Stateful functions against their definitions, however the input is cut, split and restarted."""

from __future__ import annotations

import datetime as dt
import pickle
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.errors import CODES, PanesError
from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.kernel import Clock, State, Step
from panes.kernels.state.release import WAITING, Release
from panes.kernels.stateful.functions import StatefulCall, StatefulFunctions
from panes.kernels.stateful.user_functions import UserFunction

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
    Row,
    Tick,
    check_lazy,
    cut,
    punctual,
    restarted,
    run,
    script,
    step_twice,
)

X, Y, COND, BEGIN, RESET, DEFAULT = "x", "y", "cond", "begin", "reset", "default"


class Cells(NamedTuple):
    """The columns that a row's value stands for."""

    x: int | None
    y: int | None
    cond: bool | None
    begin: bool | None
    reset: bool | None
    default: int | None


CHOICES = ((None, 1, 2, 3), (None, 7, 8), (True, False, None), (True, False, None), (False, True, None), (None, 50))
SIZE = 4 * 3 * 3 * 3 * 3 * 2


def cells(value: int) -> Cells:
    found = []
    for choices in CHOICES:
        value, index = divmod(value, len(choices))
        found.append(choices[index])
    return Cells(*found)


# ── The definition: one small object per call and partition ────────────────────────────────────────────────────────


@dataclass
class Lag:
    call: StatefulCall
    values: Sequence[Any] = ()

    def eval(self, row: Any, args: Sequence[Any], accepted: bool) -> Any:
        values, n = [*self.values], self.call.offset
        if accepted and not (self.call.ignore_nulls and args[0] is None):
            self.values = [*values, args[0]]
        return values[-n] if len(values) >= n else (row[self.call.default] if self.call.default else None)


@dataclass
class Latest:
    call: StatefulCall
    value: Any = None

    def eval(self, row: Any, args: Sequence[Any], accepted: bool) -> Any:
        if accepted and args[0] is not None:
            self.value = args[0]
        return self.value if self.value is not None else (row[self.call.default] if self.call.default else None)


class HadChanged:
    def __init__(self, call: StatefulCall):
        self.call, self.last = call, {}

    def eval(self, row: Any, args: Sequence[Any], accepted: bool) -> Any:
        changed = False
        for number, arg in enumerate(args):
            if accepted and not (self.call.ignore_nulls and arg is None):
                changed |= number not in self.last or self.last[number] != arg
                self.last[number] = arg
        return changed


class ChangedCol(HadChanged):
    def eval(self, row: Any, args: Sequence[Any], accepted: bool) -> Any:
        return args[0] if super().eval(row, args, accepted) else None


class Acc:
    VALUES = {  # noqa: RUF012
        "acc_sum": sum,
        "acc_avg": lambda values: sum(values) / len(values) if values else None,
        "acc_min": lambda values: min(values, default=None),
        "acc_max": lambda values: max(values, default=None),
        "acc_count": len,
    }

    def __init__(self, call: StatefulCall):
        self.call, self.values, self.counting = call, [], call.begin is None

    def eval(self, row: Any, args: Sequence[Any], accepted: bool) -> Any:
        self.counting = self.counting or self.call.begin is None or bool(row[self.call.begin])
        self.values += [args[0]] if self.counting and accepted and args[0] is not None else []
        value = self.VALUES[self.call.function](self.values)
        if self.call.reset is not None and row[self.call.reset]:
            self.values, self.counting = [], False
        return value


@dataclass
class RowNumber:
    call: StatefulCall
    number: int | None = None

    def eval(self, row: Any, args: Sequence[Any], accepted: bool) -> Any:
        self.number = (self.number or 0) + 1 if accepted else self.number
        return self.number


class Streak(StatefulFunction):
    """How many rows in a row had this value."""

    name = "streak"

    def return_type(self, input_types):
        return "bigint"

    def create_instance(self):
        return StreakInstance()


class StreakInstance(StatefulFunctionInstance):
    def __init__(self):
        self.value, self.length = None, 0

    def eval(self, args):
        self.length = self.length + 1 if args[0] == self.value else 1
        self.value = args[0]
        return self.length


class Trail(Streak):
    """All values so far, for many rows at once."""

    name = "trail"

    def create_instance(self):
        return TrailInstance()


class TrailInstance(StatefulFunctionInstance):
    def __init__(self):
        self.values = ()

    def eval_batch(self, args):
        trails = []
        for value in args[0].to_pylist():
            self.values = (*self.values, value)
            trails.append("".join(str(one) for one in self.values))
        return pa.array(trails, pa.large_string())


@dataclass
class Users:
    call: StatefulCall
    instance: Any = None
    value: Any = None

    def eval(self, row: Any, args: Sequence[Any], accepted: bool) -> Any:
        if accepted:
            self.instance = self.instance or self.call.user.function.create_instance()
            if hasattr(self.instance, "eval_batch"):
                self.value = self.instance.eval_batch([pa.array(args)])[0].as_py()
            else:
                self.value = self.instance.eval(args)
        return self.value


DEFINITIONS = {
    "lag": Lag,
    "latest": Latest,
    "changed_col": ChangedCol,
    "had_changed": HadChanged,
    "row_number": RowNumber,
    "streak": Users,
    "trail": Users,
} | dict.fromkeys(Acc.VALUES, Acc)


def values_of(rows: Sequence[tuple[int, Any]], calls: Sequence[StatefulCall], ttl: int | None) -> Iterable[Any]:
    """The calls' values for (time, cells) of one partition in order."""
    before, states = None, ()
    for time, row in rows:
        if before is None or (ttl is not None and time - before > ttl):
            states = [DEFINITIONS[call.function](call) for call in calls]
        known, before = row._asdict(), time
        for call, state in zip(calls, states, strict=True):
            accepted = call.condition is None or bool(known[call.condition])
            known[call.output] = state.eval(known, [known[name] for name in call.args], accepted)
        yield tuple(known[call.output] for call in calls)


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
        values = values_of([(one.row.time, cells(one.row.value)) for one in ordered], calls, ttl)
        out.update((one.batch, one.place, one.row.key, *value) for one, value in zip(ordered, values, strict=True))
    return out


# ── The kernel on the same rows ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Prepared:
    """The kernel behind what Spark computes before it; gives out only the columns that `shown` names."""

    kernel: StatefulFunctions
    shown: tuple[str, ...] = (BATCH, PLACE, KEY)

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


def call(function: str, *args: str, **more: Any) -> StatefulCall:
    output = "_".join([function, *args, *(f"{name}_{value}" for name, value in more.items())])
    if function in ("acc_sum", "acc_avg", "acc_min", "acc_max"):
        more["accumulator"] = accumulator(function[4:], ["bigint"])
    if function == "streak":
        more["user"] = UserFunction(Streak(), pa.int64())
    if function == "trail":
        more["user"] = UserFunction(Trail(), pa.string())
    return StatefulCall(function, args, output, **more)


WHEN = {"condition": COND}
SPAN = {"begin": BEGIN, "reset": RESET}
LAG = call("lag", X)
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


def check_definition(batches, delay, calls, ttl, restarts, idle, partitioned):
    ticks = script(batches, delay, idle)
    done = run(kernel(calls, ttl, (KEY,) if partitioned else ()), ticks, restarts)
    assert done.rows == definition(ticks, calls, ttl, partitioned)
    assert done.late == late_rows(ticks)
    assert not done.state.chunks


@pytest.mark.parametrize("calls", GROUPS, ids=lambda calls: calls[-1].output)
def test_every_function_is_its_definition(calls):
    @settings(max_examples=10)
    @given(streams(), DELAYS, TTLS, RESTARTS, IDLE)
    def check(batches, delay, ttl, restarts, idle):
        check_definition(batches, delay, calls, ttl, restarts, idle, partitioned=True)

    check()


@settings(max_examples=40)
@given(streams(), DELAYS, CALLS, TTLS, RESTARTS, IDLE, st.booleans())
def test_calls_together_are_their_definitions(batches, delay, calls, ttl, restarts, idle, partitioned):
    check_definition(batches, delay, calls, ttl, restarts, idle, partitioned)


EVERYTHING = tuple(dict.fromkeys(one for group in GROUPS for one in group))


@pytest.mark.parametrize(
    ("seed", "ttl", "waits"), [(1, None, True), (2, 500, True), (3, 2 * MS, True), (4, None, False)]
)
def test_a_long_stream_is_its_definition(seed, ttl, waits):
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
def test_calls_together_are_their_definitions_at_length(batches, delay, calls, ttl, restarts, idle, partitioned):
    check_definition(batches, delay, calls, ttl, restarts, idle, partitioned)


@settings(max_examples=30)
@given(streams(), CALLS, RESTARTS)
def test_in_arrival_mode_rows_count_as_they_come(batches, calls, restarts):
    ticks = script(batches, 0)
    done = run(kernel(calls, waits=False), ticks, restarts)
    assert done.rows == definition(ticks, calls, None, waits=False)
    assert done.late == 0


@settings(max_examples=30)
@given(streams(), DELAYS, CALLS, TTLS, st.integers(0, 2))
def test_wake_is_never_too_late(batches, delay, calls, ttl, quiet):
    check_lazy(kernel(calls, ttl), batches, delay, quiet)


@settings(max_examples=40)
@given(punctual(), st.lists(VALUES, min_size=20, max_size=20), CALLS, TTLS, CUTS, RESTARTS, IDLE)
def test_cuts_do_not_show(stream, values, calls, ttl, cuts, restarts, idle):
    rows, delay = [replace(row, value=value) for row, value in zip(stream[0], values, strict=False)], stream[1]
    one = replace(kernel(calls, ttl), shown=(TIME, KEY, TIE))
    done = run(one, script(cut(rows, cuts), delay, idle), restarts)
    assert done.rows == run(one, script(cut(rows, []), delay)).rows
    assert done.late == 0


@settings(max_examples=30)
@given(streams(), DELAYS, CALLS, TTLS, RESTARTS)
def test_in_arrival_mode_restarts_do_not_show(batches, delay, calls, ttl, restarts):
    ticks = script(batches, delay)
    one = kernel(calls, ttl, waits=False)
    assert run(one, ticks, restarts).steps == run(one, ticks).steps


INTEGERS = st.sampled_from([0, 1, -1, 1 << 16, 1 << 32, (1 << 32) + 1, 1 << 47]) | st.none()
LARGEST = st.sampled_from([0, -1, (1 << 63) - 1, -(1 << 63)])


@settings(max_examples=40)
@given(st.lists(INTEGERS, min_size=1) | st.lists(LARGEST, min_size=1), st.booleans())
def test_keys_that_are_integers(keys, two):
    """Each row gives the place of the row before with its key, also where a second key says nothing new."""
    at = pa.array(range(len(keys)), pa.int64())
    times = at.cast(pa.timestamp("us"))
    batch = pa.table({TIME: times, KEY: pa.array(keys, pa.int64()), "zero": [0] * len(keys), PLACE: at, X: at})
    one = replace(at_once([LAG]), partition=(KEY, "zero") if two else (KEY,))
    before = [max((i for i in range(at) if keys[i] == key), default=None) for at, key in enumerate(keys)]
    assert outputs(one, [batch])[LAG.output].to_pylist() == before
    halves = [batch.slice(0, len(keys) // 2), batch.slice(len(keys) // 2)]
    assert outputs(one, [half for half in halves if half.num_rows])[LAG.output].to_pylist() == before


# ── Types ──────────────────────────────────────────────────────────────────────────────────────────────────────────

DAY = dt.date(1969, 12, 31)
NOON = dt.datetime(1969, 12, 31, 12, tzinfo=dt.UTC)
STRUCT = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float64()))])
NAN = float("nan")
TYPES = {
    "boolean": (pa.bool_(), [True, False]),
    "tinyint": (pa.int8(), [-1, 1]),
    "float": (pa.float32(), [0.5, NAN]),
    "double": (pa.float64(), [NAN, 0.0]),
    "string": (pa.string(), ["", "é"]),
    "binary": (pa.binary(), [b"", b"\x00"]),
    "decimal": (pa.decimal128(38, 18), [Decimal("1.5"), Decimal("-99999999999999999999.1")]),
    "date": (pa.date32(), [DAY, dt.date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us", "Europe/Berlin"), [NOON, NOON + dt.timedelta(1)]),
    "timestamp_ntz": (pa.timestamp("us"), [dt.datetime(1, 1, 1), dt.datetime(2024, 1, 1)]),
    "interval": (pa.duration("us"), [dt.timedelta(days=-1), dt.timedelta(microseconds=1)]),
    "array": (pa.list_(pa.string()), [[], ["a", None]]),
    "struct": (STRUCT, [{"a": None, "b": [NAN]}, {"a": 1, "b": None}]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], []]),
    "void": (pa.null(), [None, None]),
}


def typed(values: Sequence[Any], type_: pa.DataType, first: int = 0) -> pa.Table:
    """Rows of one partition, a millisecond apart."""
    places = range(first, first + len(values))
    return pa.table(
        {
            TIME: pa.array([at * MS for at in places], pa.timestamp("us", "UTC")),
            KEY: pa.array(["a"] * len(values)),
            PLACE: pa.array(places, pa.int64()),
            X: pa.array(values, type_),
        }
    )


def at_once(calls: Sequence[StatefulCall], ttl: int | None = None) -> StatefulFunctions:
    return StatefulFunctions((KEY,), tuple(calls), Release(TIME, (TIME, PLACE), False, False), ttl)


def outputs(one: StatefulFunctions, tables: Sequence[pa.Table]) -> pa.Table:
    """What comes out for tables, one after the other, with a restart after each."""
    state, found = State(), []
    for table in tables:
        step = step_twice(one, state, table, Clock())
        state = restarted(step.state)
        found.append(step.rows)
    return pa.concat_tables(found)


@pytest.mark.parametrize("name", TYPES)
def test_values_of_every_type(name):
    type_, (a, b) = TYPES[name]
    values = [a, a, None, b, a]
    calls = [
        call("lag", X, default=X),
        call("lag", X, offset=2),
        call("latest", X),
        call("changed_col", X),
        call("changed_col", X, ignore_nulls=True),
        call("had_changed", X, X),
    ]
    for cuts in ([0, 5], [0, 1, 2, 3, 4, 5]):
        parts = pairwise(cuts)
        rows = outputs(at_once(calls), [typed(values[low:high], type_, low) for low, high in parts])
        assert [rows.schema.field(one.output).type for one in calls[:5]] == [type_] * 5
        shown = [str(rows[one.output].to_pylist()) for one in calls]
        if name != "void":
            assert shown[3:] == [
                str(pa.array([a, None, None, b, a], type_).to_pylist()),
                str(pa.array([a, None, None, b, a], type_).to_pylist()),
                str([True, False, True, True, True]),
            ]
        assert shown[:3] == [
            str(pa.array([a, a, a, None, b], type_).to_pylist()),
            str(pa.array([None, None, a, a, None], type_).to_pylist()),
            str(pa.array([a, a, a, b, a], type_).to_pylist()),
        ]


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [value], lambda value: {"a": [value, None]}])
def test_nan_is_nan_and_zero_has_no_sign(wrap):
    values = [0.0, -0.0, NAN, -NAN, float("inf"), None, None, 0.0]
    type_ = pa.array([wrap(1.0)]).type
    rows = outputs(at_once([call("had_changed", X)]), [typed([wrap(value) for value in values], type_)])
    assert rows["had_changed_x"].to_pylist() == [True, False, True, False, True, True, False, True]


@pytest.mark.parametrize(
    ("type_", "spark", "values"),
    [
        (pa.float64(), "double", [0.5, None, -0.25]),
        (pa.decimal128(12, 2), "decimal(12,2)", [Decimal("0.50"), None, Decimal("-0.25")]),
        (pa.decimal128(35, 2), "decimal(35,2)", [Decimal(10**27), None, Decimal("1.01")]),
        (pa.int64(), "bigint", [2**63 - 1, None, 2**63 - 1]),
    ],
)
def test_sums_and_averages_of_numbers(type_, spark, values):
    """The values are those before `finish`: decimals of many digits are text, without their point."""
    names = ("sum", "avg")
    calls = [StatefulCall(f"acc_{one}", (X,), one, accumulator=accumulator(one, [spark])) for one in names]
    whole = outputs(at_once(calls), [typed([None, *values], type_)]).select(names).to_pydict()
    parts = [typed([value], type_, at) for at, value in enumerate([None, *values])]
    assert outputs(at_once(calls), parts).select(names).to_pydict() == whole
    scale = type_.scale if pa.types.is_decimal(type_) else 0
    first, total = Fraction(values[0]), sum(Fraction(value) for value in values if value is not None)
    assert [_number(one, scale) for one in whole["sum"]] == [0, first, first, total]
    exact = Fraction if scale else float
    assert [_number(one, scale + 4) for one in whole["avg"]] == [None, exact(first), exact(first), exact(total / 2)]


def _number(value: Any, scale: int) -> Any:
    return Fraction(int(value), 10**scale) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("name", "spark"),
    [
        ("string", "string"),
        ("date", "date"),
        ("timestamp", "timestamp"),
        ("interval", "interval"),
        ("double", "double"),
    ],
)
def test_extremes_of_values(name, spark):
    """NaN is greater than every number."""
    type_, values = TYPES[name]
    calls = [StatefulCall(f"acc_{one}", (X,), one, accumulator=accumulator(one, [spark])) for one in ("min", "max")]
    rows = outputs(at_once(calls), [typed([None], type_), typed(values, type_, 1)])
    low, high = sorted(values, key=lambda value: (value != value, value))
    assert rows.schema.field("min").type == rows.schema.field("max").type == type_
    assert str(rows["min"].to_pylist()[::2]) == str(pa.array([None, low], type_).to_pylist())
    assert str(rows["max"].to_pylist()[::2]) == str(pa.array([None, high], type_).to_pylist())


# ── What is kept ───────────────────────────────────────────────────────────────────────────────────────────────────


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


def test_only_what_changed_is_written():
    one = at_once([LAG])
    first = step_twice(one, State(), many(range(1000), 0), Clock())
    second = step_twice(one, first.state, many(range(10), MS), Clock())
    assert second.state.chunks[0] is first.state.chunks[0]
    assert [chunk.rows for chunk in second.state.chunks] == [1000, 10]
    quiet = step_twice(one, second.state, many([], 0), Clock(10**9))
    assert quiet.state == second.state and quiet.wake is None
    assert all(a is b for a, b in zip(quiet.state.chunks, second.state.chunks, strict=True))


def test_forgotten_partitions_leave_the_state():
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


def test_rewritten_chunks_lose_what_is_forgotten():
    """The second chunk is nearly as big as the first, so both are made one, without the partitions of the first."""
    one = at_once([LAG], ttl=10 * MS)
    first = step_twice(one, State(), many(range(100), 0), Clock())
    second = step_twice(one, first.state, many(range(50, 150), 10 * MS), Clock(10 * MS + 1))
    assert [chunk.rows for chunk in second.state.chunks] == [100]


def test_a_row_at_the_last_moment_finds_its_partition():
    """Nor is it lost when its chunk is rewritten at that moment."""
    one = at_once([LAG], ttl=10 * MS)
    first = step_twice(one, State(), many(range(10), 0), Clock())
    second = step_twice(one, first.state, many(range(10, 20), 10 * MS), Clock(10 * MS))
    assert [chunk.rows for chunk in second.state.chunks] == [20]
    third = step_twice(one, second.state, many(range(10), 10 * MS), Clock(10 * MS))
    assert third.rows[LAG.output].to_pylist() == list(range(10))


def test_in_any_order_the_largest_time_counts():
    """A late row does not make its partition older; once the watermark has left it behind, a late row does not help."""
    one = at_once([LAG], ttl=10 * MS)
    state = State()
    for time, mark, before in [(9 * MS, None, None), (0, 9 * MS, 0), (0, 19 * MS, 0), (0, 19 * MS + 1, None)]:
        step = step_twice(one, state, many([1], time), Clock(mark))
        assert step.rows[LAG.output].to_pylist() == [before]
        state = step.state


def test_no_more_is_kept_than_asked_for():
    one = at_once([call("lag", X, offset=3), call("latest", X)])
    state = State()
    for at in range(5):
        state = step_twice(one, state, typed([at, at + 1], pa.int64(), 2 * at), Clock()).state
    (kept,) = (chunk.load().to_pylist() for chunk in state.chunks)
    assert kept[0]["lag_x_offset_3 0"] == [4, 4, 5]
    assert kept[0]["latest_x 0"] == [5]


def test_many_integer_keys_come_in_order():
    dice = Random(5)
    keys = [dice.randrange(1 << 20) << 20 | dice.randrange(3) for _ in range(300)] * 3
    dice.shuffle(keys)
    at = pa.array(range(len(keys)), pa.int64())
    batch = pa.table({TIME: at.cast(pa.timestamp("us")), KEY: pa.array(keys, pa.int64()), PLACE: at, X: at})
    last: dict[int, int] = {}
    before = [(last.get(key), last.__setitem__(key, number))[0] for number, key in enumerate(keys)]
    assert outputs(at_once([LAG]), [batch])[LAG.output].to_pylist() == before


def test_lag_of_zero_is_the_row_s_own_value():
    rows = outputs(at_once([call("lag", X, offset=0)]), [typed([1, None], pa.int64()), typed([3], pa.int64(), 2)])
    assert rows["lag_x_offset_0"].to_pylist() == [1, None, 3]


def test_rows_come_out_with_all_their_columns():
    batch = typed([1, 2], pa.int64())
    rows = outputs(at_once([LAG]), [batch])
    assert rows.drop_columns([LAG.output]).equals(batch)
    assert rows.column_names == [*batch.column_names, LAG.output]


def test_waiting_rows_are_counted():
    one = kernel([LAG])
    step = step_twice(one, State(), one.pack(_value_rows(3)), Clock(0))
    assert step.counters["buffered_rows"] == 3 and step.wake == 1
    assert [chunk.kind for chunk in step.state.chunks] == [WAITING]


def _value_rows(rows: int) -> pa.Table:
    at = pa.array(range(rows), pa.int64())
    return pa.table(
        {TIME: at.cast(pa.timestamp("us", "UTC")), KEY: ["a"] * rows, TIE: at, "v": at, BATCH: at, PLACE: at}
    )


def test_a_kernel_travels():
    one = at_once([call("acc_sum", X), call("lag", X)])
    assert pickle.loads(pickle.dumps(one)) == one


def test_an_unknown_function_is_refused():
    with pytest.raises(ValueError, match="no stateful function lead"):
        outputs(at_once([call("lead", X)]), [typed([1], pa.int64())])


# ── Users' functions that fail ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Odd(StatefulFunctionInstance):
    """Does what its parts do."""

    parts: dict[str, Any]

    def __getattribute__(self, name: str) -> Any:
        parts = object.__getattribute__(self, "parts")
        return parts[name] if name in parts else object.__getattribute__(self, name)


@dataclass
class OddFunction:
    name: str
    create_instance: Any


@pytest.fixture
def code(monkeypatch):
    if "function-failed" not in CODES:
        monkeypatch.setitem(CODES, "function-failed", "a user's function failed")
    return "function-failed"


def _raise(*args: Any) -> Any:
    raise KeyError("oh")


OK = {"eval": lambda args: 1, "save": lambda: b"", "load": lambda saved: None}
FAILING = {
    "eval": ({"eval": lambda args: 1 // (args[0] - 3)}, "odd(3, 'three'): ZeroDivisionError", ZeroDivisionError),
    "result": ({"eval": lambda args: args[1] if args[0] == 3 else 1}, "odd(3, 'three'): 'three' is not of type", None),
    "fraction": ({"eval": lambda args: args[0] / 2}, "odd(1, 'one'): 0.5 is not of type int64", None),
    "inside": ({"eval": lambda args: [Decimal(args[0]) / 2]}, "odd(1, 'one'): [Decimal('0.5')] is not of type", None),
    "batch": ({"eval_batch": _raise}, "odd(1, 'one'): eval_batch of 2 rows from here: KeyError('oh')", KeyError),
    "length": ({"eval_batch": lambda args: pa.array([1])}, "eval_batch of 2 rows from here gave 1 values", None),
    "cast": ({"eval_batch": lambda args: args[1]}, "odd(1, 'one'): eval_batch of 2 rows", pa.ArrowInvalid),
    "save": ({"save": _raise}, "odd: save: KeyError('oh')", KeyError),
    "text": ({"save": lambda: "text"}, "odd: save gave 'text', not bytes", None),
    "load": ({"load": _raise}, "odd: load: KeyError('oh')", KeyError),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_function_that_fails_is_named_with_its_arguments(name, code):
    parts, text, cause = FAILING[name]
    function = OddFunction("odd", lambda: Odd(OK | parts))
    one = at_once([StatefulCall("odd", (X, "name"), "o", user=UserFunction(function, pa.int64()))])
    tables = [typed([1, 3], pa.int64()).append_column("name", pa.array(["one", "three"]))]
    with pytest.raises(PanesError) as caught:
        outputs(one, [*tables, *tables])
    assert caught.value.code == code
    assert text in caught.value.message
    assert cause is None or isinstance(caught.value.__cause__, cause)


def test_creating_an_instance_may_fail(code):
    one = at_once([StatefulCall("odd", (), "o", user=UserFunction(OddFunction("odd", _raise), pa.int64()))])
    with pytest.raises(PanesError, match="odd: create_instance: KeyError"):
        outputs(one, [typed([1], pa.int64())])


def test_a_function_without_arguments():
    counts = OddFunction("counts", CountInstance)
    one = at_once([StatefulCall("counts", (), "o", user=UserFunction(counts, pa.int64()))])
    rows = outputs(one, [typed([1, 1], pa.int64()), typed([1], pa.int64(), 2)])
    assert rows["o"].to_pylist() == [1, 2, 3]


class CountInstance(StatefulFunctionInstance):
    def __init__(self):
        self.count = 0

    def eval(self, args):
        assert args == []
        self.count += 1
        return self.count


def test_a_map_is_a_dict_for_a_user():
    type_ = pa.map_(pa.string(), pa.int64())
    gets = OddFunction("gets", lambda: Odd(OK | {"eval": lambda args: args[0]["a"]}))
    one = at_once([StatefulCall("gets", (X,), "o", user=UserFunction(gets, pa.int64()))])
    assert outputs(one, [typed([[("a", 5)]], type_)])["o"].to_pylist() == [5]
