"""Stateful functions: each released row gets values that depend on the rows of its partition before it.

    partition  a  b  a  a  b
    v          1  2  3  4  5
    lag(v)     .  .  1  3  2

Rows are sorted by partition once; after that a call is index arithmetic over the sorted rows, continued from one carry
row per partition: "the value before" is a row's number, or the number of a kept value, and one `take` fetches all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, takewhile
from string import Template
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.accumulators import Accumulator
from panes.kernels.duck import query
from panes.kernels.kernel import Chunk, Clock, State, Step, seconds
from panes.kernels.partitions import Codes, codes
from panes.kernels.state.carry import SEEN, Carry
from panes.kernels.state.release import WAITING, Release
from panes.kernels.stateful.user_functions import UserFunction

LAST = "time_of_last_row"  # microseconds; SEEN is the largest time, which differs where rows come in any order
PLACE = "place_of_row"

Flags = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class StatefulCall:
    """One call: `args`, `condition`, `default`, `begin` and `reset` are columns, also outputs of earlier calls.

    `ignore_nulls` is IGNORE NULLS of lag and `ignore_null` of changed_col and had_changed. acc_sum, acc_avg, acc_min
    and acc_max need the accumulator of their aggregate; a user's function is in `user`.
    """

    function: str
    args: tuple[str, ...]
    output: str
    condition: str | None = None
    ignore_nulls: bool = False
    offset: int = 1
    default: str | None = None
    begin: str | None = None
    reset: str | None = None
    accumulator: Accumulator | None = None
    user: UserFunction | None = None

    def kept(self, carry: pa.Table | None) -> list[pa.Array]:
        """What was kept for this call: a row for each row of the carry; nothing before the first."""
        if carry is None:
            return []
        known = set(carry.column_names)
        names = takewhile(known.__contains__, (self.column(number) for number in count()))
        return [_flat(carry[name]) for name in names]

    def column(self, number: int) -> str:
        return f"{self.output} {number}"


@dataclass(frozen=True)
class StatefulFunctions:
    """The kernel. Calls are evaluated in their order; `ttl` in microseconds.

    The kernel never holds more than it must: a partition is forgotten by the times of its own rows, and chunks of the
    carry that the watermark has left behind by more than the ttl are dropped, since nobody can ask for them again.
    """

    partition: tuple[str, ...]
    calls: tuple[StatefulCall, ...]
    release: Release
    ttl: int | None = None

    def depends_on(self) -> dict[str, Any]:
        columns = {"partition by": sorted(self.partition), **self.release.depends_on()}
        return {"state": "stateful functions 1", **columns, "state_ttl": seconds(self.ttl)}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Compute all calls for the rows that are released now."""
        waiting = [chunk for chunk in state.chunks if chunk.kind == WAITING]
        rows, still_waiting, late = self.release.take(waiting, batch, clock)
        kept = self._carry.own(state.chunks)
        if rows is not None:
            rows, changed = self._computed(rows.combine_chunks(), kept, clock)
            kept = self._put(kept, changed, clock) if changed.num_columns else kept
        kept = () if clock.flush else tuple(chunk for chunk in kept if not self._is_gone(chunk.high, clock))
        counters = {
            "late_rows": late,
            "rows_out": rows.num_rows if rows is not None else 0,
            "groups": sum(chunk.rows for chunk in kept),
            "buffered_rows": sum(chunk.rows for chunk in still_waiting),
            "expired_rows": 0,
        }
        return Step(State((*still_waiting, *kept), state.facts), rows, counters, self._wake(still_waiting, kept))

    @property
    def _carry(self) -> Carry:
        return Carry(self.partition)

    def _computed(self, rows: pa.Table, kept: tuple[Chunk, ...], clock: Clock) -> tuple[pa.Table, pa.Table]:
        """The rows with a column per call, and the carry rows of their partitions."""
        numbers = _numbers(rows, self.partition)
        order = _stable_order(numbers)
        first = _starts(numbers[order])
        partitions = rows.select(self.partition).take(order[first]) if self.partition else rows.slice(0, 1)
        carry, carried = self._known(kept, partitions, clock)
        lives = self._lives(rows, order, first, carry, carried)
        changed = {name: partitions[name] for name in self.partition}
        for call in self.calls:
            values, after = evaluate(call, rows, lives, call.kept(carry))
            rows = rows.append_column(call.output, values)
            changed |= {call.column(number): column for number, column in enumerate(after)}
        if self.ttl is not None:
            changed |= self._seen(rows, lives, carry, carried)
        return rows, pa.table(changed)

    def _known(self, kept: tuple[Chunk, ...], partitions: pa.Table, clock: Clock) -> tuple[pa.Table | None, Codes]:
        """The carry rows of partitions, and each partition's among them, -1 if it has none.

        Where rows come in any order, the watermark alone says what is forgotten.
        """
        carry, carried = self._carry.look_up(kept, partitions)
        if carry is None or self.release.waits or self.ttl is None or clock.watermark is None:
            return carry, carried
        gone = np.append(carry[SEEN].to_numpy() < clock.watermark - self.ttl, True)
        return carry, np.where(gone[carried], -1, carried)

    def _lives(self, rows: pa.Table, order: Codes, first: Codes, carry: pa.Table | None, carried: Codes) -> Lives:
        """Where each partition begins, and where it had been forgotten and begins again."""
        sizes = np.diff(np.append(first, len(order)))
        ends = first + sizes - 1
        if self.ttl is None:
            return Lives(order, np.repeat(first, sizes), np.repeat(carried, sizes), ends)
        times = self._times(rows)[order]
        before = np.concatenate([times[:1], times[:-1]])
        before[first] = np.append(carry[LAST].to_numpy(), 0)[carried] if carry is not None else 0
        forgotten = times - before > self.ttl
        carried = np.where(forgotten[first], -1, carried)
        forgotten[first] = True
        starts = np.maximum.accumulate(np.where(forgotten, np.arange(len(order)), 0))
        return Lives(order, starts, np.where(starts == np.repeat(first, sizes), np.repeat(carried, sizes), -1), ends)

    def _seen(self, rows: pa.Table, lives: Lives, carry: pa.Table | None, carried: Codes) -> dict[str, Codes]:
        """The time of each partition's last row, and the largest of its times."""
        times = self._times(rows)[lives.order]
        seen = np.maximum.reduceat(times, np.append(0, lives.ends[:-1] + 1))
        if carry is not None:
            seen = np.where(carried >= 0, np.maximum(seen, carry[SEEN].to_numpy()[carried]), seen)
        return {LAST: times[lives.ends], SEEN: seen}

    def _times(self, rows: pa.Table) -> Codes:
        times: Codes = rows[self.release.time].cast(pa.int64()).to_numpy()
        return times

    def _put(self, kept: tuple[Chunk, ...], changed: pa.Table, clock: Clock) -> tuple[Chunk, ...]:
        """The carry with changed rows; chunks that are rewritten lose what is forgotten."""
        own = {chunk.id: chunk for chunk in kept}
        put = self._carry.put([self._pruned(chunk, clock) for chunk in kept], self._remaining(changed, clock))
        return tuple(own.get(chunk.id, chunk) for chunk in put)

    def _pruned(self, chunk: Chunk, clock: Clock) -> Chunk:
        return replace(chunk, load=lambda: self._remaining(chunk.load(), clock))

    def _remaining(self, carry: pa.Table, clock: Clock) -> pa.Table:
        if self.ttl is None or clock.watermark is None:
            return carry
        return carry.filter(pc.greater_equal(carry[SEEN], clock.watermark - self.ttl))

    def _is_gone(self, seen: int, clock: Clock) -> bool:
        """Whether every row to come finds a partition forgotten that was seen last at that time."""
        return self.ttl is not None and clock.watermark is not None and seen < clock.watermark - self.ttl

    def _wake(self, waiting: Sequence[Chunk], kept: Sequence[Chunk]) -> int | None:
        moments = [chunk.low + 1 for chunk in waiting]
        moments += [chunk.high + self.ttl + 1 for chunk in kept] if self.ttl is not None else []
        return min(moments, default=None)


