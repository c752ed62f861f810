"""Expiry by state TTL: partitions that had no row for longer than it, found before they are asked for again.

A row finds its partition forgotten by the times of rows alone. This only frees what no row can ask for any more, so it
may be late: with `patience` it looks less often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.kernel import Chunk, Clock
from panes.kernels.state.carry import SEEN, Carry


@dataclass(frozen=True)
class Expiry:
    """The fact `<kind>_expires` is the watermark at which some partition may be forgotten, and never after it."""

    carry: Carry
    ttl: int | None
    patience: int = 0

    @property
    def fact(self) -> str:
        return f"{self.carry.kind}_expires"

    def due(self, facts: Mapping[str, Any], clock: Clock) -> bool:
        expires = facts.get(self.fact)
        return expires is not None and clock.watermark is not None and clock.watermark >= expires

    def split(self, rows: pa.Table, clock: Clock) -> tuple[pa.Table, pa.Table]:
        """Rows of the partitions that are forgotten now, and the others."""
        assert self.ttl is not None and clock.watermark is not None
        gone = pc.less(pc.add(rows[SEEN], self.ttl), clock.watermark)
        return rows.filter(gone), rows.filter(pc.invert(gone))

    def added(self, facts: Mapping[str, Any], changed: pa.Table) -> dict[str, Any]:
        """The fact after rows have changed: partitions are only seen later than before."""
        if self.ttl is None or not changed.num_rows:
            return dict(facts)
        return {self.fact: self._moment(changed), **facts}

    def looked(self, facts: Mapping[str, Any], rest: pa.Table, clock: Clock) -> dict[str, Any]:
        """The fact after forgotten partitions have gone."""
        found = {name: value for name, value in facts.items() if name != self.fact}
        if rest.num_rows:
            assert clock.watermark is not None
            found[self.fact] = max(self._moment(rest), clock.watermark + 1 + self.patience)
        return found

    def swept(
        self, chunks: Sequence[Chunk], facts: Mapping[str, Any], clock: Clock
    ) -> tuple[tuple[Chunk, ...], dict[str, Any]]:
        """Chunks without forgotten partitions, if it is time to look for them."""
        everything = self.carry.all(chunks) if self.due(facts, clock) else None
        if everything is None:
            return self.carry.own(chunks), dict(facts)
        gone, rest = self.split(everything, clock)
        return self.carry.put(chunks, None, gone), self.looked(facts, rest, clock)

    def _moment(self, rows: pa.Table) -> int:
        assert self.ttl is not None
        return int(pc.min(rows[SEEN]).as_py()) + self.ttl + 1
