"""What grows, and the operators that must not mind: see `growth`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes import frames
from panes.frames import Bound, Edge, Unit
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.changelog.changes import AFTER, INSERT
from panes.kernels.changelog.normalize import Normalize
from panes.kernels.kernel import Kernel
from panes.kernels.over.calls import AGGREGATE, Frame, OrderKey, OverCall, Values
from panes.kernels.over.incremental import OverIncremental
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.state.release import Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.windows.count import CountWindows
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.kernels.windows.state_machine import StateWindows

SECOND = 1_000_000
HOUR = 3_600 * SECOND
TIME, KEY, VALUE, PLACE, CHANGE, NEVER = "time", "k", "v", "place", "change", "never"
BEGIN = 60 * SECOND  # of what is measured: in the same hour as what comes before
ROWS = 1_000  # of a micro-batch; a second of the stream
RELEASE = Release(TIME, (TIME, KEY, PLACE), waits=True, late=True)
EVERY = "every"


@dataclass
class Feed:
    """Micro-batches of random rows: `before` of them are large ones, which make the state, and not measured."""

    keys: int
    before: int = 0
    large: int = 0
    delay: int = 0  # how many seconds the watermark is behind
    seconds: int = 1  # that a large one spans
    outputs: tuple[str, ...] = ()
    change: str = INSERT
    each: int = ROWS  # rows of a micro-batch that is measured
    shards: int = 0  # only packed, for so many

    def rows(self, number: int) -> pa.Table:
        """A key each in the large ones, one after the other, so that all keys are there."""
        count = self.large if number < 0 else self.each
        random = np.random.default_rng(number + self.before)
        first = (number + self.before) * count
        keys = np.arange(first, first + count) % self.keys if number < 0 else random.integers(0, self.keys, count)
        length = (self.seconds if number < 0 else 1) * SECOND
        times = BEGIN + number * length + np.sort(random.integers(0, length, count))
        return pa.table(
            {
                TIME: pa.array(times, pa.timestamp("us", "UTC")),
                KEY: keys,
                VALUE: random.random(count),
                PLACE: np.arange(count) + ((number + self.before) << 32),
                CHANGE: pa.repeat(pa.scalar(self.change), count),
                NEVER: pa.repeat(pa.scalar(False), count),
                EVERY: pa.repeat(pa.scalar(True), count),
            }
        )

    def watermark(self, number: int) -> int:
        """As Spark has it: what the rows of earlier micro-batches allow."""
        return BEGIN + (number * (self.seconds if number < 0 else 1) - self.delay) * SECOND


@dataclass(frozen=True)
class Case:
    name: str
    grows: str
    sizes: tuple[int, ...]
    make: Callable[[int], tuple[Kernel, Feed]]


def folds(*names: str, distinct: bool = False) -> tuple[Fold, ...]:
    made = [(name, accumulator(name, ["double"], distinct)) for name in names]
    return tuple(Fold(one, (VALUE,), None, name) for name, one in made if one is not None)


def lag() -> StatefulFunctions:
    return StatefulFunctions((KEY,), (StatefulCall("lag", (VALUE,), "lag"),), RELEASE)


def waiting(delay: int) -> tuple[Kernel, Feed]:
    return lag(), Feed(100, before=delay, large=ROWS, delay=delay)


def known(kernel: Kernel) -> Callable[[int], tuple[Kernel, Feed]]:
    """Keys that were seen before."""
    return lambda keys: (kernel, Feed(keys, before=10, large=keys // 10, delay=1))


def hops(count: int) -> tuple[Kernel, Feed]:
    """Ten keys have a row in most slices of the window."""
    kernel = SliceWindows(count * SECOND, SECOND, TIME, (KEY,), Grouping((SLICE, KEY), folds("sum")))
    return kernel, Feed(10, before=10, large=count, seconds=count // 10)


def held(name: str, distinct: bool = False) -> Callable[[int], tuple[Kernel, Feed]]:
    """An aggregate that holds the values of its window."""
    grouping = Grouping((SLICE, KEY), folds(name, distinct=distinct), (TIME, PLACE))
    kernel = SliceWindows(100 * HOUR, 100 * HOUR, TIME, (KEY,), grouping)
    return lambda rows: (kernel, Feed(100, before=10, large=rows // 10))


def held_by(kernel: Kernel) -> Callable[[int], tuple[Kernel, Feed]]:
    """A kernel with an aggregate that holds the values of its windows, of which there are a hundred."""
    return lambda rows: (kernel, Feed(100, before=10, large=rows // 10, delay=1))


def running(name: str) -> Callable[[int], tuple[Kernel, Feed]]:
    """A running sketch."""
    frame: Frame = frames.Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))
    found = accumulator(name, ["double"], constant=0.05, accuracy=100)
    call = OverCall(AGGREGATE, (PLACE,), "about", frame, accumulator=found)
    kernel = OverOnClose((KEY,), (OrderKey(TIME),), (call,), RELEASE)
    return lambda rows: (kernel, Feed(10, before=10, large=rows // 10, delay=1))


def changed(keys: int) -> tuple[Kernel, Feed]:
    kernel = SliceWindows(HOUR, HOUR, TIME, (KEY,), Grouping((SLICE, KEY), folds("sum")), changes=True)
    return kernel, Feed(keys, before=10, large=keys // 10)


def range_sum(keys: int) -> tuple[Kernel, Feed]:
    frame: Frame = frames.Frame(
        Unit.RANGE, Bound(Edge.PRECEDING, Values("low", span=10 * SECOND, shift=-10 * SECOND)), Bound(Edge.CURRENT_ROW)
    )
    call = OverCall(AGGREGATE, (VALUE,), "sum", frame, accumulator=accumulator("sum", ["double"]))
    return OverOnClose((KEY,), (OrderKey(TIME),), (call,), RELEASE), Feed(keys, before=10, large=keys // 10, delay=1)


def expiring(keys: int) -> tuple[Kernel, Feed]:
    """Rows that wait for the next one of their key, or until the key expires: with 1,000,000, a hundred a second."""
    ttl = 10_000
    kernel = OverOnClose((KEY,), (OrderKey(TIME),), (OverCall("lead", (VALUE,), "lead"),), RELEASE, ttl=ttl * SECOND)
    return kernel, Feed(keys, before=10, large=keys // 10, delay=1, seconds=ttl // 10)


def appended_rows(call: OverCall) -> Callable[[int], tuple[Kernel, Feed]]:
    """An OVER that emits changes, in one partition to which rows are appended."""
    order = (OrderKey(TIME),)
    kernel = OverIncremental((), order, (PLACE,), (PLACE,), (call,), (VALUE,), None, (PLACE,))
    return lambda rows: (kernel, Feed(100, before=10, large=rows // 10))


def so_far(edge: Edge, rows: int) -> OverCall:
    frame: Frame = frames.Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(edge, rows))
    return OverCall(AGGREGATE, (VALUE,), "sum", frame, accumulator=accumulator("sum", ["double"]))


def up_to(seconds: int) -> OverCall:
    """The sum of all rows up to some seconds before."""
    away = Values("low", span=seconds * SECOND, shift=-seconds * SECOND)
    frame: Frame = frames.Frame(Unit.RANGE, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.PRECEDING, away))
    return OverCall(AGGREGATE, (VALUE,), "sum", frame, accumulator=accumulator("sum", ["double"]))


FIRST_ROWS: Frame = frames.Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))
APPENDED = {
    "row_number": OverCall("row_number", (), "row_number"),
    "sum up to 1 PRECEDING": so_far(Edge.PRECEDING, 1),
    "sum up to 1 FOLLOWING": so_far(Edge.FOLLOWING, 1),
    "nth_value": OverCall("nth_value", (VALUE,), "nth", FIRST_ROWS, offset=10),
    "nth_value IGNORE NULLS": OverCall("nth_value", (VALUE,), "nth", FIRST_ROWS, ignore_nulls=True, offset=10),
    "lag IGNORE NULLS": OverCall("lag", (VALUE,), "lag", ignore_nulls=True),
    "lag by 3 IGNORE NULLS": OverCall("lag", (VALUE,), "lag", ignore_nulls=True, offset=3),
    "lead IGNORE NULLS": OverCall("lead", (VALUE,), "lead", ignore_nulls=True),
    "sum up to 1 s before": up_to(1),
}


def packed(shards: int) -> tuple[Kernel, Feed]:
    return lag(), Feed(10_000, each=1_000_000, shards=shards)


def latest(keys: int) -> tuple[Kernel, Feed]:
    kernel = Normalize((KEY,), (VALUE,), CHANGE, (PLACE,), sequence=PLACE, time=TIME)
    return kernel, Feed(keys, before=10, large=keys // 10, change=AFTER)


CASES = [
    Case("rows that wait (lag)", "delay in micro-batches", (10, 100, 1_000), waiting),
    Case("lag", "keys", (10_000, 1_000_000), known(lag())),
    Case(
        "session",
        "keys",
        (10_000, 1_000_000),
        known(SessionWindows(HOUR, TIME, (KEY,), Grouping((KEY, NUMBER), folds("sum")))),
    ),
    Case("count", "keys", (10_000, 1_000_000), known(CountWindows(100, None, (KEY,), (), folds("sum"), RELEASE))),
    Case(
        "state window",
        "open windows",
        (10_000, 1_000_000),
        known(StateWindows(EVERY, NEVER, (KEY,), (), folds("sum"), RELEASE)),
    ),
    Case("sum over RANGE 10 s", "keys", (10_000, 1_000_000), range_sum),
    Case("lead with a TTL", "keys", (10_000, 1_000_000), expiring),
    Case("hopping", "size / hop", (10, 86_400), hops),
    Case("collect_list", "rows in the window", (10_000, 1_000_000), held("collect_list")),
    Case("count(DISTINCT)", "rows in the window", (10_000, 1_000_000), held("count", distinct=True)),
    Case(
        "session, collect_list",
        "rows in the sessions",
        (10_000, 1_000_000),
        held_by(SessionWindows(HOUR, TIME, (KEY,), Grouping((KEY, NUMBER), folds("collect_list"), (TIME, PLACE)))),
    ),
    Case(
        "rows of a state window",
        "rows in the windows",
        (10_000, 1_000_000),
        held_by(StateWindows(EVERY, NEVER, (KEY,), (), folds("collect_list"), RELEASE)),
    ),
    Case("running approx_count_distinct", "rows before", (10_000, 1_000_000), running("approx_count_distinct")),
    Case("running percentile_approx", "rows before", (10_000, 1_000_000), running("percentile_approx")),
    Case("EMIT CHANGES", "groups in the window", (10_000, 1_000_000), changed),
    *(
        Case(
            f"{name} … EMIT CHANGES, rows appended", "rows of the partition", (100_000, 10_000_000), appended_rows(call)
        )
        for name, call in APPENDED.items()
    ),
    Case("keep latest by sequence", "keys", (10_000, 1_000_000), latest),
    Case("1,000,000 rows packed for their shards", "shuffle partitions", (2, 200), packed),
]
