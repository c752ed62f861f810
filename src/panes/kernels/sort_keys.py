"""Sort keys: bytes that compare as rows do, so that rows of any types and directions are found by searching.

PARTITION BY p ORDER BY o DESC, and id to make it total
partition   key of p             the beginning of
order       key of p, o          which is the beginning of
row         key of p, o, id
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.kernels.duck import query, quoted
from panes.kernels.frames import Places

AT = "row_at"
UPWARD = "ASC NULLS FIRST"


@dataclass(frozen=True)
class Keys:
    """Sort keys of rows, such as those that change; mostly the rows are sorted, and so are all three."""

    partition: pa.Array
    order: pa.Array
    row: pa.Array

    def slice(self, at: int, number: int) -> Keys:
        return Keys(*(key.slice(at, number) for key in (self.partition, self.order, self.row)))


@dataclass(frozen=True)
class Reach:
    """From which order key to which the RANGE frames of some rows reach, both included."""

    low: pa.Array
    high: pa.Array


@dataclass(frozen=True)
class Sorting:
    """Columns with their directions: `order` are pairs such as ("price", "DESC NULLS LAST")."""

    partition: tuple[str, ...]
    order: tuple[tuple[str, str], ...]
    tie_break: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.partition, *(name for name, _ in self.order), *self.tie_break)))

    def permutation(self, rows: pa.Table) -> Places:
        """The rows' places in order; of equal rows the first is first."""
        directed = [*((name, UPWARD) for name in self.partition), *self.order]
        directed += [(name, UPWARD) for name in self.tie_break]
        order = ", ".join([*(f"{quoted(name)} {direction}" for name, direction in directed), AT])
        found: Places = query(f"SELECT {AT} FROM parts ORDER BY {order}", parts=self._numbered(rows))[AT].to_numpy()
        return found

    def keys(self, rows: pa.Table) -> Keys:
        """The three sort keys of each row, each the beginning of the next."""
        partition = [(name, UPWARD) for name in self.partition]
        ordered = [*partition, *self.order]
        whole = [*ordered, *((name, UPWARD) for name in self.tie_break)]
        texts = ", ".join(f"{_sort_key(columns)} AS k{at}" for at, columns in enumerate((partition, ordered, whole)))
        found = query(f"SELECT {AT}, {texts} FROM parts", parts=self._numbered(rows))
        order = found[AT].to_numpy()
        found = found if (order[1:] > order[:-1]).all() else found.take(pa.array(np.argsort(order)))
        return Keys(*(_binary(found[f"k{at}"]) for at in range(3)))

    def reach(self, rows: pa.Table, bounds: Sequence[str], groups: Places) -> Reach:
        """The least and the greatest order key of each group of rows, were the order values those of `bounds`."""
        names = list(dict.fromkeys((*self.partition, *bounds)))
        partition = [(name, UPWARD) for name in self.partition]
        keys = [_sort_key([*partition, (column, self.order[0][1])]) for column in bounds]
        least, most = (", ".join(f"{pick}({key})" for key in keys) for pick in ("min", "max"))
        found = query(
            f"SELECT {AT}, least({least}) AS low, greatest({most}) AS high FROM parts GROUP BY {AT} ORDER BY {AT}",
            parts=rows.select(names).append_column(AT, pa.array(groups)),
        )
        return Reach(_binary(found["low"]), _binary(found["high"]))

    def _numbered(self, rows: pa.Table) -> pa.Table:
        return rows.select(self.columns).append_column(AT, pa.array(np.arange(rows.num_rows)))


def _sort_key(columns: Sequence[tuple[str, str]]) -> str:
    """Always bytes: DuckDB makes short keys of fixed length numbers, and a text in front prevents that."""
    parts = ["NULL::VARCHAR", f"'{UPWARD}'"]
    for name, direction in columns:
        parts += [quoted(name), f"'{direction}'"]
    return f"create_sort_key({', '.join(parts)})"


def _binary(column: pa.ChunkedArray) -> pa.Array:
    joined = column.cast(pa.binary()).combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def beginnings(keys: pa.Array, lengths: pa.Array) -> pa.Array:
    """The first bytes of each key.

    >>> beginnings(pa.array([b"abc", b"de", b"f"]), pa.array([2, 1, 0], pa.int32())).to_pylist()
    [b'ab', b'd', b'']
    """
    _, ends, data = keys.buffers()
    starts = np.frombuffer(ends, np.int32)[keys.offset : keys.offset + len(keys)]
    many = lengths.to_numpy()
    offsets = np.concatenate([[0], np.cumsum(many)]).astype(np.int32)
    taken = np.frombuffer(data or b"", np.uint8)[np.repeat(starts - offsets[:-1], many) + np.arange(offsets[-1])]
    return pa.Array.from_buffers(pa.binary(), len(keys), [None, pa.py_buffer(offsets), pa.py_buffer(taken)])
