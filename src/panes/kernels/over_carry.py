"""What OVER carries: rows of any type. Only the partition's columns go through DuckDB; the others stay as they are.

DuckDB gives a time zone another name, and a duration comes back as an interval that is not one any more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.kernels.carry import Carry

INDEX = "index_in_carry"


@dataclass(frozen=True)
class OverCarry(Carry):
    """A partition may have several rows: those of a newer chunk hide all its older ones, and they stay in order."""

    def _join(self, kind: str, left: pa.Table, right: pa.Table) -> pa.Table:
        if not self.by:
            return super()._join(kind, left, right)
        keys = left.select(self.by).append_column(INDEX, pa.array(np.arange(left.num_rows)))
        found = super()._join(kind, keys, right.select(self.by))[INDEX].to_numpy()
        return left if len(found) == left.num_rows else left.take(pa.array(np.sort(found)))
