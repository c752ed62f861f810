"""Any changelog becomes a complete one: every update is a pair, and what goes is given out as it was.

    in     update_postimage a 2 · delete b                     of a table with a = 1, b = 5
    out    update_preimage a 1, update_postimage a 2 · delete b 5

The last row of each key is kept. Of a row that WHERE rejects only the key is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from panes.kernels.changelog.changes import difference
from panes.kernels.changelog.table import ChangelogTable
from panes.kernels.kernel import Clock, Counters, State, Step, seconds


@dataclass(frozen=True)
class Normalize:
    """`values` are the columns of a row besides its key; for the rest see ChangelogTable."""

    key: tuple[str, ...]
    values: tuple[str, ...]
    change_type: str
    arrival: tuple[str, ...]
    sequence: str | None = None
    time: str | None = None
    state_ttl: int | None = None
    on_inconsistency: Literal["fail", "skip"] = "fail"
    keep: str | None = None
    key_names: tuple[str, ...] = ()

    def depends_on(self) -> dict[str, Any]:
        columns = {"key": list(self.key), "sequence": self.sequence, "keeps rejected": self.keep is not None}
        return {"state": "changelog 1", **columns, "state_ttl": seconds(self.state_ttl)}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Apply the changes of a micro-batch, and give out the net change of each key."""
        if batch is None or not batch.num_rows:
            return Step(state, None, self._counters(state))
        net = self._table.net(state, batch)
        old, new = (side.select(self._columns) for side in (net.removed, net.inserted))
        out = difference(old, new, self.key)
        after = State(net.index, net.facts)
        counters = self._counters(after, net.inconsistent, net.stale, out.num_rows)
        return Step(after, out if out.num_rows else None, counters)

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.key, *self.values)))

    @cached_property
    def _table(self) -> ChangelogTable:
        return ChangelogTable(
            self.key,
            self._columns,
            self._columns,
            self.change_type,
            self.arrival,
            self.sequence,
            self.time,
            self.state_ttl,
            self.on_inconsistency,
            keep=self.keep,
            key_names=self.key_names,
        )

    def _counters(self, state: State, inconsistent: int = 0, stale: int = 0, rows_out: int = 0) -> Counters:
        """The gauge `groups` are the keys that something is known of."""
        groups = self._table.index.count(state)
        return Counters(rows_out=rows_out, inconsistent_rows=inconsistent, stale_rows=stale, groups=groups)
