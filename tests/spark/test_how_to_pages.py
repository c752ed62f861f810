"""The scripts of the how-to pages on the real systems, as they stand there: each sink holds what the page says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from postgres_server import Server
from pyspark.sql import SparkSession

import panes
from panes import Engine
from spark.input_files import at, write_file
from spark.kafka.topics import make, send, taken, without_repeats
from spark.page_scripts import python_of, ranked, script_of, shown_rows, with_columns

pytestmark = pytest.mark.spark
ACCOUNTS = [(1, "ann", 10.0), (2, "ann", 30.0), (3, "bob", 5.0), (4, "bob", 7.0)]
PLACES = {(1, "ann", 2), (2, "ann", 1), (3, "bob", 2), (4, "bob", 1)}
URL = "postgresql://user@127.0.0.1:5432/db"


def test_from_kafka_to_kafka(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    make(spark, kafka, "how-clicks", "how-visits")
    minutes = (0, 10, 60, 70)  # two visits
    clicks: list[tuple[str, str | bytes | None]] = [
        ("k", json.dumps({"user_id": "ann", "page": "/", "at": at(minute * 60_000)})) for minute in minutes
    ]
    send(spark, kafka, "how-clicks", [*clicks, ("k", "{not JSON")])
    known = {
        "127.0.0.1:9092": kafka,
        "topic = 'clicks'": "topic = 'how-clicks'",
        "topic = 'visits'": "topic = 'how-visits'",
        "path = 'unreadable'": f"path = '{tmp_path}/unreadable'",
    }
    script = script_of("how-to/kafka.md", known)
    into, _, reading = script.partition("CREATE STREAM results")
    shown_rows(Engine(spark), into, tmp_path)
    found = [row for _, row in without_repeats(taken(spark, kafka, "how-visits"))]
    assert sorted((row["user_id"], row["pages"]) for row in found) == [("ann", 2), ("ann", 2)]
    assert spark.read.json(f"{tmp_path}/unreadable").count() == 1

    again = taken(spark, kafka, "how-visits").selectExpr(
        "'ann' AS key", "value", "array(struct('panes-id' AS key, CAST(id AS BINARY) AS value)) AS headers"
    )
    again.write.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", "how-visits").save()
    shown = shown_rows(Engine(spark), f"CREATE STREAM results{reading}", tmp_path / "reading")
    assert with_columns(shown, "user_id", "pages") == [("ann", 2), ("ann", 2)]


def test_a_table_that_is_kept_up_to_date(
    kafka: str, postgres: Server, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(spark, kafka, "how-accounts", "how-payments")
    envelopes: list[tuple[str, str | bytes | None]] = [
        ("k", json.dumps({"op": "c", "before": None, "after": {"id": id_, "owner": owner, "balance": balance}}))
        for id_, owner, balance in ACCOUNTS
    ]
    send(spark, kafka, "how-accounts", envelopes)
    paid = {"id": 1, "owner": "ann", "amount": 2.5, "ts": at(0)}
    send(spark, kafka, "how-payments", [("k", json.dumps(paid))])
    lake = tmp_path / "lake"
    columns = dict(zip(("id", "owner", "balance"), map(list, zip(*ACCOUNTS, strict=True)), strict=True))
    write_deltalake(str(lake / "accounts"), pa.table(columns), configuration={"delta.enableChangeDataFeed": "true"})
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    known = {
        "127.0.0.1:9092": kafka,
        "'bank.accounts'": "'how-accounts'",
        "topic = 'payments', format = 'json'": "topic = 'how-payments', format = 'json', starting_offsets = 'earliest'",
        URL: postgres.url,
        "'lake/": f"'{lake}/",
        "table = 'today'": "table = 'how_today'",
    }
    engine = Engine(spark)
    with psycopg.connect(postgres.url, password=postgres.password, autocommit=True) as connection:
        try:
            shown_rows(engine, script_of("how-to/changelog-into-a-table.md", known), tmp_path)
            assert set(connection.execute("SELECT id, owner, place FROM ranks").fetchall()) == PLACES
            assert connection.execute("SELECT owner, paid FROM how_today").fetchall() == [("ann", 2.5)]
            assert ranked(lake / "ranks") == PLACES

            (python,) = python_of(
                "how-to/changelog-into-a-table.md", {URL: postgres.url, '"checkpoint"': f'"{tmp_path}/own"'}
            )
            before, _, statement = python.rpartition("\n")
            names: dict[str, Any] = {"engine": engine, "password": postgres.password}
            exec(f"{before}\nquery = {statement}", names)
            names["query"].processAllAvailable()
            names["query"].stop()
            assert set(connection.execute("SELECT id, owner, place FROM my_ranks").fetchall()) == PLACES
        finally:
            for name in ("ranks", "how_today", "my_ranks"):
                connection.execute(f"DROP TABLE IF EXISTS {name}".encode())


def test_a_dimension_table(postgres: Server, spark: SparkSession, tmp_path: Path) -> None:
    orders = [{"id": n, "shop": shop, "amount": 1.0, "ts": at(n * 1000)} for n, shop in enumerate(["n", "s", "x"])]
    write_file(tmp_path / "orders", 0, orders)
    known = {
        URL: postgres.url,
        "'secret'": f"'{postgres.password}'",
        "'data/orders'": f"'{tmp_path}/orders'",
        "table = 'shops'": "table = 'how_shops'",
    }
    with psycopg.connect(postgres.url, password=postgres.password, autocommit=True) as connection:
        connection.execute("CREATE TABLE how_shops (shop text, region text)")
        connection.execute("INSERT INTO how_shops VALUES ('n', 'cold'), ('s', 'warm')")
        try:
            shown = shown_rows(Engine(spark), script_of("how-to/join-a-table.md", known), tmp_path)
        finally:
            connection.execute("DROP TABLE how_shops")
    by_region = {row["region"]: row["total"] for row in shown if "orders" in row}
    assert by_region == {"cold": 1.0, "warm": 1.0, None: 1.0}
    by_shop = {row["shop"]: row["region"] for row in shown if "orders" not in row}
    assert by_shop == {"n": "cold", "s": "warm", "x": None}


def test_history_as_a_batch_and_the_rest_as_a_stream(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces, and with one query for both: the totals of one batch over all rows."""
    monkeypatch.chdir(tmp_path)
    days = ("2024-05-30", "2024-05-31", "2024-06-01", "2024-06-02")
    rows = [("north", 1.0 + n, f"{day} {hour:02}:30:00") for n, day in enumerate(days) for hour in (1, 23)]
    texts = spark.createDataFrame(rows, "shop string, amount double, ts string")
    table = texts.selectExpr("shop", "amount", "CAST(ts AS TIMESTAMP) AS ts").coalesce(1)
    table.write.parquet(str(tmp_path / "lake/orders"))
    known = {"'lake/orders'": f"'{tmp_path}/lake/orders'", "path = 'totals'": f"path = '{tmp_path}/in-one'"}
    script = script_of("how-to/backfill.md", known)
    Engine(spark).run(script, checkpoint=tmp_path / "in-one-checkpoint", flush=True)
    select = script[script.index("SELECT") :].rstrip().rstrip(";")

    (python,) = python_of("how-to/backfill.md", {'"checkpoint"': f'"{tmp_path}/checkpoint"'})
    python = python.replace('"lake/', f'"{tmp_path}/lake/').replace('"totals/', f'"{tmp_path}/totals/')
    before, _, statement = python.rpartition("\n")
    names: dict[str, Any] = {"spark": spark, "panes": panes, "TOTALS": select}
    exec(f"{before}\nquery = {statement}", names)
    names["query"].processAllAvailable()
    names["query"].stop()

    batch = Engine(spark)
    batch.stream("orders", table, time="ts")
    expected = sorted(map(tuple, batch.sql(select).collect()), key=str)
    assert len(expected) == len(rows)
    assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "in-one")).collect()), key=str) == expected
    closed = sorted(
        map(tuple, spark.read.parquet(f"{tmp_path}/totals/history", f"{tmp_path}/totals/live").collect()), key=str
    )
    assert closed == expected[:-1]  # the last window of a stream that does not end stays open
