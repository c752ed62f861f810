"""Tumbling and hopping windows with an offset, or of the days of a zone: regular windows on an axis of their own.

    rows and watermark    08:30   09:10      →   their positions on the axis
    window bounds         08:00   09:00      ←   positions, when windows come out

The kernel inside knows positions only, and its state has nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from panes.kernels.kernel import Clock, Counters, State, Step
from panes.kernels.state.key_hash import Flags
from panes.kernels.windows.axes import Axis, Days, Shifted
from panes.kernels.windows.slices import END, START, SliceWindows

POSITION = "position"


@dataclass(frozen=True)
class OnAxis:
    """`windows` are those of the column POSITION, where each row's `time` lies on the axis."""

    windows: SliceWindows
    time: str
    axis: Axis

    def depends_on(self) -> Mapping[str, Any]:
        return {**self.windows.depends_on(), **self.axis.depends_on()}

    def pack(self, rows: pa.Table) -> pa.Table:
        return self.windows.pack(self._placed(rows))

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        step = self.windows.step(state, batch, self._clock(clock))
        oldest = Counters(oldest_open_window=self._moment(step.counters.get("oldest_open_window")))
        rows = self._with_moments(step.rows) if step.rows is not None else None
        return replace(step, rows=rows, counters=step.counters | oldest, wake=self._moment(step.wake))

    def are_late(self, state: State, rows: pa.Table, clock: Clock) -> Flags:
        return self.windows.are_late(state, self._placed(rows), self._clock(clock))

    def _placed(self, rows: pa.Table) -> pa.Table:
        times = rows[self.time].cast(pa.int64()).to_numpy()
        return rows.append_column(POSITION, pa.array(self.axis.positions(times)))

    def _clock(self, clock: Clock) -> Clock:
        """A window ends by the watermark if its end lies at or before the watermark's position."""
        if clock.watermark is None:
            return clock
        return replace(clock, watermark=int(self.axis.positions(np.array([clock.watermark]))[0]))

    def _moment(self, position: int | None) -> int | None:
        return None if position is None else int(self.axis.moments(np.array([position]))[0])

    def _with_moments(self, rows: pa.Table) -> pa.Table:
        for bound in (START, END):
            moments = pa.array(self.axis.moments(rows[bound].to_numpy()))
            rows = rows.set_column(rows.column_names.index(bound), bound, moments)
        return rows


def on_axis(windows: SliceWindows, offset: int, zone: str | None) -> OnAxis:
    """Windows that start `offset` later, by the clock of a zone if one is given.

    They are the same if it is a whole number of hops more or less.
    """
    offset %= windows.hop
    axis = Shifted(offset) if zone is None else Days(zone, offset)
    return OnAxis(replace(windows, time=POSITION), windows.time, axis)
