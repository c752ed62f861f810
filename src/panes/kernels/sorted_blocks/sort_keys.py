"""Sort keys: bytes that compare as rows do, so that rows of any types and directions are found by searching.

    partition   p            of PARTITION BY p ORDER BY o DESC, and id to make the order total
    order       p, o
    row         p, o, id

Each key is the beginning of the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from panes.kernels.duck import query, sortable_column
from panes.kernels.sorted_blocks.ranges import Places

AT = "row_at"
UPWARD = "ASC NULLS FIRST"
Directed = list[tuple[str, str]]


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

    @property
    def _directed(self) -> tuple[Directed, Directed, Directed]:
        """What the keys of partition, order and row are made of."""
        partition = [(name, UPWARD) for name in self.partition]
        order = [*partition, *self.order]
        known = {name for name, _ in order}
        return partition, order, [*order, *((name, UPWARD) for name in self.tie_break if name not in known)]

    def permutation(self, rows: pa.Table) -> Places:
        """The rows' places in order; of equal rows the first is first."""
        _, _, row = self._directed
        order = ", ".join([*(f"{_sortable(name, rows)} {direction}" for name, direction in row), AT])
        found: Places = query(f"SELECT {AT} FROM parts ORDER BY {order}", parts=self._numbered(rows))[AT].to_numpy()
        return found

    def keys(self, rows: pa.Table) -> Keys:
        """The three sort keys of each row, each the beginning of the next."""
        texts = ", ".join(f"{_sort_key(columns, rows)} AS k{at}" for at, columns in enumerate(self._directed))
        found = query(f"SELECT {AT}, {texts} FROM parts", parts=self._numbered(rows))
        order = found[AT].to_numpy()
        found = found if (order[1:] > order[:-1]).all() else found.take(pa.array(np.argsort(order)))
        return Keys(*(_binary(found[f"k{at}"]) for at in range(3)))

    def reach(self, rows: pa.Table, bounds: Sequence[str], groups: Places) -> Reach:
        """The least and the greatest order key of each group of rows, were the order values those of `bounds`."""
        names = list(dict.fromkeys((*self.partition, *bounds)))
        partition, _, _ = self._directed
        keys = [_sort_key([*partition, (column, self.order[0][1])], rows) for column in bounds]
        least, most = (", ".join(f"{pick}({key})" for key in keys) for pick in ("min", "max"))
        found = query(
            f"SELECT {AT}, least({least}) AS low, greatest({most}) AS high FROM parts GROUP BY {AT} ORDER BY {AT}",
            parts=rows.select(names).append_column(AT, pa.array(groups)),
        )
        return Reach(_binary(found["low"]), _binary(found["high"]))

    def _numbered(self, rows: pa.Table) -> pa.Table:
        return rows.select(self.columns).append_column(AT, pa.array(np.arange(rows.num_rows)))


# Values of every type that a key can have, with their extremes, as DuckDB writes them.
SAMPLES = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("-128", "127"),
    "SMALLINT": ("-32768", "1"),
    "INTEGER": ("-2147483648", "1"),
    "BIGINT": ("-9223372036854775808", "1"),
    "FLOAT": ("'-0.0'", "'nan'", "'inf'", "1.5"),
    "DOUBLE": ("'-0.0'", "'nan'", "'-inf'", "1e300"),
    "DECIMAL(9, 2)": ("-1.25", "0"),
    "DECIMAL(18, 2)": ("3", "-7"),
    "DECIMAL(38, 10)": ("-1.5", "12345678901234567890"),
    "VARCHAR": ("''", "'aä€𝄞'", "chr(1)"),
    "BLOB": ("''::BLOB", r"'\x00\x01\xFF'::BLOB"),
    "DATE": ("'0001-01-01'", "'9999-12-31'"),
    "TIME": ("'12:00:00'",),
    "TIMESTAMP": ("'0001-01-01'", "'2024-01-01 00:00:00.000001'"),
    "TIMESTAMPTZ": ("'1969-12-31 23:59:59+00'",),
    "INTEGER[]": ("[1, NULL]", "[]"),
    "STRUCT(a INTEGER, b VARCHAR)": ("{'a': 1, 'b': NULL}",),
}


@cache
def encoding() -> str:
    """Which bytes this DuckDB makes of values: equal for all releases whose sort keys are the same.

    Keys in state are known by it, since no release promises the next one's. 1.4, 1.5 and 2.0 have the same.
    """
    keys = [
        _made([f"({value})::{type_}", f"'{direction}'"])
        for type_, values in SAMPLES.items()
        for value in (*values, "NULL")
        for direction in (UPWARD, "DESC NULLS LAST")
    ]
    row = query(f"SELECT {', '.join(f'{key} AS k{at}' for at, key in enumerate(keys))}")
    digest = blake2b(digest_size=8)
    for column in row.columns:
        digest.update(_binary(column)[0].as_py() + b"|")
    return digest.hexdigest()


def _sortable(name: str, rows: pa.Table) -> str:
    return sortable_column(name, rows.schema.field(name).type)


def _sort_key(columns: Directed, rows: pa.Table) -> str:
    return _made([part for name, direction in columns for part in (_sortable(name, rows), f"'{direction}'")])


def _made(parts: Iterable[str]) -> str:
    """Always bytes: DuckDB makes short keys of fixed length numbers, and a text in front prevents that."""
    return f"create_sort_key({', '.join(['NULL::VARCHAR', repr(UPWARD), *parts])})"


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
