"""Micro-batches through JDBC into PostgreSQL and H2: each once, appended or applied by key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jars import DATABASES, MissingError, jars, skip
from postgres_server import Server
from pyspark.sql import DataFrame, SparkSession

from panes import Engine
from panes.catalog import Sink
from panes.connectors.jdbc import jdbc_sink
from panes.errors import PanesError
from panes.spark.jdbc.connection import Connection, connected
from panes.spark.jdbc.sink import RECORD, JdbcWriter, checked_writer
from panes.spark.jdbc.upsert import ROW
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark
CHANGES = "_change_type string, id int, v string"


@pytest.fixture(params=["postgresql", "h2"])
def where(
    request: pytest.FixtureRequest, spark: SparkSession, postgres: Server, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """The options of a database."""
    try:
        jars("databases", DATABASES, alone=True)
    except MissingError as missing:
        skip(missing)
    found = {
        "postgresql": {
            "url": f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres",
            "user": postgres.user,
            "password": postgres.password,
        },
        "h2": {"url": f"jdbc:h2:mem:{tmp_path.name};DB_CLOSE_DELAY=-1"},
    }[request.param]
    yield found
    clear(found)


def writer(where: dict[str, str], *key: str, create: str = "true", sink_id: str = "q", table: str = "t") -> JdbcWriter:
    sink = jdbc_sink(Sink("s", {"connector": "jdbc", **where, "table": table, "create": create}))
    return JdbcWriter(sink, key, lambda: sink_id)


def run(where: dict[str, str], *statements: str) -> None:
    with connected(writer(where).sink, SparkSession.active()) as connection:
        for statement in statements:
            connection.run(statement)


def clear(where: dict[str, str]) -> None:
    """Drop what a test has made; staging tables are gone by then."""
    with connected(writer(where).sink, SparkSession.active()) as connection:
        left = [name for name in connection.tables() if name.lower().startswith("panes_staging")]
        for table in ("t", "board", "panes_jdbc_sinks"):
            connection.succeeds(f"DROP TABLE {table}")
    assert not left


def held(where: dict[str, str], table: str = "t") -> list[tuple[Any, ...]]:
    spark = SparkSession.active()
    df = spark.read.format("jdbc").options(**writer(where).sink.spark, dbtable=table).load()
    return sorted((tuple(row) for row in df.collect()), key=str)


def rows(spark: SparkSession, values: list[tuple[Any, ...]], schema: str) -> DataFrame:
    return spark.createDataFrame(values, schema).repartition(2)


def test_rows_are_appended_once(spark: SparkSession, where: dict[str, str]) -> None:
    for batch in (0, 0, 1, 1):  # each of them comes twice, as after a crash between merge and commit
        writer(where)(rows(spark, [(1, "a"), (2, None)], "id int, v string"), batch)
    assert held(where) == [(1, "a"), (1, "a"), (2, None), (2, None)]
    with pytest.raises(PanesError) as caught:
        writer(where)(rows(spark, [(1, "a")], "id int, v string"), 0)
    assert caught.value.code == "state-mismatch"


def test_changes_are_applied_by_key(spark: SparkSession, where: dict[str, str]) -> None:
    put = writer(where, "ID")
    put(rows(spark, [("insert", n, f"old {n}") for n in range(4)], CHANGES), 0)
    changes = [
        ("update_preimage", 0, "old 0"), ("update_postimage", 0, "x"), ("delete", 1, "old 1"), ("delete", 2, "old 2"),
        ("insert", 2, None), ("insert", 9, "y"), ("delete", 77, "never there"),
    ]  # fmt: skip
    for _ in range(2):
        put(rows(spark, changes, CHANGES), 1)
    assert held(where) == [(0, "x"), (2, None), (3, "old 3"), (9, "y")]
    with pytest.raises(PanesError) as caught:
        put(rows(spark, [("insert", None, "a")], CHANGES), 2)
    assert caught.value.code == "database-failed"


def test_staged_values_have_the_types_of_the_table(
    spark: SparkSession, where: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark takes for a type of its own may lose something, and is told nothing of NOT NULL."""

    def types(connection: Connection, table: str) -> dict[str, tuple[str, int, int]]:
        found = {}
        for name in (table.lower(), table.upper()):
            columns = connection.java.getMetaData().getColumns(None, None, name, None)
            while columns.next():
                facts = (
                    columns.getString("TYPE_NAME"),
                    columns.getInt("COLUMN_SIZE"),
                    columns.getInt("DECIMAL_DIGITS"),
                )
                found[columns.getString("COLUMN_NAME").lower()] = facts
        return found

    def compare(self: JdbcWriter, connection: Connection, staging: str, *rest: Any) -> None:
        staged, target = types(connection, staging), types(connection, "t")
        compared.append({name: staged[name] for name in target} == target)
        merge(self, connection, staging, *rest)

    compared: list[bool] = []
    merge = JdbcWriter._merge
    monkeypatch.setattr(JdbcWriter, "_merge", compare)
    run(where, "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(7) NOT NULL, n DECIMAL(30, 9), ts TIMESTAMP(2))")
    schema = "_change_type string, id int, v string, n decimal(30, 9), ts timestamp"
    put, row = writer(where, "id"), (1, "a", Decimal("1.5"), datetime(2024, 1, 1, 12, 0, 0, 250_000))
    put(rows(spark, [("insert", *row)], schema), 0)
    assert compared == [True]
    assert held(where) == [row]


class Crash(BaseException):
    """The driver is killed."""


