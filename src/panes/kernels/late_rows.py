"""Late rows as they came: what an operator drops as late comes out beside its result.

    rows     1  2  9  12         W = 10, tumbling windows of 5
    late     1  2                with the clock that they missed
    on time        9  12         folded here, and taken in as ever

A row that is folded with others before the shuffle cannot be told from them any more. So here rows stay whole until
the clock has judged them, and are folded then. The state is that of the operator: a query may begin to ask for its late
rows, and stop, at any restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import COUNT
from panes.kernels.kernel import Clock, Counters, Kernel, State, Step
from panes.kernels.parts import release_of
from panes.kernels.state.key_hash import Flags
from panes.kernels.state.release import Release

WHOLE = "panes_row"  # a column with the row as it came from its stream
LATE = "panes_late"  # a late row: ROW and CLOCK of it
ROW, CLOCK = "row", "watermark"

Judge = Callable[[State, pa.Table, Clock], Flags]


@runtime_checkable
class Judges(Protocol):
    """A kernel that tells late rows by more than their times."""

    def are_late(self, state: State, rows: pa.Table, clock: Clock) -> Flags: ...


def judge_of(kernel: Kernel) -> Judge:
    """Which rows a kernel would drop as late."""
    release = release_of(kernel)
    if release is not None:
        return ByTime(release)
    assert isinstance(kernel, Judges)
    return kernel.are_late


@dataclass(frozen=True)
class ByTime:
    """Rows that the watermark has passed are late, whatever the state."""

    release: Release

    def __call__(self, state: State, rows: pa.Table, clock: Clock) -> Flags:
        return self.release.are_late(rows, clock)


@dataclass(frozen=True)
class LateRows:
    """A kernel whose late rows come out; `are_late` says which rows the kernel itself would drop."""

    kernel: Kernel
    are_late: Judge

    @property
    def release(self) -> Release | None:
        return release_of(self.kernel)

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows stay as they are: only the step knows which are late."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """A step of the kernel with the rows that are not late."""
        if batch is None or not batch.num_rows:
            return self.kernel.step(state, None, clock)
        late = self.are_late(state, batch, clock)
        on_time = batch.filter(pa.array(~late)).drop_columns([WHOLE])
        packed = self.kernel.pack(on_time)
        step = self.kernel.step(state, packed if packed.num_rows else None, clock)
        counted = step.counters | Counters(
            late_rows=int(late.sum()) + step.counters.get("late_rows", 0),
            no_window_rows=left_out(on_time, packed) + step.counters.get("no_window_rows", 0),
        )
        dropped = _table(batch[WHOLE].filter(pa.array(late)), clock) if late.any() else None
        return replace(step, counters=counted, late=dropped)


def _table(rows: pa.ChunkedArray, clock: Clock) -> pa.Table:
    assert clock.watermark is not None
    whole = rows.combine_chunks()
    moments = pa.array(np.full(len(whole), clock.watermark), pa.timestamp("us", "UTC"))
    return pa.table({LATE: pa.StructArray.from_arrays([whole, moments], names=[ROW, CLOCK])})


def is_late(table: pa.Table) -> bool:
    """Whether a table is one of late rows."""
    return bool(table.column_names == [LATE])


def left_out(rows: pa.Table, packed: pa.Table) -> int:
    """How many rows a kernel's `pack` has left out: they are in no window."""
    kept: int = (pc.sum(packed[COUNT]).as_py() or 0) if COUNT in packed.column_names else packed.num_rows
    return int(rows.num_rows) - kept


class LateApart:
    """Tables of an operator's input, of which those of late rows, which only pass through, are put aside."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        self._tables = tables
        self.late: list[pa.Table] = []

    def __iter__(self) -> Iterator[pa.Table]:
        for table in self._tables:
            if is_late(table):
                self.late.append(table)
            else:
                yield table