# ── Partitions and their lives ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Lives:
    """Rows sorted by partition. A life is a run of rows of one partition in which it was not forgotten.

    order    each place's row: rows[order] is sorted
    start    each place's first place of its life
    carried  each place's carry row that its life continues, -1 if it began here
    ends     each partition's last place
    """

    order: Codes
    start: Codes
    carried: Codes
    ends: Codes

    @cached_property
    def places(self) -> Codes:
        return np.arange(len(self.order))

    @cached_property
    def place_of(self) -> Codes:
        """Each row's place."""
        return self.by_row(self.places)

    def flags(self, rows: pa.Table, column: str | None, otherwise: bool) -> Flags:
        """A condition at each place; NULL is false."""
        if column is None:
            return np.full(len(self.order), otherwise)
        flags: Flags = pc.fill_null(_flat(rows[column]), False).to_numpy(zero_copy_only=False)[self.order]
        return flags

    def given(self, values: pa.Array) -> Flags:
        """At each place, whether there is a value."""
        if not values.null_count:
            return np.ones(len(self.order), bool)
        given: Flags = values.is_valid().to_numpy(zero_copy_only=False)[self.order]
        return given

    def by_row(self, at_places: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """What stands at places, in the order of the rows."""
        found = np.empty_like(at_places)
        found[self.order] = at_places
        return found


def _numbers(rows: pa.Table, by: Sequence[str]) -> Codes:
    """A number from 0 for each row, equal where the partition is; an integer key is nearly one, without any hashing."""
    if len(by) == 1 and pa.types.is_integer(rows[by[0]].type) and not rows[by[0]].null_count:
        keys: Codes = rows[by[0]].to_numpy().astype(np.int64)
        low, high = int(keys.min()), int(keys.max())
        if high - low < 1 << 48:
            return keys - low
    return codes(rows, by)


def _stable_order(numbers: Codes) -> Codes:
    """The order that sorts numbers from 0, stably: sixteen bits at a time, which NumPy sorts without comparing."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    most, shift = int(numbers.max(initial=0)), 16
    while most >> shift:
        order = order[np.argsort((numbers[order] >> shift).astype(np.uint16), kind="stable")]
        shift += 16
    return order


def _starts(ordered: Codes) -> Codes:
    """Where runs of equal numbers begin."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))


# ── The functions ─────────────────────────────────────────────────────────────────────────────────────────────────


def evaluate(call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
    """The values of a call, in the order of the rows; and for each partition what is kept of it."""
    if call.user is not None:
        return user(call, call.user, rows, lives, kept)
    match call.function:
        case "lag":
            return lag(call, rows, lives, kept)
        case "latest":
            return latest(call, rows, lives, kept)
        case "changed_col":
            return changed_col(call, rows, lives, kept)
        case "had_changed":
            return had_changed(call, rows, lives, kept)
        case "row_number":
            return row_number(call, rows, lives, kept)
        case "acc_count":
            return acc_count(call, rows, lives, kept)
        case "acc_sum" | "acc_avg" | "acc_min" | "acc_max":
            return accumulate(call, rows, lives, kept)
    raise ValueError(f"no stateful function {call.function}")


def lag(call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
    """The n-th accepted value before a row, whether the row itself is accepted or not."""
    values = _flat(rows[call.args[0]])
    if call.offset == 0:
        return values, []
    accepted = lives.flags(rows, call.condition, True)
    accepted = accepted & lives.given(values) if call.ignore_nulls else accepted
    memory = Memory.of(lives, values, accepted, kept)
    found = lives.by_row(memory.nth(call.offset, memory.before))
    return _picked(memory.pool, found, rows, call.default), [memory.last(call.offset)]


def latest(call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
    """The last accepted value that is not NULL, this row's included."""
    values = _flat(rows[call.args[0]])
    accepted = lives.flags(rows, call.condition, True) & lives.given(values)
    memory = Memory.of(lives, values, accepted, kept)
    found = lives.by_row(memory.nth(1, memory.before + accepted))
    return _picked(memory.pool, found, rows, call.default), [memory.last(1)]


def changed_col(
    call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]
) -> tuple[pa.Array, list[pa.Array]]:
    """The value where it differs from the last one."""
    values = _flat(rows[call.args[0]])
    changed, last = _changes(call, values, lives, lives.flags(rows, call.condition, True), kept)
    row_numbers = pa.array(np.arange(len(values)), mask=~lives.by_row(changed))
    return values.take(row_numbers), [last]


def had_changed(
    call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]
) -> tuple[pa.Array, list[pa.Array]]:
    """Whether any argument differs from its last value."""
    condition = lives.flags(rows, call.condition, True)
    any_changed: Flags = np.zeros(len(condition), bool)
    after = []
    for number, name in enumerate(call.args):
        changed, last = _changes(call, _flat(rows[name]), lives, condition, kept[number : number + 1])
        any_changed |= changed
        after.append(last)
    return pa.array(lives.by_row(any_changed)), after


def row_number(
    call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]
) -> tuple[pa.Array, list[pa.Array]]:
    """How many rows were accepted, this one included; NULL before the first."""
    accepted = lives.flags(rows, call.condition, True)
    numbers = _counted(accepted, lives.start) + _at(kept[0], lives.carried) if kept else _counted(accepted, lives.start)
    by_row = lives.by_row(numbers)
    return pa.array(by_row, mask=by_row == 0), [pa.array(numbers[lives.ends])]


def acc_count(
    call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]
) -> tuple[pa.Array, list[pa.Array]]:
    """How many values were counted since begin."""
    span = Span.of(call, rows, lives, kept)
    numbers = _counted(span.counted, span.start)
    if kept:
        numbers = numbers + np.where(span.inherits, _at(kept[0], lives.carried), 0)
    after = np.where(span.cleared, 0, numbers[lives.ends])
    return pa.array(lives.by_row(numbers)), [pa.array(after), pa.array(span.goes_on)]


