"""ROWS frames, lag and lead: the last rows of each partition are kept, and rows wait for those that follow.

lag(x, 2), lead(x)    a  b  c  d         d waits for the next row, and b and c are kept for it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panes.frames import Edge
from panes.functions.over import Reach
from panes.kernels.kernel import Chunk, Clock
from panes.kernels.over.calls import OrderKey, OverCall, columns_of, rows_of
from panes.kernels.over.functions import over_values, qualified
from panes.kernels.over.sorted_rows import Mask, Places, Sorted, gathered, inverse
from panes.kernels.partitions import codes
from panes.kernels.state.carry import SEEN, Carry
from panes.kernels.state.expiry import Expiry

DONE, AT = "row_is_out", "place_in_tail"


@dataclass(frozen=True)
class Tail:
    """`calls` count rows. Where there is a `ttl`, generations of a partition must be told apart by `partition`."""

    partition: tuple[str, ...]
    order_by: tuple[OrderKey, ...]
    calls: tuple[OverCall, ...]
    time: str
    ttl: int | None

    @property
    def carry(self) -> Carry:
        return Carry(self.partition, "tail")

    @property
    def expiry(self) -> Expiry:
        waits = self._ahead() > 0 or any(call.reach is Reach.AHEAD for call in self.calls)
        return Expiry(self.carry, self.ttl, 0 if waits or self.ttl is None else self.ttl // 4)

    def take(
        self, chunks: Sequence[Chunk], facts: Mapping[str, Any], rows: pa.Table | None, clock: Clock
    ) -> tuple[pa.Table | None, tuple[Chunk, ...], dict[str, Any]]:
        """Rows that wait for nothing any more, with their values; what is kept, and the facts about it."""
        own, found = self.carry.own(chunks), dict(facts)
        out: list[pa.Table] = []
        if rows is not None:
            kept = self._followed(self._after(self.carry.find(own, rows), rows), out)
            own, found = self.carry.put(own, kept), self.expiry.added(found, kept)
        if clock.flush:
            self._ended(self.carry.all(own), out)
            found.pop(self.expiry.fact, None)
            return _joined(out), (), found
        gone, own, found = self.expiry.swept(own, found, clock)
        self._ended(gone, out)
        return _joined(out), own, found

    def _after(self, tail: pa.Table | None, rows: pa.Table) -> pa.Table:
        """Kept rows, then those that follow them."""
        rows = rows.append_column(DONE, pa.repeat(pa.scalar(False), rows.num_rows))
        if tail is None or not tail.num_rows:
            return rows
        return pa.concat_tables([_kept_order(tail), rows], promote_options="permissive")

    def _followed(self, rows: pa.Table, out: list[pa.Table]) -> pa.Table:
        """Give out what is complete, and tell what is kept."""
        table, order = self._sorted(rows)
        complete = self._complete(table)
        back = inverse(order)
        self._give(rows, table, back, complete[back], out)
        times = rows[self.time].cast(pa.int64()).to_numpy()[order]
        rows = rows.drop_columns([DONE]).append_column(DONE, pa.array(complete[back]))
        rows = rows.append_column(AT, pa.array(np.arange(rows.num_rows)))
        rows = rows.append_column(SEEN, pa.array(times[table.stop - 1][back]))
        return rows.filter(pa.array(self._keep(table, complete)[back]))

    def _ended(self, rows: pa.Table | None, out: list[pa.Table]) -> None:
        """Give out what still waits in partitions that get no more rows."""
        if rows is not None and rows.num_rows:
            rows = _kept_order(rows)
            table, order = self._sorted(rows)
            self._give(rows, table, inverse(order), np.ones(rows.num_rows, np.bool_), out)

    def _sorted(self, rows: pa.Table) -> tuple[Sorted, Places]:
        read = rows.select(columns_of(self.calls, self.order_by))
        return gathered(read, codes(rows, self.partition), self.order_by)

    def _give(self, rows: pa.Table, table: Sorted, back: Places, complete: Mask, out: list[pa.Table]) -> None:
        """Rows that are complete, if they have not been given yet."""
        now = complete & ~rows[DONE].to_numpy()
        if now.any():
            found, places = rows.filter(pa.array(now)).drop_columns([DONE]), pa.array(back[now])
            for name, column in over_values(table, self.calls).items():
                found = found.append_column(name, column.take(places))
            out.append(found)

    def _complete(self, table: Sorted) -> Mask:
        """Rows that have all the rows behind them that their calls ask for."""
        complete: Mask = table.place + self._ahead() < table.stop
        for call in self.calls:
            if call.reach is Reach.AHEAD and call.ignore_nulls:
                _, before = qualified(table, call)
                complete &= before[table.place + 1] + call.offset <= before[table.stop]
        return complete

    def _keep(self, table: Sorted, complete: Mask) -> Mask:
        """Rows that wait, and those that they or later rows reach."""
        until = table.first + np.bincount(table.part, complete).astype(np.int64)[table.part]
        keep: Mask = table.place >= until - self._back()
        for call in self.calls:
            if call.reach is Reach.BACK and call.ignore_nulls:
                seen, before = qualified(table, call)
                keep[seen] |= (before[table.place] >= before[until] - call.offset)[seen]
        return keep

    def _ahead(self) -> int:
        """How many rows a row waits for."""
        ends = [bound for call in self.calls for bound in call.bounds[1:]]
        rows = [rows_of(end) for end in ends if end.edge is Edge.FOLLOWING]
        return max([0, *rows, *self._offsets(Reach.AHEAD)])

    def _back(self) -> int:
        """How many rows before it a row reaches; of a frame that begins with the partition, only its end is read."""
        frames = [call.frame for call in self.calls if call.frame is not None]
        bounds = [frame.end if frame.start.edge is Edge.UNBOUNDED_PRECEDING else frame.start for frame in frames]
        rows = [rows_of(bound) for bound in bounds if bound.edge is Edge.PRECEDING]
        return max([0, *rows, *self._offsets(Reach.BACK)])

    def _offsets(self, reach: Reach) -> list[int]:
        """How far away the rows are that calls look up; with IGNORE NULLS that is not known."""
        return [call.offset for call in self.calls if call.reach is reach and not call.ignore_nulls]


def _kept_order(tail: pa.Table) -> pa.Table:
    return tail.take(pa.array(np.argsort(tail[AT].to_numpy()))).drop_columns([AT, SEEN])


def _joined(parts: Sequence[pa.Table]) -> pa.Table | None:
    tables = [part for part in parts if part.num_rows]
    return pa.concat_tables(tables, promote_options="permissive") if tables else None
