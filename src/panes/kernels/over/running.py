"""What a row has from all rows before it: its number, its ranks, and running aggregates from UNBOUNDED PRECEDING.

    v             1  2 | 3  4          two micro-batches
    sum so far    1  3 | 6  10         the second begins with what the first has left: 3

One row per partition is carried. A frame UNBOUNDED PRECEDING .. e is the running value at the frame's last row, so that
whatever `e` is, nothing but that row is looked up later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np
import pyarrow as pa

from panes.kernels.aggregates.accumulator import Accumulator
from panes.kernels.duck import query, quoted
from panes.kernels.kernel import Chunk, Clock
from panes.kernels.over.calls import OrderKey, OverCall, columns_of
from panes.kernels.over.frame_folds import PLACE, evaluated, folded
from panes.kernels.over.sketched import is_sketched, running_sketch
from panes.kernels.over.sorted_rows import Places, Sorted, first_of, gathered, inverse, numbered
from panes.kernels.partitions import codes
from panes.kernels.sketches.lists import Column
from panes.kernels.state.carry import SEEN, Carry
from panes.kernels.state.expiry import GENERATION, Expiry, gaps

NUMBER, RANK, DENSE = "row_number_so_far", "rank_so_far", "dense_rank_so_far"
CARRIED = "carried_row"
RANKS = {"row_number": NUMBER, "rank": RANK, "dense_rank": DENSE}  # the column of each


@dataclass(frozen=True)
class Running:
    """`calls` are aggregates whose frames begin with the partition; the stage gives their value up to each row.

    GENERATION is the time of a partition's first row. With a `ttl` a partition that has expired begins another one.
    """

    partition: tuple[str, ...]
    order_by: tuple[OrderKey, ...]
    calls: tuple[OverCall, ...]
    time: str
    ttl: int | None

    @property
    def carry(self) -> Carry:
        return Carry(self.partition, "running", holds_values=any(map(is_sketched, self.calls)))

    @property
    def expiry(self) -> Expiry:
        return Expiry(self.carry, self.ttl, 0 if self.ttl is None else self.ttl // 4)

    def take(
        self, chunks: Sequence[Chunk], facts: Mapping[str, Any], rows: pa.Table | None, clock: Clock
    ) -> tuple[pa.Table | None, tuple[Chunk, ...], dict[str, Any]]:
        """Released rows, in order, with their numbers and running values; what is carried, and the facts about it."""
        own, found = self.carry.own(chunks), dict(facts)
        if rows is not None:
            rows, last = self._numbered(own, rows)
            own, found = self.carry.put(own, last), self.expiry.added(found, last)
        if clock.flush:
            return rows, (), {name: value for name, value in found.items() if name != self.expiry.fact}
        _, own, found = self.expiry.swept(own, found, clock)
        return rows, own, found

    def _numbered(self, chunks: Sequence[Chunk], rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Rows with what they have from those before them; and what is carried of their partitions."""
        known = self.carry.find(chunks, rows)
        read = rows.select([*dict.fromkeys([self.time, *self._read(rows)])])
        table, order = gathered(read, codes(rows, self.partition), self.order_by)
        time = table.rows[self.time].cast(pa.int64()).to_numpy()
        generation, carried = self._generations(table, time, known, self._carried(table, known))
        first = first_of(generation)
        numbers = {
            GENERATION: self._continued(time[first], known, GENERATION, carried),
            NUMBER: table.place - first + 1 + self._continued(0, known, NUMBER, carried),
            DENSE: table.peer - table.peer[first] + 1 + self._continued(0, known, DENSE, carried),
        }
        numbers[RANK] = numbers[NUMBER][table.peers_first]
        table = table.having({name: pa.array(values) for name, values in numbers.items()})
        last = np.flatnonzero(table.place == table.stop - 1)
        states, table = self._running(table, first, known, carried, last)
        back = pa.array(inverse(order))
        for name in (*numbers, *(call.output for call in self.calls)):
            rows = rows.append_column(name, table.rows[name].take(back))
        return rows, self._last(table, states, time, last)

    def _read(self, rows: pa.Table) -> list[str]:
        wanted = [*self.partition, *columns_of(self.calls, self.order_by)]
        return [name for name in wanted if name in rows.column_names]

    def _carried(self, table: Sorted, known: pa.Table | None) -> Places:
        """For each row the place of its partition's row in `known`, or -1."""
        heads = np.unique(table.first)
        found = np.full(len(heads), -1)
        if known is not None and known.num_rows:
            if self.partition:
                some = [table.rows.select(self.partition).take(pa.array(heads)), known.select(self.partition)]
                both = codes(pa.concat_tables(some, promote_options="permissive"), self.partition)
            else:
                both = np.zeros(2, np.int64)
            place = np.full(int(both.max()) + 1, -1)
            place[both[len(heads) :]] = np.arange(known.num_rows)
            found = place[both[: len(heads)]]
        return found[table.part]

    def _generations(
        self, table: Sorted, time: Places, known: pa.Table | None, carried: Places
    ) -> tuple[Places, Places]:
        """A number for each generation of a partition; and the carried rows without those that have expired by then."""
        if self.ttl is None:
            return table.part, carried
        heads = np.flatnonzero(table.place == table.first)
        begins = gaps(time, heads, self._continued(time, known, SEEN, carried)[heads], self.ttl)
        begun: Places = np.cumsum(begins)
        before = (begun - begins)[table.first]
        return numbered([table.part, begun]), np.where(begun > before, -1, carried)

    def _continued(self, otherwise: Places | int, known: pa.Table | None, name: str, carried: Places) -> Places:
        """What is carried in column `name`, for each row."""
        if known is None or not known.num_rows:
            return np.broadcast_to(np.asarray(otherwise), carried.shape)
        return np.where(carried >= 0, known[name].to_numpy()[carried], otherwise)

    def _running(
        self, table: Sorted, first: Places, known: pa.Table | None, carried: Places, last: Places
    ) -> tuple[dict[str, Column], Sorted]:
        """The accumulators at the last rows, and the rows with their values; a call may read that of an earlier one."""
        states: dict[str, Column] = {}
        number = table.rows[NUMBER].to_numpy()
        for calls in _waves([call for call in self.calls if not is_sketched(call)]):
            fresh = folded(table, calls, [(first, table.place + 1)] * len(calls), number)
            if known is not None and known.num_rows and (carried >= 0).any():
                fresh = _merged(fresh, known, carried, calls)
            values = evaluated(fresh, calls)
            states |= {call.output: fresh[call.output].take(pa.array(last)) for call in calls}
            table = table.having({call.output: values[call.output] for call in calls})
        for call in self.calls:
            if is_sketched(call):
                heads = first == table.place
                before = None if known is None or call.output not in known.column_names else known[call.output]
                values, ends = running_sketch(table, call, heads, before, carried[heads])
                states[call.output] = ends.take(pa.array(heads.cumsum()[last] - 1))
                table = table.having({call.output: values})
        return states, table

    def _last(self, table: Sorted, states: Mapping[str, Column], time: Places, last: Places) -> pa.Table:
        """What is carried: the last row of each partition."""
        rows = (
            table.rows.select([*self.partition, GENERATION, NUMBER, DENSE])
            .append_column(SEEN, pa.array(time))
            .take(pa.array(last))
        )
        for call in self.calls:
            rows = rows.append_column(call.output, states[call.output])
        return rows