def accumulate(
    call: StatefulCall, rows: pa.Table, lives: Lives, kept: list[pa.Array]
) -> tuple[pa.Array, list[pa.Array]]:
    """The running value of an aggregate: the fold of the new rows, merged with what was kept."""
    assert call.accumulator is not None
    values = _flat(rows[call.args[0]])
    span = Span.of(call, rows, lives, kept)
    table = pa.table(
        {
            "place": lives.places,
            "start": span.start,
            "counted": span.counted,
            "x": _for_duck(values).take(pa.array(lives.order)),
        }
    )
    if kept:
        carried = np.where(span.inherits, lives.carried, -1)
        table = table.append_column("kept", kept[0].take(pa.array(carried, mask=carried < 0)))
    found = query(_running_sql(call.accumulator, call.function, bool(kept)), rows=table).combine_chunks()
    states, running = _flat(found["state"]), _flat(found["value"])
    ends = pa.array(lives.ends, mask=span.cleared)
    result = running.take(pa.array(lives.place_of))
    if call.function in ("acc_min", "acc_max"):
        result = result.cast(values.type)
    return result, [states.take(ends), pa.array(span.goes_on)]


def _running_sql(accumulator: Accumulator, function: str, merges: bool) -> str:
    """A state and a value for each row: a window over the rows, and a group of two with what was kept."""
    over = "OVER (PARTITION BY start ORDER BY place ROWS UNBOUNDED PRECEDING)"
    fold = Template(accumulator.fold).substitute(x="x", w=f"FILTER (WHERE counted) {over}", o="place")
    states = f"SELECT place, {fold} AS state FROM rows"
    if merges:
        merge = Template(accumulator.merge).substitute(s="state")
        both = f"{states} UNION ALL SELECT place, kept AS state FROM rows WHERE kept IS NOT NULL"
        states = f"SELECT place, {merge} AS state FROM ({both}) GROUP BY place"
    value = Template(accumulator.evaluate).substitute(s="state")
    value = f"coalesce({value}, '0')" if function == "acc_sum" else value
    return f"SELECT state, {value} AS value FROM ({states}) ORDER BY place"


