"""What is known of each key of a changelog: whether its row is there and what it holds, and its last sequence.

keys         a b c d …               found by a hash of the key; newer rows hide older ones
tombstones   b 12:00 | d 12:07       by the time at which keys were deleted: what expires is found at the beginning
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import joined
from panes.kernels.kernel import Chunk, Clock, State
from panes.kernels.sorted_blocks.former_index import former_rows, former_size
from panes.kernels.state.carry import Carry
from panes.kernels.state.release import Release

# Whether its row is there, and passed WHERE; the last sequence, and when it was applied.
THERE, KEPT, SEQUENCE, APPLIED = "key_is_there", "key_is_kept", "key_sequence", "key_applied_at"
KEYS, TOMBSTONES = "keys", "tombstones"
COUNT = "known_keys"  # a fact
FORMER_FACT = "tombstones_expire"


@dataclass(frozen=True)
class KnownKeys:
    """`columns` are what is kept of a row, APPLIED among them where tombstones expire after `state_ttl`."""

    key: tuple[str, ...]
    columns: tuple[str, ...]
    state_ttl: int | None = None

    def read(self, state: State) -> State:
        """The part of the state in which keys are; what was kept as sorted blocks is as it is kept now."""
        rows = former_rows(state.chunks)
        if rows is None:
            return State((*self._carry.own(state.chunks), *self._waiting(state.chunks)), state.facts)
        rows = rows.select(self.columns)
        facts = {name: fact for name, fact in state.facts.items() if name != FORMER_FACT}
        return State((*self._carry.put((), rows), *self._with_tombstones((), rows)), {**facts, COUNT: rows.num_rows})

    def count(self, state: State) -> int:
        """How many keys something is known of."""
        return int(state.facts[COUNT]) if COUNT in state.facts else former_size(state.chunks)

    def find(self, chunks: Sequence[Chunk], rows: pa.Table) -> pa.Table:
        """What is known of the keys of these rows."""
        found = self._carry.find(chunks, rows)
        return rows.select(self.columns).slice(0, 0) if found is None else found.select(self.columns)

    def put(self, state: State, changed: pa.Table, gone: pa.Table, added: int, now: int | None) -> State:
        """The state after rows have come or changed, and others have gone; so many keys were not known before.

        Tombstones go that no change can ask for any more after `now`, a time in whose terms `state_ttl` is.
        """
        expired, tombstones = self._expired(state.chunks, changed, now)
        gone = pa.concat_tables([gone.select(self.key), *expired], promote_options="permissive")
        chunks = (*self._carry.put(state.chunks, changed.select(self.columns), gone), *tombstones)
        facts: Mapping[str, Any] = {**state.facts, COUNT: self.count(state) + added - gone.num_rows}
        return State(chunks, facts)

    @cached_property
    def _carry(self) -> Carry:
        return Carry(self.key, KEYS)

    @cached_property
    def _deleted(self) -> Release:
        return Release(APPLIED, (APPLIED,), waits=True, late=False, kind=TOMBSTONES)

    def _waiting(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunk for chunk in chunks if chunk.kind == TOMBSTONES)

    def _expired(
        self, chunks: Sequence[Chunk], changed: pa.Table, now: int | None
    ) -> tuple[list[pa.Table], tuple[Chunk, ...]]:
        """The keys whose tombstone has expired, and that do not change now; and the tombstones after it."""
        if self.state_ttl is None or now is None:
            return [], self._waiting(chunks)
        oldest = now - self.state_ttl
        passed, waiting, _ = self._deleted.take(self._waiting(chunks), None, Clock(oldest))
        passed = None if passed is None else joined(passed, "ANTI", changed, self.key)
        known = None if passed is None else self._carry.find(chunks, passed)
        waiting = self._with_tombstones(waiting, changed)
        if known is None:
            return [], waiting
        late = pc.less(known[APPLIED], oldest)  # and not deleted once more since
        return [known.filter(pc.and_(late, pc.invert(known[THERE]))).select(self.key)], waiting

    def _with_tombstones(self, waiting: tuple[Chunk, ...], changed: pa.Table) -> tuple[Chunk, ...]:
        if self.state_ttl is None:
            return ()
        new = changed.filter(pc.invert(changed[THERE])).select([*self.key, APPLIED])
        return self._deleted.take(waiting, new, Clock())[1]
