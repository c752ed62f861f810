"""What is known of each key: where its row stands, or all of it, and its last sequence; in sorted blocks, by key.

A micro-batch reads and writes the blocks into which its keys belong, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import joined
from panes.kernels.kernel import Chunk
from panes.kernels.sorted_blocks.blocks import HOME, Directory
from panes.kernels.sorted_blocks.cutting import Cutter
from panes.kernels.sorted_blocks.ranges import Places
from panes.kernels.sorted_blocks.sort_keys import Keys, Sorting

INDEX = "index "


@dataclass(frozen=True)
class KeyIndex:
    """`key` identifies a row, `columns` are what is kept of it; `size` is that of a block, in rows.

    Rows that are alike in `within`, the first columns of the key, are found together.
    """

    key: tuple[str, ...]
    columns: tuple[str, ...]
    size: int
    within: tuple[str, ...] = ()

    def read(self, chunks: Iterable[Chunk]) -> Directory:
        return Cutter(self.size, self._sorting).read(chunks, INDEX)

    def find(self, directory: Directory, rows: pa.Table) -> pa.Table:
        """What is known of the keys of these rows."""
        blocks = directory.with_any(self._sorted(rows)[0])
        if not blocks.any():
            return rows.select(self.columns).slice(0, 0)
        known = directory.load(blocks).select(self.columns)
        return joined(known, "SEMI", rows, self.key)

    def alike(self, directory: Directory, rows: pa.Table) -> pa.Table:
        """What is known of all keys that agree with one of these rows in `within`."""
        blocks = directory.of_partitions(self._sorted(rows)[0])
        if not blocks.any():
            return rows.select(self.columns).slice(0, 0)
        return joined(directory.load(blocks).select(self.columns), "SEMI", rows, self.within)

    def put(self, directory: Directory, changed: pa.Table, gone: pa.Table) -> tuple[Chunk, ...]:
        """The chunks after rows have come or changed their places, and after those with other keys are gone."""
        touched = pa.concat_tables([changed.select(self.key), gone.select(self.key)], promote_options="permissive")
        if not touched.num_rows:
            return directory.write()
        keys, order = self._sorted(touched)
        blocks = directory.with_any(keys)
        loaded = blocks | directory.neighbours(blocks & (directory.sizes < self.size // 4))
        homes = directory.homes_of(keys.row, order)
        new = changed.select(self.columns).append_column(HOME, pa.array(homes[: changed.num_rows]))
        old = directory.load(loaded) if loaded.any() else new.slice(0, 0)
        rows = pa.concat_tables([joined(old, "ANTI", touched, self.key), new], promote_options="permissive")
        rows = rows.take(pa.array(self._sorting.permutation(rows)))
        dirty = np.bincount(homes, minlength=len(directory)) > 0
        return Cutter(self.size, self._sorting).rewritten(directory, rows, dirty, loaded, self.columns).write()

    def kept(self, directory: Directory, keeps: Callable[[pa.Table], pa.ChunkedArray]) -> Directory:
        """Without the rows that are not kept; all blocks, at least one, are read for it."""
        loaded = np.ones(len(directory), np.bool_)
        rows = directory.load(loaded)
        keep = keeps(rows)
        homes = rows.filter(pc.invert(keep))[HOME].to_numpy()
        dirty = np.bincount(homes, minlength=len(directory)) > 0
        return Cutter(self.size, self._sorting).rewritten(directory, rows.filter(keep), dirty, loaded, self.columns)

    @cached_property
    def _sorting(self) -> Sorting:
        return Sorting(self.within, (), tuple(name for name in self.key if name not in self.within))

    def _sorted(self, rows: pa.Table) -> tuple[Keys, Places]:
        order = self._sorting.permutation(rows)
        return self._sorting.keys(rows.select(self.key).take(pa.array(order))), order
