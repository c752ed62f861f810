"""The rows of loaded blocks and of a micro-batch in one order: where a change is, and how far it reaches.

    loaded   10 20 30 40 50        30 goes and 35 comes:
    merged   10 20 __ 35 40 50     with ROWS 1 PRECEDING it reaches 35 and 40, which need 20

Blocks that hold none of these rows were not loaded; where some are missing between, a partition is broken in two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.frames import Unit
from panes.kernels.over.calls import OverCall, frame_of, looks_ahead_for_values, offsets
from panes.kernels.over.sorted_rows import Sorted
from panes.kernels.sorted_blocks.blocks import HOME, Directory, Margins
from panes.kernels.sorted_blocks.ranges import Mask, Places, Ranges, covered, extents, holding, rows_frames, rows_reach
from panes.kernels.sorted_blocks.sort_keys import Keys


@dataclass(frozen=True)
class Touched:
    """The rows that go and those that come in one order; `order` are their places, those that go counted first."""

    keys: Keys
    order: Places

    def homes(self, directory: Directory) -> Places:
        """The block into which each belongs."""
        return directory.homes_of(self.keys.row, self.order)

    @cached_property
    def moves(self) -> Mask:
        """Which of them do not meet their like: a row that goes while one of the same key and order comes, stays."""
        row = self.keys.row
        same = pc.equal(row.slice(1), row.slice(0, len(row) - 1)).to_numpy(zero_copy_only=False)
        moves: Mask = ~(np.append(same, False) | np.append(False, same))
        return moves


@dataclass(frozen=True)
class Merged:
    """Loaded rows and the batch's in one order: those that go, those that come, and those that stay.

    Rows that are left have places; a row that goes is at the place of the next one that is left.
    """

    rows: pa.Table
    gone: Mask
    fresh: Mask
    moves: Mask  # rows that come, go or move, not those that only get other values at their place in the order
    sorted: Sorted  # over all of them; its partitions are broken where blocks between were not loaded

    @cached_property
    def left(self) -> pa.Table:
        return self.rows.filter(pa.array(~self.gone))

    @cached_property
    def size(self) -> int:
        return int(self.before[-1])

    @cached_property
    def before(self) -> Places:
        """How many rows that are left are before each row, and before the end."""
        return np.concatenate([[0], np.cumsum(~self.gone)]).astype(np.int64)

    def margins(self, blocks: int, counts: Mask | None = None) -> Margins:
        """Those of each of so many blocks, counted in rows that are left, or in some of these; none where nothing
        changes."""
        left = ~self.gone if counts is None else ~self.gone & counts
        before = np.concatenate([[0], np.cumsum(left)])
        homes, changed = self.rows[HOME].to_numpy(), np.flatnonzero(self.gone | self.fresh)
        number, at = np.unique(homes[changed], return_index=True)
        first, last = changed[at], changed[np.append(at[1:], len(changed)) - 1]
        start, stop = np.searchsorted(homes, number), np.searchsorted(homes, number, "right")
        margins = Margins(np.zeros(blocks, np.int64), np.zeros(blocks, np.int64))
        margins.first[number] = before[first] - before[start]
        margins.last[number] = before[stop] - before[last + 1]
        return margins

    @cached_property
    def extents(self) -> Ranges:
        """The places of each row's partition."""
        return extents(self.sorted.part, ~self.gone)

    def reached(self, call: OverCall) -> tuple[Mask, Ranges]:
        """The rows that are left whose value of this call may have changed; and the rows each of these needs."""
        if looks_ahead_for_values(call):
            return self._reached_by_values(call)
        frame = frame_of(call)
        changed = self.moves if call.frame is None and not call.args else self.gone | self.fresh
        if frame.unit is Unit.ROWS:
            return self._reached_by_rows(*offsets(frame), changed)
        first, stop = self.sorted.bounds(frame)
        mask = (holding(Ranges(first, stop), changed) | self.fresh)[~self.gone]
        places = np.flatnonzero(mask)
        first, stop = (self.before[ends[~self.gone][places]] for ends in (first, stop))
        return mask, Ranges(np.minimum(first, places), np.maximum(stop, places + 1))

    def _reached_by_values(self, call: OverCall) -> tuple[Mask, Ranges]:
        """A value reaches back as far as too few others are between; and a row needs the next ones, as many as it
        counts."""
        valid, left = self.valid(call.args[0]), ~self.gone
        stays = np.flatnonzero((valid & left & ~self.fresh)[left])
        at = np.flatnonzero(valid & (self.gone | self.fresh))
        last = np.searchsorted(stays, self.before[at]) - call.offset
        found = np.where(last >= 0, np.append(stays, 0)[np.maximum(last, 0)], 0)
        mask = covered(Ranges(np.maximum(found, self.extents.start[at]), self.before[at]), self.size)
        mask |= self.fresh[left]
        places, values = np.flatnonzero(mask), np.flatnonzero(valid[left])
        wanted = np.searchsorted(values, places, "right") + call.offset - 1
        stop = np.append(values, self.size)[np.minimum(wanted, len(values))] + 1
        return mask, Ranges(places, np.minimum(stop, self.extents.stop[left][places]))

    def valid(self, column: str) -> Mask:
        """Which rows have a value in a column."""
        found: Mask = self.rows[column].is_valid().to_numpy()
        return found

    def _reached_by_rows(self, first: int | None, last: int | None, changed: Mask) -> tuple[Mask, Ranges]:
        at = np.flatnonzero(changed)
        inside = Ranges(self.extents.start[at], self.extents.stop[at])
        reach = rows_reach(self.before[at], self.gone[at], inside, first, last)
        mask = covered(reach, self.size) | self.fresh[~self.gone]
        places = np.flatnonzero(mask)
        inside = Ranges(self.extents.start[~self.gone][places], self.extents.stop[~self.gone][places])
        wide = (end if end is None else fit(end, 0) for end, fit in ((first, min), (last, max)))
        return mask, rows_frames(places, inside, *wide)
