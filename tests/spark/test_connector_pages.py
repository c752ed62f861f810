"""The SQL and Python on the pages of connectors run as they stand there, on the real systems, and every sink fills."""

from __future__ import annotations

import json
import struct
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from jars import DATABASES, MissingError, jars, skip
from postgres_server import Server
from pyspark.sql import SparkSession

from panes import Engine
from spark.input_files import at, write_file
from spark.kafka.topics import make, send, taken, without_repeats
from spark.page_scripts import python_of, ranked, replaced, script_of, shown_rows, table_of, with_columns

pytestmark = pytest.mark.spark
SHOPS = ("north", "south")
ORDERS = [
    {"id": n, "shop": SHOPS[n % 2], "amount": float(n), "at": at(20_000 * n), "ts": at(20_000 * n)} for n in range(9)
]
MINUTES = {(shop, minute): 0.0 for shop in SHOPS for minute in range(3)}
for order in ORDERS:
    MINUTES[str(order["shop"]), int(order["id"]) // 3] += float(order["amount"])  # type: ignore[call-overload, arg-type]


def test_kafka(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    names = (
        *("orders", "payments", "bank.accounts", "bank.invoices", "orders.csv", "orders.avro"),
        *("totals", "by_shop", "board", "news"),
    )
    topics = {f"topic = '{name}'": f"topic = 'page-{name}'" for name in names}  # other tests have some of these, too
    make(spark, kafka, *(f"page-{name}" for name in (*names, "meters")), "logs.web")
    orders: list[tuple[str, str | None]] = [(str(one["id"]), json.dumps(one)) for one in ORDERS]
    send(spark, kafka, "page-orders", orders)
    send(spark, kafka, "page-payments", [*orders, ("x", "{not JSON")])
    changes: list[dict[str, Any]] = [
        {"op": "c", "before": None, "after": {"id": 1, "balance": 10.0}},
        {"op": "c", "before": None, "after": {"id": 2, "balance": 30.0}},
        {"op": "u", "before": {"id": 1, "balance": 10.0}, "after": {"id": 1, "balance": 40.0}},
    ]
    send(spark, kafka, "page-bank.accounts", [("accounts", json.dumps(one)) for one in changes])
    send(spark, kafka, "page-orders.csv", [("k", "1;north;2.5"), ("k", "2;south;1"), ("k", "3;north;4")])
    send(spark, kafka, "page-orders.avro", [("k", avro_order(1, "north", 2.5)), ("k", avro_order(3, "south", -1.0))])
    send(spark, kafka, "page-meters", [("k", '{"meter": 7, "kwh": 1.5}'), ("k", '{"meter": 7, "kwh": 2}')])
    send(spark, kafka, "logs.web", [("host", "GET /"), ("other", "POST /a")])
    invoice = {"id": 1, "amount": "12.50", "paid": 1_704_067_200_000_001, "due": 19_723}
    send(spark, kafka, "page-bank.invoices", [("1", json.dumps({"op": "c", "after": invoice}))])
    known = {
        **topics,
        '"orders.avro"': '"page-orders.avro"',
        '"meters"': '"page-meters"',
        "127.0.0.1:9092": kafka,
        "path = 'bad'": f"path = '{tmp_path}/bad'",
        "h.key = 'host'": "h.key = 'from'",  # that of `send`: the key of the record
    }
    shown = shown_rows(Engine(spark), script_of("reference/kafka.md", known), tmp_path)

    assert len(with_columns(shown, "shop", "at", "total", "place")) == len(MINUTES)
    assert with_columns(shown, "id", "amount") == [(1, 2.5), (3, 4.0)]
    assert with_columns(shown, "shop", "amount") == [("north", 2.5), ("south", -1.0)]
    assert with_columns(shown, "topic", "host", "line") == [
        ("logs.web", "host", "GET /"), ("logs.web", "other", "POST /a"),
    ]  # fmt: skip
    assert with_columns(shown, "place", "meter", "kwh") == [(0, 7, 1.5), (1, 7, 2.0)]
    paid = datetime.fromtimestamp(1_704_067_200).replace(microsecond=1)  # in the zone of this process, as rows are
    assert with_columns(shown, "_change_type", "id", "amount", "paid_at", "due_on") == [
        ("insert", 1, Decimal("12.50"), paid, date(2024, 1, 1))
    ]
    totals = {(row["shop"], row["total"]) for _, row in without_repeats(taken(spark, kafka, "page-totals"))}
    assert totals == {(shop, total) for (shop, _), total in MINUTES.items()}
    by_shop = without_repeats(taken(spark, kafka, "page-by_shop"))
    assert sum(row["total"] for _, row in by_shop) == sum(MINUTES.values())
    assert spark.read.json(f"{tmp_path}/bad").count() == 1
    board = dict(without_repeats(taken(spark, kafka, "page-board")))
    assert board["1"] == {"id": 1, "balance": 40.0, "place": 1}
    news = [row for _, row in without_repeats(taken(spark, kafka, "page-news"))]
    assert table_of((row.pop("_change_type"), tuple(row.values())) for row in news) == {(1, 40.0, 1), (2, 30.0, 2)}


def avro_order(id_: int, shop: str, amount: float) -> bytes:
    """A record as Avro writes it; small numbers are a byte."""
    return bytes([id_ << 1, len(shop) << 1]) + shop.encode() + struct.pack("<d", amount)


def test_postgres(postgres: Server, spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path / "orders", 0, ORDERS)
    known = {"postgresql://user@127.0.0.1:5432/db": postgres.url}
    secret = {"password = 'secret'": f"password = '{postgres.password}'"}
    folder = {"'data/orders'": f"'{tmp_path}/orders'"}
    engine = Engine(spark)
    with psycopg.connect(postgres.url, password=postgres.password, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA sales")
        connection.execute("CREATE TABLE shops (shop text, city text, opened date)")
        connection.execute("INSERT INTO shops VALUES ('north', 'Oslo', '2020-01-01'), ('south', 'Rome', '2021-01-01')")
        try:
            shown = shown_rows(engine, script_of("reference/postgres.md", {**known, **secret, **folder}), tmp_path)
            assert len(shown) == len(MINUTES)
            totals = connection.execute("SELECT shop, total FROM totals").fetchall()
            assert sorted(totals) == sorted((shop, total) for (shop, _), total in MINUTES.items())
            assert connection.execute("SELECT count(*) FROM sales.board").fetchall() == [(len(ORDERS),)]
            news = connection.execute("SELECT _change_type, id, shop, place FROM news").fetchall()
            assert table_of((row[0], row[1:]) for row in news) == {
                (n, SHOPS[n % 2], 1 + sum(other % 2 == n % 2 for other in range(n + 1, len(ORDERS))))
                for n in range(len(ORDERS))
            }

            result = engine.sql("SELECT id, shop, row_number() OVER (ORDER BY id) AS n FROM orders EMIT CHANGES")
            (python,) = python_of("reference/postgres.md", {**known, '"checkpoints': f'"{tmp_path}/checkpoints'})
            names: dict[str, Any] = {"result": result, "password": postgres.password}
            exec(f"{python.rpartition(chr(10))[0]}\nquery = {python.rpartition(chr(10))[2]}", names)
            names["query"].processAllAvailable()
            names["query"].stop()
            assert connection.execute("SELECT id FROM board WHERE n = 9").fetchall() == [(8,)]
        finally:
            for one in (
                "SCHEMA sales",
                "TABLE shops",
                *(f"TABLE IF EXISTS {name}" for name in ("totals", "board", "news")),
            ):
                connection.execute(f"DROP {one} CASCADE".encode())


def test_delta(spark: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    feed = {"delta.enableChangeDataFeed": "true"}
    accounts = pa.table({"id": [1, 2, 3], "owner": ["ann", "ann", "bob"], "balance": [10.0, 30.0, 5.0]})
    write_deltalake(str(lake / "accounts"), accounts, configuration=feed)
    write_deltalake(str(lake / "accounts"), pa.table({"id": [4], "owner": ["bob"], "balance": [7.0]}), mode="append")
    columns = {name: [one[name] for one in ORDERS] for name in ("id", "shop", "amount", "at")}
    write_deltalake(str(lake / "orders"), pa.table(columns))
    write_deltalake(str(lake / "shops"), pa.table({"shop": list(SHOPS)}))
    known = {
        "'s3://lake/orders', starting_version = '12'": f"'{lake}/orders', starting_version = '0'",
        "'s3://lake/totals'": f"'{lake}/totals'",
        "'lake/": f"'{lake}/",
    }
    engine = Engine(spark)
    shown = shown_rows(engine, script_of("reference/delta.md", known), tmp_path)

    places = {(1, "ann", 2), (2, "ann", 1), (3, "bob", 2), (4, "bob", 1)}
    assert len(with_columns(shown, "shop", "at", "total")) == len(MINUTES)
    assert with_columns(shown, "_change_type", "id", "balance") == [("insert", 4, 7.0)]
    assert ranked(lake / "board") == places
    news = DeltaTable(str(lake / "news")).to_pyarrow_table().to_pylist()
    assert table_of((row.pop("_change_type"), tuple(row.values())) for row in news) == places
    totals = DeltaTable(str(lake / "totals")).to_pyarrow_table().to_pylist()
    assert sorted((one["shop"], one["total"]) for one in totals) == sorted(
        (shop, total) for (shop, _), total in MINUTES.items()
    )

    tables, sink = python_of("reference/delta.md", {'"lake/': f'"{lake}/', '"checkpoints': f'"{tmp_path}/checkpoints'})
    names: dict[str, Any] = {"engine": engine}
    exec(tables, names)
    assert engine.sql("SELECT count(*) AS n FROM shops").collect()[0]["n"] == len(SHOPS)
    imports, statement = replaced(sink, {f'"{lake}/board"': f'"{lake}/own"'}).split("\n\n")
    exec(f"{imports}\nquery = {statement}", names)
    names["query"].processAllAvailable()
    names["query"].stop()
    assert ranked(lake / "own") == places


def test_jdbc(postgres: Server, spark: SparkSession, tmp_path: Path) -> None:
    """With another database in its place: SQL Server's own is not tried."""
    try:
        jars("databases", DATABASES, alone=True)
    except MissingError as missing:
        skip(missing)
    write_file(tmp_path / "orders", 0, ORDERS)
    url = f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres"
    known = {
        "jdbc:sqlserver://127.0.0.1:1433;databaseName=db": url,
        "com.microsoft.sqlserver.jdbc.SQLServerDriver": "org.postgresql.Driver",
        "user = 'me'": f"user = '{postgres.user}'",
        "'secret'": f"'{postgres.password}'",
        "'data/orders'": f"'{tmp_path}/orders'",
    }
    with psycopg.connect(postgres.url, password=postgres.password, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA dbo")
        columns = "id bigint PRIMARY KEY, shop text, amount double precision, place integer"
        connection.execute(f"CREATE TABLE dbo.board ({columns})".encode())
        try:
            shown_rows(Engine(spark), script_of("reference/jdbc.md", known), tmp_path)
            found = connection.execute("SELECT id FROM dbo.board WHERE place = 1 ORDER BY id").fetchall()
            assert found == [(7,), (8,)]
            news = connection.execute(
                'SELECT "_change_type", "id", "shop", "amount", "orders" FROM dbo.news'
            ).fetchall()
            assert table_of((row[0], row[1:]) for row in news) == {
                (n, SHOPS[n % 2], float(n), len(range(n % 2, len(ORDERS), 2))) for n in range(len(ORDERS))
            }
        finally:
            connection.execute("DROP SCHEMA dbo CASCADE")
