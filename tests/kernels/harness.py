"""Kernels on scripted micro-batches, without Spark: rows, the watermark between them, restarts, and no-data steps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold
from panes.kernels.kernel import Chunk, Clock, Kernel, State, Step, run_step
from panes.spark.blob import from_bytes, gathered, to_bytes

TIME, KEY, TIE, VALUE, BATCH, PLACE = "ts", "k", "tie", "v", "batch", "place"
HAS_TIE = "has tie"  # false for NULL, so that it comes first
ORDER = (TIME, HAS_TIE, TIE, BATCH, PLACE)
MS = 1000
NEVER = 10**15


@dataclass(frozen=True)
class Row:
    """A row of a test: its time in microseconds, its group, its tie-breaking key, and a value."""

    time: int
    key: str | None = None
    tie: int | None = 0
    value: int | None = 1


Batch = Sequence[Sequence[Row]]  # a micro-batch: the rows of each source partition


@dataclass(frozen=True)
class Arrived:
    """A row where it arrived; `order` is its place in the stream: time, key (NULL first), micro-batch, partition,
    position."""

    row: Row
    batch: int
    place: int

    @property
    def order(self) -> tuple[Any, ...]:
        tie = self.row.tie
        return self.row.time, (tie is not None, tie or 0), self.batch, self.place


def arrivals(batch: Batch, number: int) -> list[Arrived]:
    return [
        Arrived(row, number, (partition << 40) + position)
        for partition, rows in enumerate(batch)
        for position, row in enumerate(rows)
    ]


def watermark(rows: Iterable[Row], delay: int) -> int | None:
    """The largest time less the delay, down to whole milliseconds."""
    largest = max((row.time for row in rows), default=None)
    return None if largest is None else (largest - delay) // MS * MS


@dataclass(frozen=True)
class Tick:
    """One step of a script: the rows that came (None in a no-data step) and the watermark that they met."""

    rows: list[Arrived] | None
    watermark: int | None
    flush: bool = False


def script(batches: Sequence[Batch], delay: int, idle: Sequence[bool] = ()) -> list[Tick]:
    """Micro-batches, with a no-data step after each for which `idle` says so, and the flush."""
    ticks: list[Tick] = []
    seen: list[Row] = []
    for number, batch in enumerate(batches):
        ticks.append(Tick(arrivals(batch, number), watermark(seen, delay)))
        seen += [one.row for one in arrivals(batch, number)]
        if number < len(idle) and idle[number]:
            ticks.append(Tick(None, watermark(seen, delay)))
    return [*ticks, Tick(None, watermark(seen, delay), flush=True)]


@dataclass(frozen=True)
class Outcome:
    """What came out in each step, the number of late rows, and the state that was left."""

    steps: list[Counter[Any]]
    late: int
    state: State

    @property
    def rows(self) -> Counter[Any]:
        return sum(self.steps, Counter())


def run(kernel: Kernel, ticks: Sequence[Tick], restarts: Iterable[int] = (), lazy: bool = False) -> Outcome:
    """A kernel over a script. `lazy` leaves out no-data steps that the kernel did not ask for by `wake`."""
    state, wake, late = State(), None, 0
    steps: list[Counter[Any]] = []
    again = set(restarts)
    for number, tick in enumerate(ticks):
        clock = Clock(tick.watermark, tick.flush)
        if lazy and not tick.rows and not tick.flush and not due(wake, tick.watermark):
            steps.append(Counter())
            continue
        step = step_twice(kernel, state, packed(kernel, tick.rows or []), clock)
        check_quiet(kernel, step, clock)
        steps.append(Counter(row for table in step.tables() for row in plain(table)))
        late += step.counters.get("late_rows", 0)
        state, wake = restarted(step.state) if number in again else step.state, step.wake
    return Outcome(steps, late, state)


def rows_of(step: Step) -> pa.Table | None:
    """All that comes out of a step."""
    tables = list(step.tables())
    return pa.concat_tables(tables, promote_options="permissive") if tables else None


def check_lazy(kernel: Kernel, batches: Sequence[Batch], delay: int, quiet: int) -> None:
    """Steps that the kernel did not ask for change nothing, also when no data comes for `quiet` micro-batches."""
    ticks = script([one for batch in batches for one in (batch, *[[]] * quiet)], delay, [True] * 30)
    always, asked = run(kernel, ticks), run(kernel, ticks, lazy=True)
    assert asked.steps == always.steps
    assert asked.late == always.late


def step_twice(kernel: Kernel, state: State, batch: pa.Table | None, clock: Clock) -> Step:
    """A step as two attempts of a task make it, one from memory, one from what was written: they agree in all."""
    one = run_step(kernel, state, batch, clock)
    check_same(one, run_step(kernel, written(state), batch, clock), {chunk.id for chunk in state.chunks})
    return one


def check_same(one: Step, other: Step, known: Set[str] = frozenset()) -> None:
    """The same rows in order, the same ids, facts and content of the chunks that were not known."""
    assert one.state.chunks == other.state.chunks
    assert one.state.next_chunk == other.state.next_chunk
    assert json.dumps(one.state.facts) == json.dumps(other.state.facts)
    assert (one.counters, one.wake) == (other.counters, other.wake)
    for table, same_table in zip(one.tables(), other.tables(), strict=True):
        assert_equal(table, same_table)
    for chunk, same in zip(one.state.chunks, other.state.chunks, strict=True):
        if chunk.id not in known:
            assert_equal(chunk.load(), same.load())


def assert_equal(one: pa.Table | None, other: pa.Table | None) -> None:
    """Row by row; NaN is not equal to itself, but its bytes are, and bytes under a NULL may differ."""
    if one is None or other is None:
        assert one is other
    elif to_bytes(one.combine_chunks()) != to_bytes(other.combine_chunks()):
        assert one.equals(other)


def written(state: State) -> State:
    """The state as another process reads it, chunks only when they are asked for."""
    chunks = [replace(chunk, load=partial(_reread, chunk)) for chunk in state.chunks]
    return replace(state, chunks=tuple(chunks), facts=json.loads(json.dumps(state.facts)))


def _reread(chunk: Chunk) -> pa.Table:
    return from_bytes(to_bytes(chunk.load()))


def due(wake: int | None, watermark: int | None) -> bool:
    return wake is not None and watermark is not None and wake <= watermark


def check_quiet(kernel: Kernel, after: Step, clock: Clock) -> None:
    """A step without data and without progress gives nothing, and leaves every chunk as it is."""
    assert after.wake is None or clock.watermark is None or after.wake > clock.watermark
    again = run_step(kernel, after.state, None, replace(clock, flush=False))
    assert not list(again.tables())
    assert again.counters.get("late_rows", 0) == 0
    assert [chunk.id for chunk in again.state.chunks] == [chunk.id for chunk in after.state.chunks]
    assert again.state.facts == after.state.facts
    assert again.state.next_chunk == after.state.next_chunk
    assert again.wake == after.wake
    check_wake(kernel, after)


def check_wake(kernel: Kernel, after: Step) -> None:
    """Until the watermark is at `wake`, nothing falls due; where there is none, nothing ever does."""
    before = run_step(kernel, after.state, None, Clock(NEVER if after.wake is None else after.wake - 1))
    assert not list(before.tables())
    assert [chunk.id for chunk in before.state.chunks] == [chunk.id for chunk in after.state.chunks]


def restarted(state: State) -> State:
    """The state as another process has read it."""
    return replace(written(state), chunks=tuple(_loaded(chunk) for chunk in written(state).chunks))


def _loaded(chunk: Chunk) -> Chunk:
    table = chunk.load()
    return replace(chunk, load=lambda: table)


def packed(kernel: Kernel, rows: Sequence[Arrived]) -> pa.Table | None:
    """What reaches a shard: the rows of each source partition, packed there, and handed over in any order."""
    blobs = [
        (at << 40, to_bytes(kernel.pack(table([one for one in rows if one.place >> 40 == at]))))
        for at in sorted({one.place >> 40 for one in rows})
    ]
    return gathered(blobs[::-1])


def table(rows: Sequence[Arrived]) -> pa.Table:
    return pa.table(
        {
            TIME: pa.array([one.row.time for one in rows], pa.timestamp("us", "UTC")),
            KEY: pa.array([one.row.key for one in rows], pa.string()),
            HAS_TIE: pa.array([one.row.tie is not None for one in rows]),
            TIE: pa.array([one.row.tie for one in rows], pa.int32()),
            VALUE: pa.array([one.row.value for one in rows], pa.int64()),
            BATCH: pa.array([one.batch for one in rows], pa.int64()),
            PLACE: pa.array([one.place for one in rows], pa.int64()),
        }
    )


def plain(rows: pa.Table | None) -> Iterator[tuple[Any, ...]]:
    """Rows as tuples that can be counted, columns in the order of their names."""
    if rows is not None:
        for row in rows.select(sorted(rows.column_names)).to_pylist():
            yield tuple(tuple(value) if isinstance(value, list) else value for value in row.values())


# Three aggregates that tell everything: how many rows, their sum, and which ones in which order.
FOLDS = (
    Fold(present(accumulator("count", [])), (), None, "a_count"),
    Fold(present(accumulator("sum", ["bigint"])), (VALUE,), None, "a_sum"),
    Fold(present(accumulator("collect_list", ["bigint"])), (VALUE,), None, "a_values"),
)


def aggregated(rows: Sequence[Arrived]) -> tuple[int, int | None, tuple[int, ...]]:
    """What FOLDS say of a group of rows."""
    values = [one.row.value for one in sorted(rows, key=lambda one: one.order) if one.row.value is not None]
    return len(rows), sum(values) if values else None, tuple(values)


# Times are multiples of half a millisecond around 1970, later micro-batches a bit later than earlier ones.
KEYS = st.sampled_from(["a", "b", None])
ROW = st.builds(
    Row,
    st.integers(-40, 40).map(lambda half: half * 500),
    KEYS,
    st.sampled_from([0, 1, None]),
    st.none() | st.integers(-9, 9),
)
DELAYS = st.sampled_from([0, 1 * MS, 10 * MS, 100 * MS])
LENGTHS = st.integers(1, 12).map(lambda ms: ms * MS)
RESTARTS = st.sets(st.integers(0, 12))
IDLE = st.lists(st.booleans(), max_size=6)


@st.composite
def batches(draw: st.DrawFn) -> list[list[list[Row]]]:
    """Micro-batches of rows on some source partitions."""
    drift = draw(st.sampled_from([0, 3 * MS, 10 * MS]))
    drawn = draw(st.lists(st.lists(st.lists(ROW, max_size=4), min_size=1, max_size=3), max_size=6))
    return [
        [[replace(row, time=row.time + number * drift) for row in part] for part in batch]
        for number, batch in enumerate(drawn)
    ]


@st.composite
def punctual(draw: st.DrawFn) -> tuple[list[Row], int]:
    """Rows in order of arrival and the delay with which none of them is late; (time, key, tie) is unique."""
    delay = draw(st.sampled_from([0, 1 * MS, 4 * MS]))
    steps = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8), KEYS, st.integers(-9, 9)), max_size=20))
    rows: list[Row] = []
    largest = -20 * MS
    for number, (forward, back, key, value) in enumerate(steps):
        time = largest + forward * 500 - min(back * 500, delay)
        largest = max(largest, time)
        rows.append(Row(time, key, number, value))
    return rows, delay


def cut(rows: Sequence[Row], cuts: Iterable[int]) -> list[Batch]:
    """The rows as micro-batches that end at `cuts`."""
    ends = [*sorted({one for one in cuts if 0 < one < len(rows)}), len(rows)]
    starts = [0, *ends[:-1]]
    return [[rows[start:end]] for start, end in zip(starts, ends, strict=True)]


CUTS = st.sets(st.integers(1, 20))
