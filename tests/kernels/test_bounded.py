"""Tables cut and put together: no row is lost, and none is too large."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.bounded import bounded, gathered_parts

TEXTS = st.lists(st.text(max_size=30), max_size=40)
LISTS = pa.list_(pa.string())


def table(texts: list[str]) -> pa.Table:
    return pa.table({"t": pa.array(texts, pa.string()), "l": pa.array([[text] for text in texts], LISTS)})


@given(TEXTS, st.integers(1, 300), st.integers(0, 5))
def test_slices_are_the_table_and_bounded(texts: list[str], most: int, skipped: int) -> None:
    rows = table(texts).slice(skipped)
    parts = list(bounded(rows, most))
    assert pa.concat_tables([rows.slice(0, 0), *parts]).equals(rows)
    assert all(part.num_rows == 1 or (part.num_rows and part.nbytes <= most) for part in parts)


@given(st.lists(TEXTS, max_size=6), st.integers(1, 60), st.integers(1, 3_000))
def test_parts_are_the_tables_and_no_larger_than_needed(texts: list[list[str]], rows: int, most: int) -> None:
    tables = [table(one) for one in texts]
    parts = list(gathered_parts(tables, rows, most))
    empty = table([])
    assert pa.concat_tables([empty, *parts]).equals(pa.concat_tables([empty, *tables]))
    largest = max((one.num_rows for one in tables), default=0), max((one.nbytes for one in tables), default=0)
    assert all(part.num_rows < rows + largest[0] and part.nbytes < most + largest[1] + 100 for part in parts)
    assert all(part.num_rows >= rows or part.nbytes >= most for part in parts[:-1])


def test_tables_are_asked_for_one_by_one() -> None:
    asked: list[int] = []

    def tables() -> Iterator[pa.Table]:
        for at in range(5):
            asked.append(at)
            yield table(["a"] * 3)

    parts = gathered_parts(tables(), 6, 1 << 20)
    assert (next(parts).num_rows, asked) == (6, [0, 1])
