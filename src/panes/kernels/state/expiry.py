"""Expiry by state TTL: a partition that had no row for longer than it starts anew.

    times, ttl 10     1  5  9  |  25  30        25 comes more than 10 after 9 and begins a new generation

A row finds out by the times of rows alone: see `gaps`. What is kept of a partition can go once the watermark is more
than the TTL past its last row, since no row can ask for it any more: see `expired_before`. That only frees state, so it
may be late: `Expiry` looks for it now and then, among the partitions that were seen last since it looked before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.kernel import Chunk, Clock
from panes.kernels.partitions import Codes
from panes.kernels.state.carry import SEEN, Carry

Flags = npt.NDArray[np.bool_]
GENERATION = "row_generation"  # a column that tells the generations of a partition apart, by a time of each


def gaps(times: Codes, first: Codes | Flags, before: Codes, ttl: int) -> Flags:
    """The rows that come more than the ttl after the row before them.

    Rows lie partition by partition, in each in the stream's order. `first` are the first rows of the partitions, as
    places or as flags, and `before` is the time of the row before each of these; where there is none, the row's own.

    >>> gaps(np.array([1, 9, 10, 30]), first=np.array([0, 2]), before=np.array([1, 3]), ttl=5)
    array([False,  True,  True,  True])
    """
    previous = np.concatenate([times[:1], times[:-1]])
    previous[first] = before
    found: Flags = times - previous > ttl
    return found


def generation_starts(begins: Flags) -> Codes:
    """Each row's first one of its generation, where rows that begin one are known.

    >>> generation_starts(np.array([True, False, True, False, False]))
    array([0, 0, 2, 2, 2])
    """
    starts: Codes = np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
    return starts


def expired_before(ttl: int | None, clock: Clock) -> int | None:
    """Partitions that were seen last before this time have expired; None if none has."""
    return None if ttl is None or clock.watermark is None or not clock.expires else clock.watermark - ttl


def expires_at(seen: int, ttl: int) -> int:
    """The watermark at which a partition expires that was seen last at this time."""
    return seen + ttl + 1


def split_expired(rows: pa.Table, ttl: int | None, clock: Clock) -> tuple[pa.Table, pa.Table]:
    """The rows of partitions that have expired, and the others; SEEN tells when each was seen last."""
    oldest = expired_before(ttl, clock)
    if oldest is None:
        return rows.slice(0, 0), rows
    expired = pc.less(rows[SEEN], oldest)
    return rows.filter(expired), rows.filter(pc.invert(expired))


@dataclass(frozen=True)
class Expiry:
    """Looks for expired partitions of a carry, with `patience` less often.

    The fact `<kind>_expires` is the watermark at which some partition may have expired, and never after it.
    """

    carry: Carry
    ttl: int | None
    patience: int = 0

    @property
    def fact(self) -> str:
        return f"{self.carry.kind}_expires"

    def due(self, facts: Mapping[str, Any], clock: Clock) -> bool:
        expires = facts.get(self.fact)
        return expires is not None and clock.watermark is not None and clock.expires and clock.watermark >= expires

    def added(self, facts: Mapping[str, Any], changed: pa.Table) -> dict[str, Any]:
        """The fact after rows have changed: partitions are only seen later than before."""
        if self.ttl is None or not changed.num_rows:
            return dict(facts)
        return {self.fact: self._moment(changed), **facts}

    def swept(
        self, chunks: Sequence[Chunk], facts: Mapping[str, Any], clock: Clock
    ) -> tuple[pa.Table | None, tuple[Chunk, ...], dict[str, Any]]:
        """The rows of partitions that have expired, if it is time to look for them; the chunks without, and the fact.

        Whatever is kept expires at the fact's moment or later, but for those that `patience` has left.
        """
        oldest = expired_before(self.ttl, clock)
        if oldest is None or clock.watermark is None or self.ttl is None or not self.due(facts, clock):
            return None, self.carry.own(chunks), dict(facts)
        since = facts[self.fact] - self.ttl - 1 - self.patience
        gone = self.carry.due(chunks, since, oldest)
        left = self.carry.put(chunks, None, gone)
        seen = self.carry.next_seen(left, oldest)
        found = {name: value for name, value in facts.items() if name != self.fact}
        if seen is not None:
            found[self.fact] = max(expires_at(seen, self.ttl), clock.watermark + 1 + self.patience)
        return gone, left, found

    def _moment(self, rows: pa.Table) -> int:
        assert self.ttl is not None
        return expires_at(int(pc.min(rows[SEEN]).as_py()), self.ttl)
