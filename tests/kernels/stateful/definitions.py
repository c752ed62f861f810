"""Stateful functions in plain Python, a small object for each call and partition; and what their tests share."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
from present import present

from panes.functions.stateful import BUILT_INS, StatefulFunction, StatefulFunctionInstance
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.kernel import Clock, State
from panes.kernels.state.release import Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.stateful.user_functions import UserFunction

from ..harness import KEY, MS, PLACE, TIME, restarted, step_twice

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
    found: list[Any] = []
    for choices in CHOICES:
        value, index = divmod(value, len(choices))
        found.append(choices[index])
    return Cells(*found)


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
        self.call = call
        self.last: dict[int, Any] = {}

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
    VALUES: ClassVar[dict[str, Callable[[list[Any]], Any]]] = {
        "acc_sum": sum,
        "acc_avg": lambda values: sum(values) / len(values) if values else None,
        "acc_min": lambda values: min(values, default=None),
        "acc_max": lambda values: max(values, default=None),
        "acc_count": len,
    }

    def __init__(self, call: StatefulCall):
        self.call, self.counting = call, call.begin is None
        self.values: list[Any] = []

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

    def return_type(self, input_types: Any) -> Any:
        return "bigint"

    def create_instance(self) -> Any:
        return StreakInstance()


class StreakInstance(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.value, self.length = None, 0

    def eval(self, args: Any) -> Any:
        self.length = self.length + 1 if args[0] == self.value else 1
        self.value = args[0]
        return self.length


class Trail(Streak):
    """All values so far, for many rows at once."""

    name = "trail"

    def create_instance(self) -> Any:
        return TrailInstance()


class TrailInstance(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.values: tuple[Any, ...] = ()

    def eval_batch(self, args: Any) -> Any:
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
            self.instance = self.instance or present(self.call.user).function.create_instance()
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
    before: int | None = None
    states: Sequence[Any] = ()
    for time, row in rows:
        if before is None or (ttl is not None and time - before > ttl):
            states = [DEFINITIONS[call.function](call) for call in calls]
        known, before = row._asdict(), time
        for call, state in zip(calls, states, strict=True):
            accepted = call.condition is None or bool(known[call.condition])
            known[call.output] = state.eval(known, [known[name] for name in call.args], accepted)
        yield tuple(known[call.output] for call in calls)


def call(function: str, *args: str, **more: Any) -> StatefulCall:
    output = "_".join([function, *args, *(f"{name}_{value}" for name, value in more.items())])
    aggregate = {row.name: row.accumulates for row in BUILT_INS}.get(function)
    if aggregate is not None:
        more["accumulator"] = accumulator(aggregate, ["bigint"])
    if function == "streak":
        more["user"] = UserFunction(Streak(), pa.int64())
    if function == "trail":
        more["user"] = UserFunction(Trail(), pa.string())
    return StatefulCall(function, args, output, **more)


LAG = call("lag", X)
DAY = dt.date(1969, 12, 31)
NOON = dt.datetime(1969, 12, 31, 12, tzinfo=dt.UTC)
STRUCT = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float64()))])
NAN = float("nan")
TYPES: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
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