def _waves(calls: Sequence[OverCall]) -> list[list[OverCall]]:
    """Calls that read no other's value, then those that do."""
    outputs = {call.output for call in calls}
    first = [call for call in calls if not outputs & set(call.args)]
    return [wave for wave in (first, [call for call in calls if call not in first]) if wave]


def _merged(states: pa.Table, known: pa.Table, carried: Places, calls: Sequence[OverCall]) -> pa.Table:
    """Accumulators of the new rows, each merged with what was carried."""
    names = [quoted(call.output) for call in calls]
    merges = [f"{_merge(call.accumulator, name)} AS {name}" for call, name in zip(calls, names, strict=True)]
    sides = ", ".join(f"k.{name}" for name in names)
    merged = query(
        f"SELECT {PLACE}, {', '.join(merges)} FROM ("
        f"SELECT {PLACE}, {', '.join(names)} FROM states UNION ALL "
        f"SELECT s.{PLACE}, {sides} FROM states s JOIN known k ON s.{CARRIED} = k.{CARRIED}) GROUP BY {PLACE}",
        states=states.append_column(CARRIED, pa.array(carried)),
        known=known.append_column(CARRIED, pa.array(np.arange(known.num_rows))),
    )
    return merged.take(pa.array(np.argsort(merged[PLACE].to_numpy())))


def _merge(accumulator: Accumulator | None, name: str) -> str:
    assert accumulator is not None
    return Template(accumulator.merge).substitute(s=name)