def user(
    call: StatefulCall, function: UserFunction, rows: pa.Table, lives: Lives, kept: list[pa.Array]
) -> tuple[pa.Array, list[pa.Array]]:
    """A user's function over the accepted rows of each life; elsewhere its last value stands."""
    accepted = np.flatnonzero(lives.flags(rows, call.condition, True))
    args = [_flat(rows[name]).take(pa.array(lives.order[accepted])) for name in call.args]
    starts = _starts(lives.start[accepted]) if len(accepted) else accepted
    stops = np.append(starts[1:], len(accepted)) if len(accepted) else accepted
    saved_before = kept[0] if kept else pa.nulls(0, pa.binary())
    parts, saved = [], []
    for start, stop, carried in zip(starts, stops, lives.carried[accepted[starts]], strict=True):
        before = saved_before[int(carried)].as_py() if carried >= 0 else None
        values, after = function.run(before, [arg.slice(start, stop - start) for arg in args], int(stop - start))
        parts.append(values)
        saved.append(after)
    values = pa.concat_arrays(parts) if parts else pa.nulls(0, function.type)
    return _standing(lives, accepted, values, pa.array(saved, pa.binary()), kept)


def _standing(
    lives: Lives, accepted: Codes, values: pa.Array, saved: pa.Array, kept: list[pa.Array]
) -> tuple[pa.Array, list[pa.Array]]:
    """Each place's last value, and of each partition what its last life has left; `saved` has one for each life."""
    calls = np.searchsorted(accepted, lives.places, side="right")
    new = calls > np.searchsorted(accepted, lives.start, side="left")
    begun = np.append(0, np.cumsum(np.diff(lives.start[accepted], prepend=-1) > 0))[calls]
    value = np.where(new, calls - 1, np.where(lives.carried >= 0, len(values) + lives.carried, -1))
    state = np.where(new, begun - 1, np.where(lives.carried >= 0, len(saved) + lives.carried, -1))[lives.ends]
    last = pa.concat_arrays([values, *kept[1:]]).take(pa.array(value, mask=value < 0))
    states = pa.concat_arrays([saved, *kept[:1]]).take(pa.array(state, mask=state < 0))
    return last.take(pa.array(lives.place_of)), [states, last.take(pa.array(lives.ends))]


