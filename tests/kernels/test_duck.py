"""Joins and names on Arrow tables: NULL agrees with NULL, rows keep their order, any name can be quoted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.duck import connection, joined, limit_memory, places, query, quoted, sortable_column

Row = tuple[str | None, int | None]

ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, None])), max_size=12)
KINDS: list[Literal["SEMI", "ANTI"]] = ["SEMI", "ANTI"]


def table(rows: list[Row]) -> pa.Table:
    names, numbers = [name for name, _ in rows], [number for _, number in rows]
    return pa.table({"a b": pa.array(names, pa.string()), 'c"d': pa.array(numbers, pa.int64())})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(ROWS, ROWS, st.sampled_from([(), (0,), (1,), (0, 1)]))
def test_joins_are_their_definition(
    kind: Literal["SEMI", "ANTI"], rows: list[Row], others: list[Row], columns: tuple[int, ...]
) -> None:
    known = {tuple(row[at] for at in columns) for row in others}
    expected = [
        place for place, row in enumerate(rows) if (tuple(row[at] for at in columns) in known) == (kind == "SEMI")
    ]
    by = [table([]).column_names[at] for at in columns]
    assert places(table(rows), kind, table(others), by).tolist() == expected
    assert joined(table(rows), kind, table(others), by).equals(table([rows[at] for at in expected]))


def test_columns_that_duckdb_does_not_have_pass() -> None:
    """Only the columns that are compared go through DuckDB."""
    odd = pa.array([1, 2], pa.decimal256(50, 2))
    rows = pa.table({"k": [1, 2], "odd": odd})
    assert joined(rows, "SEMI", pa.table({"k": [2]}), ["k"])["odd"].to_pylist() == [odd[1].as_py()]


def test_tables_are_known_for_one_query_only() -> None:
    assert query("SELECT sum(v) AS s FROM some_rows", some_rows=pa.table({"v": [1, 2]}))["s"].to_pylist() == [3]
    with pytest.raises(duckdb.CatalogException):
        query("SELECT * FROM some_rows")
    with pytest.raises(duckdb.BinderException):
        query("SELECT nowhere FROM some_rows", some_rows=pa.table({"v": [1]}))
    with pytest.raises(duckdb.CatalogException):
        connection().sql("SELECT * FROM some_rows")


@pytest.fixture
def another_connection() -> Iterator[None]:
    """Limits are those of a process: here they are of a connection that is gone afterwards."""
    connection.cache_clear()
    yield
    connection().close()
    connection.cache_clear()


@pytest.mark.usefixtures("another_connection")
def test_what_does_not_fit_is_written_to_the_folder(tmp_path: Path) -> None:
    """A sort, a GROUP BY and frames of twice the memory: without the folder they fail, with it they are right."""
    count, limit = 600_000, 64 << 20
    rows = pa.table(
        {
            "k": np.random.default_rng(1).permutation(count),
            "text": pa.array(np.arange(count) + 10**15).cast(pa.string()),
            **{f"v{number}": np.arange(count) for number in range(28)},
        }
    )
    assert rows.nbytes > 2 * limit
    summed = ", ".join(f"sum(v{number}) AS s{number}" for number in range(28))
    queries = {
        "sort": "SELECT * FROM rows_ ORDER BY k",
        "group": f"SELECT k, min(text) AS text, {summed} FROM rows_ GROUP BY k",
        "frames": "SELECT k, v0 + sum(v1) OVER (ORDER BY k ROWS 9 PRECEDING) * 0 AS s0, * EXCLUDE (k) FROM rows_",
    }
    limit_memory(limit, tmp_path / "nowhere" / "spilled")
    for sql in queries.values():
        with pytest.raises(duckdb.IOException):
            query(sql, rows_=rows)
    connection().close()
    connection.cache_clear()
    limit_memory(limit, tmp_path / "spilled")
    for name, sql in queries.items():
        found = query(sql, rows_=rows)
        number = "v0" if name == "sort" else "s0"
        if name != "sort":  # groups come in any order
            found = found.select(["k", "text", number]).sort_by("k")
        assert found["k"].equals(pa.chunked_array([np.arange(count)]))
        places = np.argsort(rows["k"].to_numpy())
        assert (found[number].cast(pa.int64()).to_numpy() == places).all()
        assert found["text"].combine_chunks().equals(rows["text"].combine_chunks().take(pa.array(places)))
        left = sum(path.stat().st_size for path in (tmp_path / "spilled").iterdir())
        assert left < 1 << 20
    connection().close()
    assert not (tmp_path / "spilled").exists()


@pytest.mark.usefixtures("another_connection")
def test_limits_may_be_set_again(tmp_path: Path) -> None:
    """As for each task of a worker; the folder's name may be any."""
    for size in (200, 100, 100):
        limit_memory(size << 20, tmp_path / "it's")
        found = query("SELECT current_setting('memory_limit') AS m, current_setting('temp_directory') AS t")
        assert found.to_pylist() == [{"m": f"{size}.0 MiB", "t": str(tmp_path / "it's")}]


@given(st.text(min_size=1).filter(lambda name: "\0" not in name))
def test_any_name_can_be_quoted(name: str) -> None:
    assert query(f"SELECT 1 AS {quoted(name)}").column_names == [name]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.list_(pa.int64()), [[], [None], [None, 5], [-1], [-1, None], [-1, 0], [3]]),
        (pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": a, "b": b} for a in (None, 1) for b in (None, "")]),
        (pa.list_(pa.list_(pa.int64())), [[None], [[]], [[None]], [[1]]]),
        (pa.int64(), [-1, 0, 1]),
    ],
)
def test_null_is_least_inside_what_is_nested(type_: pa.DataType, values: list[object]) -> None:
    rows = pa.table({"v": pa.array(values[::-1], type_), "place": range(len(values))[::-1]})
    found = query(f"SELECT place FROM rows_ ORDER BY {sortable_column('v', type_)}", rows_=rows)
    assert found["place"].to_pylist() == list(range(len(values)))


@given(st.integers(0, 7), st.integers(0, 7), st.integers(0, 7))
def test_any_slice_of_nested_columns_can_be_read(start: int, length: int, cut: int) -> None:
    """Also beside a column that is cut elsewhere; DuckDB itself refuses both."""
    values = [{"n": n, "inner": {"t": str(n)}} if n % 3 else None for n in range(7)]
    nested = pa.table({"s": pa.array(values), "l": pa.array([[{"q": n}] * n for n in range(7)])}).slice(start, length)
    flat = np.arange(nested.num_rows)
    parts = pa.table(nested.columns, names=["s", "l"]).append_column("n", pa.chunked_array([flat[:cut], flat[cut:]]))
    assert query("SELECT * FROM parts", parts=parts).to_pylist() == parts.to_pylist()
