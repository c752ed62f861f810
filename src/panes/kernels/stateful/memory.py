"""What a function remembers of a partition: its last accepted values, from rows and from what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.kernels.partitions import Codes
from panes.kernels.stateful.arrangement import Arrangement, Flags


@dataclass(frozen=True)
class Memory:
    """The accepted values of each generation, one after the other: first those that were kept, then those of rows.

    `pool` has the values of all rows, then all kept values; a value is known by its number in there.
    """

    arrangement: Arrangement
    pool: pa.Array
    accepted: Codes  # the places that are accepted
    before: Codes  # at each place, how many of them come before it
    sizes: Codes  # of each carry row, how many values were kept
    stops: Codes  # and the number in the pool after the last of them

    @staticmethod
    def of(arrangement: Arrangement, values: pa.Array, accepted: Flags, kept: Sequence[pa.ListArray]) -> Memory:
        total = np.cumsum(accepted)
        sizes = kept[0].value_lengths().to_numpy() if kept else arrangement.places[:0]
        stops = len(values) + np.cumsum(sizes)
        pool = pa.concat_arrays([values, kept[0].flatten().cast(values.type)]) if kept else values
        # One more at the end, where the numbers -1 and "none" find something harmless.
        ends = [np.append(array, 0) for array in (np.flatnonzero(accepted), sizes, stops)]
        return Memory(arrangement, pool, ends[0], total - accepted, ends[1], ends[2])

    def nth(self, n: int, known: Codes) -> Codes:
        """At each place the n-th last value of its generation, after `known` accepted rows; -1 if there is none."""
        inside = known - self.before[self.arrangement.start]
        missing = n - inside
        carried = self.arrangement.carried
        old = np.where(missing <= self.sizes[carried], self.stops[carried] - missing, -1)
        return np.where(missing <= 0, self.arrangement.order[self.accepted[np.maximum(known - n, 0)]], old)

    def last(self, n: int) -> pa.ListArray:
        """The last n values of each partition, the latest last."""
        ends = self.arrangement.ends
        known = np.append(self.before, len(self.accepted) - 1)[ends + 1]
        new = np.minimum(known - self.before[self.arrangement.start[ends]], n)
        carried = self.arrangement.carried[ends]
        old = np.minimum(self.sizes[carried], n - new)
        offsets = np.append(0, np.cumsum(old + new))
        of = np.repeat(np.arange(len(ends)), old + new)
        back = offsets[of + 1] - np.arange(offsets[-1])  # 1 is the latest
        row = self.arrangement.order[self.accepted[np.maximum(known[of] - back, 0)]]
        numbers = np.where(back <= new[of], row, (self.stops[carried] + new)[of] - back)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), self.pool.take(pa.array(numbers)))
