"""What `state_ttl` makes of a partition: a row more than the ttl after the row before begins a new generation.

    times, ttl 10     1  5  9  |  25  30         18 comes: 9, 18, 25 are near enough, and the two are one again
    generation        1  1  1  |  25  25

Rows may come out of order, so a generation can grow at both ends, and two can become one: then the rows of the later
one move. It is called after a time that it had when it began. Once the watermark is more than the ttl past its last
row, no row that is in time can find it any more: it has expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import joined, query, quoted
from panes.kernels.kernel import Chunk, Clock
from panes.kernels.sorted_blocks.former_index import former_rows
from panes.kernels.state.carry import Carry
from panes.kernels.state.expiry import GENERATION, expired_before, expires_at
from panes.kernels.state.release import Release

FIRST, LAST = "generation_first", "generation_last"
NEW, PLACE = "new_generation", "place_in_batch"
GENERATIONS, ENDS = "generations", "ends"  # kinds of chunks
EXPIRE = "generations_expire"  # a fact: the watermark at which some may have expired


@dataclass(frozen=True)
class Assigned:
    """Rows with their generations; generations whose rows move to another one; and the chunks after it."""

    rows: pa.Table
    moved: pa.Table
    chunks: tuple[Chunk, ...]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Generations:
    """The generations of all partitions; `time` is the column with a row's time.

    Each has an entry by its end, LAST, as it was when it began or was looked at: those that have expired are found
    among the entries that have.
    """

    partition: tuple[str, ...]
    time: str
    ttl: int

    def assign(self, chunks: Sequence[Chunk], facts: Mapping[str, Any], batch: pa.Table) -> Assigned:
        """Put the rows of a micro-batch into generations."""
        chunks = self._read(chunks)
        times = batch[self.time].cast(pa.int64())
        bare = batch.select(list(self.partition)).append_column(GENERATION, pa.nulls(batch.num_rows, pa.int64()))
        bare = bare.append_column(FIRST, times).append_column(LAST, times)
        known = self._carry.find(chunks, bare)
        known = bare.slice(0, 0) if known is None else known.select(self._columns)
        found = self._found(bare, known)
        placed = found.filter(pc.is_valid(found[PLACE])).sort_by(PLACE)
        old = found.filter(pc.is_valid(found[GENERATION]))
        moved = old.filter(pc.not_equal(old[GENERATION], old[NEW]))
        heads = found.filter(found["is_head"])
        # all generations of the partitions are heads, for all that are known are found
        changed = heads.select([*self.partition, NEW, "low", "high"]).rename_columns(list(self._columns))
        begun = joined(changed, "ANTI", known, self._key)
        expire = expires_at(pc.min(changed[LAST]).as_py(), self.ttl)
        return Assigned(
            batch.append_column(GENERATION, placed[NEW]),
            moved.select([*self._key, NEW]),
            (*self._carry.put(chunks, changed), *self._listed(self._ends(chunks), begun)),
            {EXPIRE: expire, **facts},
        )

    @cached_property
    def _key(self) -> tuple[str, ...]:
        return (*self.partition, GENERATION)

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return (*self._key, FIRST, LAST)

    @cached_property
    def _carry(self) -> Carry:
        return Carry(self.partition, GENERATIONS)

    @cached_property
    def _by_end(self) -> Release:
        return Release(LAST, (LAST,), waits=True, late=False, kind=ENDS)

    def _ends(self, chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunk for chunk in chunks if chunk.kind == ENDS)

    def _listed(self, ends: tuple[Chunk, ...], generations: pa.Table) -> tuple[Chunk, ...]:
        """The entries with those of more generations."""
        return self._by_end.take(ends, generations.select([*self._key, LAST]), Clock())[1]

    def _read(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """The chunks of generations; what was kept as sorted blocks is as it is kept now."""
        rows = former_rows(chunks)
        if rows is None:
            return (*self._carry.own(chunks), *self._ends(chunks))
        return (*self._carry.put((), rows.select(self._columns)), *self._listed((), rows))

    def _found(self, rows: pa.Table, known: pa.Table) -> pa.Table:
        """Rows and generations, each with the generation that it is in now, and one of each that knows its ends."""
        names = [quoted(name) for name in self.partition]
        columns = ", ".join([*names, GENERATION, FIRST, LAST])
        among = f"PARTITION BY {', '.join(names)}" if names else ""
        order = f"ORDER BY {FIRST}, {LAST}, {GENERATION}, {PLACE}"
        return query(
            f"""
            WITH items AS (
                SELECT {columns}, {PLACE} FROM batch UNION ALL SELECT {columns}, NULL FROM known
            ), begun AS (
                SELECT *, coalesce({FIRST} - max({LAST}) OVER (
                    {among} {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) > {self.ttl}, true) AS begins FROM items
            ), numbered AS (
                SELECT *, sum(begins::INT) OVER ({among} {order} ROWS UNBOUNDED PRECEDING) AS number FROM begun
            )
            SELECT *,
                coalesce(
                    arg_min({GENERATION}, {FIRST}) FILTER (WHERE {GENERATION} IS NOT NULL) OVER w, min({FIRST}) OVER w
                ) AS {NEW},
                min({FIRST}) OVER w AS low, max({LAST}) OVER w AS high, row_number() OVER (w {order}) = 1 AS is_head
            FROM numbered WINDOW w AS (PARTITION BY {", ".join([*names, "number"])})
            """,
            batch=rows.append_column(PLACE, pa.array(np.arange(rows.num_rows))),
            known=known,
        )

    # ---- expiry

    def expired(
        self, chunks: Sequence[Chunk], facts: Mapping[str, Any], clock: Clock
    ) -> tuple[pa.Table, tuple[Chunk, ...]] | None:
        """The generations that have expired, and the chunks without them, if it is time to look."""
        expire = facts.get(EXPIRE)
        oldest = expired_before(self.ttl, clock)
        if expire is None or oldest is None or clock.watermark is None or clock.watermark < expire:
            return None
        chunks = self._read(chunks)
        passed, ends, _ = self._by_end.take(self._ends(chunks), None, Clock(oldest))
        if passed is None:
            return None
        known = self._carry.find(chunks, passed)
        if known is None:
            return passed.select(self._key).slice(0, 0), (*self._carry.own(chunks), *ends)
        late = pc.less(known[LAST], oldest)
        gone, stay = known.filter(late), known.filter(pc.invert(late))
        ends = self._listed(ends, joined(stay, "SEMI", passed, self._key))
        old, new = (joined(side, "SEMI", gone, self.partition) for side in (known, stay))
        return gone.select(self._key), (*self._carry.replaced(chunks, old, new), *ends)

    def next_look(self, facts: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
        """The facts after a look at all of them, which is not taken too often."""
        assert clock.watermark is not None
        return {**facts, EXPIRE: clock.watermark + max(self.ttl // 4, 1)}