@pytest.mark.parametrize("survived", [0, 1])
def test_a_crash_while_tables_are_made(
    spark: SparkSession, where: dict[str, str], monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    """Whatever was done before it, the table has its key afterwards."""
    made: list[str] = []
    original = Connection.run

    def run_until(self: Connection, sql: str, *values: str | int) -> None:
        if sql.startswith("CREATE"):
            made.append(sql)
            if len(made) > survived:
                raise Crash
        original(self, sql, *values)

    changes = rows(spark, [("insert", 1, 5)], "_change_type string, id int, v int")
    with monkeypatch.context() as patched, pytest.raises(Crash):
        patched.setattr(Connection, "run", run_until)
        writer(where, "id")(changes, 0)
    writer(where, "id")(changes, 0)
    with pytest.raises(PanesError) as caught:
        run(where, "INSERT INTO t VALUES (1, 6)")
    assert caught.value.code == "database-failed"


def test_a_task_that_ran_twice(spark: SparkSession, where: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(self: JdbcWriter, connection: Any, staging: str, *rest: Any) -> None:
        connection.run(f"INSERT INTO {staging} SELECT * FROM {staging}")
        merge(self, connection, staging, *rest)

    merge = JdbcWriter._merge
    monkeypatch.setattr(JdbcWriter, "_merge", twice)
    with pytest.raises(PanesError) as caught:
        writer(where)(rows(spark, [(1, "a")], "id int, v string"), 0)
    assert caught.value.code == "database-failed"
    assert "ran twice" in caught.value.message
    assert held(where) == []
    assert ROW not in str(held(where, "panes_jdbc_sinks"))


@pytest.mark.parametrize(
    ("table", "words"),
    [("id INT", "has no column v"), ("id INT, v INT", "string in the result"), (None, "no table board")],
)
def test_refused_before_anything_starts(
    spark: SparkSession, where: dict[str, str], tmp_path: Path, table: str | None, words: str
) -> None:
    if table is not None:
        run(where, f"CREATE TABLE board ({table})")
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script(where, tmp_path, "table = 'board'"), once=True, checkpoint=tmp_path / "checkpoint")
    assert caught.value.code == "sink-mismatch"
    assert words in caught.value.message


def test_a_record_that_cannot_be_written(spark: SparkSession, where: dict[str, str]) -> None:
    """What the database says is told, and not that another query has written."""
    run(where, f"CREATE TABLE panes_jdbc_sinks {RECORD.removesuffix(')')}, CONSTRAINT full_up CHECK (batch > 5))")
    with pytest.raises(PanesError) as caught:
        writer(where)(rows(spark, [(1, "a")], "id int, v string"), 0)
    assert caught.value.code == "database-failed"
    assert "full_up" in caught.value.message.lower()


def test_a_table_that_may_not_be_read_is_there(spark: SparkSession, where: dict[str, str]) -> None:
    made = "USER panes_reader PASSWORD 'word'" if "h2" in where["url"] else "ROLE panes_reader LOGIN PASSWORD 'word'"
    run(where, f"CREATE {made}", "CREATE TABLE t (id INT)")
    try:
        with pytest.raises(PanesError) as caught:
            checked_writer(spark.range(1), writer({**where, "user": "panes_reader", "password": "word"}).sink, (), str)
    finally:
        run(where, f"DROP {'USER' if 'h2' in where['url'] else 'ROLE'} panes_reader")
    assert caught.value.code == "database-failed"


def script(where: dict[str, str], tmp_path: Path, options: str) -> str:
    write_file(tmp_path / "in", 0, [{"id": n, "v": f"{n % 3}", "ts": at(1000 * n)} for n in range(6)])
    write_file(tmp_path / "in", 1, [{"id": n, "v": f"{n % 2}", "ts": at(1000 * n)} for n in range(6, 9)])
    given = ", ".join(f"{name} = '{value}'" for name, value in where.items())
    return f"""
        CREATE STREAM s (id INT, v STRING, ts TIMESTAMP, PRIMARY KEY (id))
        WITH (connector = 'json', path = '{tmp_path}/in', maxFilesPerTrigger = '1');
        CREATE SINK board WITH (connector = 'jdbc', {given}, {options});
        INSERT INTO board SELECT id, v, count(*) OVER (PARTITION BY v) AS n FROM s EMIT CHANGES;
    """


def test_a_script(spark: SparkSession, where: dict[str, str], tmp_path: Path) -> None:
    """The key is that of the stream."""
    pipeline = script(where, tmp_path, "table = 'board', create = 'true'")
    Engine(spark).run(pipeline, checkpoint=tmp_path / "checkpoint", once=True)
    texts = [f"{n % 3}" for n in range(6)] + [f"{n % 2}" for n in range(6, 9)]
    assert held(where, "board") == [(n, text, texts.count(text)) for n, text in enumerate(texts)]


def test_a_driver_that_spark_has_not(spark: SparkSession) -> None:
    oracle = {"url": "jdbc:oracle:thin:@//127.0.0.1:1/x"}
    with pytest.raises(PanesError) as caught:
        writer(oracle)(rows(spark, [(1,)], "id int"), 0)
    assert caught.value.code == "missing-package"


def test_a_server_that_is_not_there(spark: SparkSession) -> None:
    nowhere = {"url": "jdbc:postgresql://127.0.0.1:1/x", "user": "me", "password": "hunter2"}
    with pytest.raises(PanesError) as caught:
        writer(nowhere)(rows(spark, [(1,)], "id int"), 0)
    assert caught.value.code == "database-failed"
    assert "hunter2" not in str(caught.value)


def test_a_server_that_nobody_knows(spark: SparkSession) -> None:
    with pytest.raises(PanesError) as caught:
        writer({"url": "jdbc:postgresql://nowhere.invalid/x"})(rows(spark, [(1,)], "id int"), 0)
    assert caught.value.message.endswith(": UnknownHostException: nowhere.invalid")
