"""Nexmark's queries, as streams that end, beside DuckDB over the same rows as one batch."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

import panes
from benchmarks.nexmark.generator import tables, write
from benchmarks.nexmark.queries import QUERIES, Query, files

EVENTS = 30_000  # 30 seconds: enough for windows to close and sessions to end
FILES = 2

WEIGHT = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write(EVENTS, FILES, folder)
    return folder


def found(db: duckdb.DuckDBPyConnection, query: str, columns: str = "") -> list[tuple[object, ...]]:
    """The rows of a query, sorted, floats to nine digits."""
    chosen = f"SELECT {columns} FROM ({query})" if columns else query
    values = db.sql(chosen).fetchall()
    return sorted(tuple(float(f"{one:.9g}") if isinstance(one, float) else one for one in row) for row in values)


@pytest.mark.spark
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_a_query_gives_what_duckdb_gives(query: Query, rows: Path, spark: SparkSession, tmp_path: Path) -> None:
    engine = panes.Engine(spark)
    query.declare(engine, files(spark, rows, 1))
    changelog = ", changelog = 'rows'" if query.changes else ""
    script = f"""
        CREATE SINK result WITH (connector = 'parquet', path = '{tmp_path}/result'{changelog});
        INSERT INTO result {query.sql};
    """
    engine.run(script, once=True, flush=True)
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        read = f"SELECT * FROM read_parquet('{rows}/{query.stream}/*.parquet')"
        if query.stream == "winning":
            read = f"SELECT id, seller, price, ts FROM ({read}) GROUP BY ALL HAVING sum({WEIGHT}) = 1"
        db.execute(f"CREATE TABLE {query.stream} AS SELECT * REPLACE (epoch_ms(ts) AS ts) FROM ({read})")
        written = f"SELECT * FROM read_parquet('{tmp_path}/result/*.parquet')"
        if query.changes:
            written = f"SELECT * EXCLUDE (_change_type) FROM ({written}) GROUP BY ALL HAVING sum({WEIGHT}) = 1"
        times = [row[0] for row in db.sql(f"DESCRIBE {written}").fetchall() if row[1].startswith("TIMESTAMP")]
        replaced = ", ".join(f"epoch_ms({name}) AS {name}" for name in times)
        db.execute(f"CREATE TABLE result AS SELECT * {f'REPLACE ({replaced})' if replaced else ''} FROM ({written})")
        columns = ", ".join(row[0] for row in db.sql(f"DESCRIBE {query.answer}").fetchall())
        expected = found(db, query.answer)
        assert found(db, query.sees, columns) == expected
    assert expected


def test_rows_are_the_same_every_time_and_in_the_order_of_time() -> None:
    one, other = tables(5_000), tables(5_000)
    assert one == other
    for name in ("persons", "auctions", "bids"):
        times = one[name]["ts"].to_pylist()
        assert times == sorted(set(times))


def test_the_changelog_of_winning_bids_adds_up_to_the_highest_bids() -> None:
    made = tables(5_000)
    highest: dict[int, int] = {}
    for row in made["bids"].to_pylist():
        highest[row["auction"]] = max(row["price"], highest.get(row["auction"], 0))
    table: dict[int, int] = {}
    for row in made["winning"].to_pylist():
        if row["_change_type"] == "update_preimage":
            assert table.pop(row["id"]) == row["price"]
        else:
            assert row["id"] not in table
            table[row["id"]] = row["price"]
    assert table == highest
