"""Which blocks are read beside those into which changes belong, their homes.

blocks    1 2 3 4 | 5 6 7 8 | 9 …      with ROWS 1 PRECEDING, 8 changes:
reached   8 and 9                      9 is in another block, which is read
needed    7, 8 and 9                   7 is in the home of the change, in the margin before it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from panes.frames import Edge, Unit
from panes.kernels.over.calls import Frame, offsets
from panes.kernels.over.merged import Merged
from panes.kernels.sorted_blocks.blocks import HOME, Directory, Margins
from panes.kernels.sorted_blocks.ranges import Mask, Places
from panes.kernels.sorted_blocks.sort_keys import Keys


@dataclass(frozen=True)
class NeededBlocks:
    """Blocks beside the homes of changes. The rows at the ends of a home, its margins, count before another is read."""

    directory: Directory
    touched: Keys
    homes: Mask
    merged: Merged  # the rows of the homes and those that come

    def reached(self, frame: Frame) -> Mask:
        """The blocks with rows in whose frame a change can be."""
        directory, touched = self.directory, self.touched
        if frame.end.edge is Edge.UNBOUNDED_FOLLOWING:
            return directory.of_partitions(touched)
        if frame.unit is Unit.RANGE and frame.start.edge is not Edge.UNBOUNDED_PRECEDING:
            return directory.framing(touched)
        if frame.unit is Unit.RANGE:
            by_value = frame.end.offset is not None
            return directory.framing_from_first(touched) if by_value else directory.after_peers(touched)
        back, ahead = self._rows_beside(frame)
        found = self._around_homes(back, ahead or 0)
        return found | directory.after_rows(touched) if ahead is None else found

    def needed(self, reached: Mask, frame: Frame) -> Mask:
        """The blocks that the frames of rows in these can reach."""
        if Edge.UNBOUNDED_PRECEDING is frame.start.edge or Edge.UNBOUNDED_FOLLOWING is frame.end.edge:
            return self.directory.of_partitions(self.touched)
        if frame.unit is Unit.RANGE:
            return self.directory.framed(reached)
        back, ahead = self._rows_beside(frame)
        both = back + (ahead or 0)
        return self._around_homes(both, both)

    def row_before(self, reached: Mask, frames: Sequence[Frame]) -> Mask:
        """The blocks with the row before the first that is computed again, whichever of these frames reaches it."""
        if any(frame.unit is Unit.RANGE for frame in frames):
            return self.with_row_before(reached)
        return self._around_homes(1 + max(self._rows_beside(frame)[0] for frame in frames), 0)

    def with_row_before(self, blocks: Mask) -> Mask:
        """These blocks, and those with the row before each."""
        return self.directory.around(blocks, 1, 0, self._counted)

    def frame_ends(self, reached: Mask, frame: Frame) -> Mask:
        """The blocks with the last rows of the frames of rows in these; or, of values, the row after the last."""
        if frame.unit is Unit.RANGE:
            return self.directory.framed(reached)
        last = offsets(frame)[1]
        return self._around_homes(max(-(last or 0), 0), 0)

    def values_around(self, column: str, number: int) -> Mask:
        """The blocks with so many values that are not NULL before and after each change, as far as there are any.

        How many a block has is known once it is read. Until then some are taken to be enough, each time twice as many.
        """
        merged, size = self.merged, len(self.directory)
        valid, changed, home = merged.valid(column), merged.gone | merged.fresh, merged.rows[HOME].to_numpy()
        margins = merged.margins(size, valid)
        margins.first[np.bincount(home[valid & changed], minlength=size) == 0] = number  # NULL is seen by no other row
        values = np.full(size, float(number))
        values[self.homes] = np.bincount(home[valid & ~changed], minlength=size)[self.homes]
        known = self.homes
        while True:
            found = self.directory.around(self.homes, number, number, values, margins)
            new = found & ~known
            if not new.any() or (new & self.directory.closed).any():
                return found
            rows = self.directory.load(new)
            values[~known] /= 2
            values[new] = np.bincount(rows[HOME].to_numpy()[rows[column].is_valid().to_numpy()], minlength=size)[new]
            known = known | new

    def few(self, least: int) -> Mask:
        """A neighbour of each home that few rows are left in, to be joined to it."""
        left = np.bincount(self.merged.left[HOME].to_numpy(), minlength=len(self.directory))
        return self.directory.neighbours(self.homes & (left < least))

    def _rows_beside(self, frame: Frame) -> tuple[int, int | None]:
        """How many rows before a change and after it have it in their frame; None for all after it."""
        first, last = offsets(frame)
        return max(last or 0, 0), None if first is None else max(-first, 0)

    def _around_homes(self, before: int, after: int) -> Mask:
        return self.directory.around(self.homes, before, after, self._counted, self._margins)

    @cached_property
    def _counted(self) -> Places:
        """The rows of each block less those that change: these may be about to go."""
        return np.maximum(self.directory.sizes - np.diff(self.directory.cuts(self.touched.row)), 0)

    @cached_property
    def _margins(self) -> Margins:
        return self.merged.margins(len(self.directory))