# ── What they are made of ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Memory:
    """The accepted values of each life, one after the other: first those that were kept, then those of rows.

    `pool` has the values of all rows, then all kept values; a value is known by its number in there.
    """

    lives: Lives
    pool: pa.Array
    accepted: Codes  # the places that are accepted
    before: Codes  # at each place, how many of them come before it
    sizes: Codes  # of each carry row, how many values were kept
    stops: Codes  # and the number in the pool after the last of them

    @staticmethod
    def of(lives: Lives, values: pa.Array, accepted: Flags, kept: Sequence[pa.ListArray]) -> Memory:
        total = np.cumsum(accepted)
        sizes = kept[0].value_lengths().to_numpy() if kept else lives.places[:0]
        stops = len(values) + np.cumsum(sizes)
        pool = pa.concat_arrays([values, kept[0].flatten().cast(values.type)]) if kept else values
        # One more at the end, where the numbers -1 and "none" find something harmless.
        ends = [np.append(array, 0) for array in (np.flatnonzero(accepted), sizes, stops)]
        return Memory(lives, pool, ends[0], total - accepted, ends[1], ends[2])

    def nth(self, n: int, known: Codes) -> Codes:
        """At each place the n-th last value of its life, where `known` accepted rows are known; -1 if there is none."""
        inside = known - self.before[self.lives.start]
        missing = n - inside
        carried = self.lives.carried
        old = np.where(missing <= self.sizes[carried], self.stops[carried] - missing, -1)
        return np.where(missing <= 0, self.lives.order[self.accepted[np.maximum(known - n, 0)]], old)

    def last(self, n: int) -> pa.ListArray:
        """The last n values of each partition, the latest last."""
        ends = self.lives.ends
        known = np.append(self.before, len(self.accepted) - 1)[ends + 1]
        new = np.minimum(known - self.before[self.lives.start[ends]], n)
        carried = self.lives.carried[ends]
        old = np.minimum(self.sizes[carried], n - new)
        offsets = np.append(0, np.cumsum(old + new))
        of = np.repeat(np.arange(len(ends)), old + new)
        back = offsets[of + 1] - np.arange(offsets[-1])  # 1 is the latest
        row = self.lives.order[self.accepted[np.maximum(known[of] - back, 0)]]
        numbers = np.where(back <= new[of], row, (self.stops[carried] + new)[of] - back)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), self.pool.take(pa.array(numbers)))


