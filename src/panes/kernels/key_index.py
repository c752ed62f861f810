"""Where the row of each key stands: the sort columns of all rows in sorted blocks, by key.

A micro-batch reads and writes the blocks into which its keys belong, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from panes.kernels.blocks import HOME, Cutter, Directory, Keys, Sorting
from panes.kernels.duck import query, quoted, same
from panes.kernels.frames import Places
from panes.kernels.kernel import Chunk

INDEX = "index "


@dataclass(frozen=True)
class KeyIndex:
    """`key` identifies a row, `columns` are what is kept of it; `size` is that of a block, in rows."""

    key: tuple[str, ...]
    columns: tuple[str, ...]
    size: int

    def find(self, chunks: Sequence[Chunk], rows: pa.Table) -> pa.Table:
        """What is known of the keys of these rows."""
        directory = Directory.read(chunks, INDEX)
        blocks = directory.with_any(self._sorted(rows)[0])
        if not blocks:
            return rows.select(self.columns).slice(0, 0)
        return self._joined("SEMI", pa.concat_tables(directory.load(sorted(blocks))).select(self.columns), rows)

    def put(self, chunks: Sequence[Chunk], changed: pa.Table, gone: pa.Table) -> tuple[Chunk, ...]:
        """The chunks after rows have come or changed their places, and after those with other keys are gone."""
        directory = Directory.read(chunks, INDEX)
        touched = pa.concat_tables([changed.select(self.key), gone.select(self.key)], promote_options="permissive")
        if not touched.num_rows:
            return directory.write()
        keys, order = self._sorted(touched)
        blocks = directory.with_any(keys)
        loaded = sorted(blocks | directory.small(blocks, self.size // 4))
        homes = directory.homes_of(keys.row, order)
        new = changed.select(self.columns).append_column(HOME, pa.array(homes[: changed.num_rows]))
        old = pa.concat_tables(directory.load(loaded)) if loaded else new.slice(0, 0)
        rows = pa.concat_tables([self._joined("ANTI", old, touched), new], promote_options="permissive")
        rows = rows.take(pa.array(self._sorting.permutation(rows)))
        cutter = Cutter(self.size, self._sorting, name=INDEX)
        return cutter.rewritten(directory, rows, set(homes.tolist()), set(loaded), self.columns).write()

    @cached_property
    def _sorting(self) -> Sorting:
        return Sorting((), (), self.key)

    def _sorted(self, rows: pa.Table) -> tuple[Keys, Places]:
        order = self._sorting.permutation(rows)
        return self._sorting.keys(rows.select(self.key).take(pa.array(order))), order

    def _joined(self, kind: str, rows: pa.Table, keys: pa.Table) -> pa.Table:
        """The rows that have one of these keys, or none."""
        names = ", ".join(f"l.{quoted(name)}" for name in rows.column_names)
        sql = f"SELECT {names} FROM left_side l {kind} JOIN right_side r ON {same(self.key, 'l', 'r')}"
        return query(sql, left_side=rows, right_side=keys.select(self.key))
