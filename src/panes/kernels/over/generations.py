"""What `state_ttl` makes of a partition: a row more than the ttl after the row before begins a new generation.

    times, ttl 10     1  5  9  |  25  30         18 comes: 9, 18, 25 are near enough, and the two are one again
    generation        1  1  1  |  25  25

Rows may come out of order, so a generation can grow at both ends, and two can become one: then the rows of the later
one move. It is called after a time that it had when it began. Once the watermark is more than the ttl past its last
row, no row that is in time can find it any more: it has expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import query, quoted
from panes.kernels.kernel import Chunk, Clock
from panes.kernels.sorted_blocks.blocks import Directory
from panes.kernels.sorted_blocks.key_index import KeyIndex
from panes.kernels.state.expiry import GENERATION, expired_before, expires_at

FIRST, LAST = "generation_first", "generation_last"
NEW, PLACE = "new_generation", "place_in_batch"
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
    """The generations of all partitions, in sorted blocks; `time` is the column with a row's time."""

    partition: tuple[str, ...]
    time: str
    ttl: int
    size: int

    @cached_property
    def _index(self) -> KeyIndex:
        key = (*self.partition, GENERATION)
        return KeyIndex(key, (*key, FIRST, LAST), self.size, self.partition)

    def assign(self, chunks: Iterable[Chunk], facts: Mapping[str, Any], batch: pa.Table) -> Assigned:
        """Put the rows of a micro-batch into generations."""
        directory = self._index.read(chunks)
        times = batch[self.time].cast(pa.int64())
        bare = batch.select(list(self.partition)).append_column(GENERATION, pa.nulls(batch.num_rows, pa.int64()))
        bare = bare.append_column(FIRST, times).append_column(LAST, times)
        known = self._index.alike(directory, bare)
        found = self._found(bare, known)
        placed = found.filter(pc.is_valid(found[PLACE])).sort_by(PLACE)
        old = found.filter(pc.is_valid(found[GENERATION]))
        moved = old.filter(pc.not_equal(old[GENERATION], old[NEW]))
        heads = found.filter(found["is_head"])
        changed = heads.select([*self.partition, NEW, "low", "high"]).rename_columns(list(self._index.columns))
        expire = expires_at(pc.min(changed[LAST]).as_py(), self.ttl)
        return Assigned(
            batch.append_column(GENERATION, placed[NEW]),
            moved.select([*self._index.key, NEW]),
            self._index.put(directory, changed, moved),
            {EXPIRE: expire, **facts},
        )

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
        self, chunks: Iterable[Chunk], facts: Mapping[str, Any], clock: Clock
    ) -> tuple[pa.Table, Directory] | None:
        """The generations that have expired, and the index without them, if it is time to look."""
        expire = facts.get(EXPIRE)
        directory = self._index.read(chunks)
        if expire is None or clock.watermark is None or clock.watermark < expire or not len(directory):
            return None
        oldest = expired_before(self.ttl, clock)
        gone: list[pa.Table] = []

        def stays(rows: pa.Table) -> pa.ChunkedArray:
            late = pc.less(rows[LAST], oldest)
            gone.append(rows.filter(late).select(self._index.key))
            return pc.invert(late)

        after = self._index.kept(directory, stays)
        return gone[0], after

    def next_look(self, facts: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
        """The facts after a look at all of them, which is not taken too often."""
        assert clock.watermark is not None
        return {**facts, EXPIRE: clock.watermark + max(self.ttl // 4, 1)}