@dataclass(frozen=True)
class Span:
    """Between begin and reset: from where a running value runs, and what counts.

    start     each place's first place of its span: its life's first, or the one after a reset
    inherits  whether the span goes on from the carry
    counted   whether a place counts
    cleared   for each partition, whether its last row cleared the value
    goes_on   for each partition, whether the next row counts without begin
    """

    start: Codes
    inherits: Flags
    counted: Flags
    cleared: Flags
    goes_on: Flags

    @staticmethod
    def of(call: StatefulCall, rows: pa.Table, lives: Lives, kept: Sequence[pa.Array]) -> Span:
        reset = lives.flags(rows, call.reset, False)
        begin = lives.flags(rows, call.begin, True)
        after_reset = np.append(0, np.maximum.accumulate(np.where(reset, lives.places + 1, 0))[:-1])
        start = np.maximum(lives.start, after_reset)
        inherits = (start == lives.start) & (lives.carried >= 0)
        begun = np.maximum.accumulate(np.where(begin, lives.places, -1)) >= start
        if kept:
            begun = begun | (inherits & _at(kept[-1].cast(pa.int8()), lives.carried).astype(bool))
        counted = begun & lives.flags(rows, call.condition, True)
        counted = counted & lives.given(_flat(rows[call.args[0]])) if call.args else counted
        cleared = reset[lives.ends]
        return Span(start, inherits, counted, cleared, begun[lives.ends] & ~cleared)


def _changes(
    call: StatefulCall, values: pa.Array, lives: Lives, condition: Flags, kept: Sequence[pa.Array]
) -> tuple[Flags, pa.ListArray]:
    """The places whose value differs from the last; and each partition's last value."""
    accepted = condition & lives.given(values) if call.ignore_nulls else condition
    memory = Memory.of(lives, values, accepted, kept)
    places = memory.accepted[:-1]
    last = memory.nth(1, memory.before)[places]
    changed: Flags = np.zeros(len(accepted), bool)
    changed[places] = (last < 0) | _differ(
        values.take(pa.array(lives.order[places])), memory.pool.take(pa.array(last, mask=last < 0))
    )
    return changed, memory.last(1)


def _differ(left: pa.Array, right: pa.Array) -> Flags:
    """Where two arrays differ; NULL equals NULL, NaN equals NaN, 0.0 equals -0.0."""
    if pa.types.is_nested(left.type):
        sql = "SELECT l IS DISTINCT FROM r AS differ FROM parts ORDER BY place"
        found = query(sql, parts=pa.table({"l": left, "r": right, "place": np.arange(len(left))}))
        return _numpy(found["differ"].combine_chunks())
    if pa.types.is_null(left.type):
        return np.zeros(len(left), bool)
    nulls = _numpy(left.is_null()) != _numpy(right.is_null())
    different: Flags = nulls | _numpy(pc.fill_null(pc.not_equal(left, right), False))
    if pa.types.is_floating(left.type):
        different &= ~_numpy(pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    return different


def _picked(pool: pa.Array, numbers: Codes, rows: pa.Table, default: str | None) -> pa.Array:
    """Values by number; where there is none, the row's default or NULL."""
    if default is None:
        return pool.take(pa.array(numbers, mask=numbers < 0))
    both = pa.concat_arrays([pool, _flat(rows[default]).cast(pool.type)])
    return both.take(pa.array(np.where(numbers < 0, len(pool) + np.arange(len(numbers)), numbers)))


def _counted(flags: Flags, start: Codes) -> Codes:
    """At each place, how many places since `start` have the flag, this one included."""
    total = np.cumsum(flags)
    return total - (total - flags)[start]


def _at(kept: pa.Array, carried: Codes) -> Codes:
    """Kept numbers at each place, 0 where nothing is carried."""
    return np.append(kept.to_numpy(zero_copy_only=False), 0)[carried]


def _for_duck(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64()) if pa.types.is_duration(values.type) else values


def _flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def _numpy(flags: pa.Array) -> Flags:
    found: Flags = flags.to_numpy(zero_copy_only=False)
    return found
