"""Scripts that write to and read from PostgreSQL."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine, sinks
from panes.errors import PanesError
from panes.spark.report import Report
from spark.input_files import at, write_file
from spark.kafka.topics import make, send, taken, without_repeats
from spark.postgres.changes import Changing, held, script
from spark.postgres.tables import Tables

pytestmark = pytest.mark.spark
STREAM = """
    CREATE STREAM s (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
    WITH (connector = 'json', path = '{}', maxFilesPerTrigger = '1');
"""
CHANGING = "SELECT k, window_start() AS at, sum(v) AS n FROM s GROUP BY tumblingwindow('ss', 10), k EMIT CHANGES"


def forget_last(checkpoint: Path) -> None:
    """As if the process had been killed after its last merge, before Spark took note."""
    commits = checkpoint / "spark" / "commits"
    last = max(int(one.name) for one in commits.glob("[0-9]*"))
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)


def test_debezium_through_over_to_postgres(kafka: str, spark: SparkSession, db: Tables, tmp_path: Path) -> None:
    """The table equals the query over the source's rows, a crash between merge and commit included."""
    source = Changing(random.Random(7), keys=25)
    make(spark, kafka, "to_postgres")
    pipeline = script(kafka, "to_postgres", db, per_batch=60)
    for _ in range(2):
        send(spark, kafka, "to_postgres", source.change(80))
        Engine(spark).run(pipeline, checkpoint=tmp_path, once=True)
        assert held(db) == source.board()
        forget_last(tmp_path / "1-board")
    Engine(spark).run(pipeline, checkpoint=tmp_path, once=True)
    assert held(db) == source.board()
    ((key,),) = db.sql(
        "SELECT array_agg(attname::text) "
        "FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey) "
        "WHERE indrelid = 'board'::regclass AND indisprimary"
    )
    assert key == ["id"]


def rows_of(tmp_path: Path, batches: list[list[tuple[str, int, int]]]) -> str:
    for number, batch in enumerate(batches):
        write_file(tmp_path / "in", number, [{"k": k, "v": v, "ts": at(1000 * ts)} for k, v, ts in batch])
    return STREAM.format(tmp_path / "in")


def test_windows_to_two_tables(spark: SparkSession, db: Tables, tmp_path: Path) -> None:
    """Appended when they close, and as they change; a micro-batch that runs again is in neither twice."""
    pipeline = f"""
        {rows_of(tmp_path, [[("a", 1, 1), ("b", 2, 2)], [("a", 3, 4), ("a", 5, 12)], [("b", 7, 25)]])}
        CREATE SINK closed WITH ({db.options("closed, create = 'true'")});
        CREATE SINK now WITH ({db.options("now, create = 'true', key = 'AT, k'")});
        INSERT INTO closed SELECT k, window_start() AS at, sum(v) AS n FROM s GROUP BY tumblingwindow('ss', 10), k;
        INSERT INTO now {CHANGING};
    """
    reports: list[Report] = []
    Engine(spark).run(pipeline, checkpoint=tmp_path / "checkpoint", report=reports.append, once=True)
    forget_last(tmp_path / "checkpoint" / "1-closed")
    forget_last(tmp_path / "checkpoint" / "1-now")
    Engine(spark).run(pipeline, checkpoint=tmp_path / "checkpoint", report=reports.append, flush=True)
    expected = [("a", 0, 4), ("a", 10, 5), ("b", 0, 2), ("b", 20, 7)]
    for table in ("closed", "now"):
        found = db.sql(f"SELECT k, extract(epoch FROM at)::int, n FROM {table} ORDER BY k, at")
        assert found == expected, table
    assert sum(report.counters["rows_out"] for report in reports) > 0


@pytest.mark.parametrize(
    ("sink", "query", "code", "words"),
    [
        ("t, create = 'true'", CHANGING.replace("SELECT k,", "SELECT"), "stream-options", "lacks a key of GROUP BY"),
        ("t, create = 'true'", CHANGING.replace("window_start() AS at,", ""), "stream-options", "lacks a bound"),
        ("t, create = 'true', key = 'k'", CHANGING, "stream-options", "lacks a bound of the window"),
        ("t, create = 'true', key = 'kk'", "SELECT k FROM s", "unknown-column", "kk"),
        ("t", CHANGING, "sink-mismatch", "has no table shop.t"),
        ("other, create = 'true'", CHANGING, "sink-mismatch", "k is integer in the table other"),
    ],
)  # fmt: skip
def test_refused_before_anything_starts(
    spark: SparkSession, db: Tables, tmp_path: Path, sink: str, query: str, code: str, words: str
) -> None:
    db.sql("CREATE TABLE other (k int, at timestamptz, n bigint)")
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(
            f"{rows_of(tmp_path, [[('a', 1, 1)]])} CREATE SINK out WITH ({db.options(sink)}); INSERT INTO out {query};",
            checkpoint=tmp_path / "checkpoint",
            once=True,
        )
    assert caught.value.code == code
    assert words in caught.value.message
    assert db.names() == {"other"}
    assert not list((tmp_path / "checkpoint").glob("*/spark/offsets/*"))


def test_a_value_that_postgres_refuses(spark: SparkSession, db: Tables, tmp_path: Path) -> None:
    """It stops the query with an error of Panes, not with a Java stack trace."""
    stream = rows_of(tmp_path, [[("a\0b", 1, 1)]])
    with pytest.raises(PanesError) as caught:
        options = db.options("t, create = 'true'")
        Engine(spark).run(f"{stream} CREATE SINK out WITH ({options}); INSERT INTO out SELECT k FROM s;", once=True)
    assert (caught.value.code, "U+0000" in caught.value.message) == ("database-failed", True)
    assert caught.value.hint is not None


def test_changes_as_rows(spark: SparkSession, db: Tables, tmp_path: Path) -> None:
    Engine(spark).run(
        f"""
        {rows_of(tmp_path, [[("a", 1, 1)], [("a", 2, 2)]])}
        CREATE SINK log WITH ({db.options("log, create = 'true', changelog = 'rows'")});
        INSERT INTO log {CHANGING};
        """,
        flush=True,
    )
    found = db.sql("SELECT _change_type, n FROM log ORDER BY n, _change_type")
    assert found == [("insert", 1), ("update_preimage", 1), ("update_postimage", 3)]


def dim(db: Tables, columns: str = "k STRING, name STRING") -> str:
    return f"CREATE STREAM dim ({columns}) WITH ({db.options('dim')});"


def test_a_table_is_read_anew_in_every_micro_batch(spark: SparkSession, db: Tables, tmp_path: Path) -> None:
    db.sql("CREATE TABLE dim (k text PRIMARY KEY, name text, more int)")
    db.sql("INSERT INTO dim VALUES ('a', 'first')")
    stream = rows_of(tmp_path, [[("a", 1, 1)]])
    read: list[int] = []

    def go_on(report: Report) -> None:
        """With the first micro-batch done, another name, and then another row."""
        read.append(report.counters["rows_in"])
        if len(read) == 1:
            db.sql("UPDATE dim SET name = 'second'")
            write_file(tmp_path / "in", 1, [{"k": "a", "v": 2, "ts": at(12_000)}])

    pipeline = f"""
        {stream} {dim(db)}
        CREATE SINK out WITH ({db.options("out, create = 'true'")});
        INSERT INTO out SELECT name, sum(v) AS n
        FROM (SELECT s.v, s.ts, dim.name FROM s JOIN dim ON s.k = dim.k)
        GROUP BY tumblingwindow('ss', 10), name;
    """
    Engine(spark).run(pipeline, checkpoint=tmp_path / "checkpoint", stopped=lambda: sum(read) > 1, report=go_on)
    Engine(spark).run(pipeline, checkpoint=tmp_path / "checkpoint", flush=True)
    assert db.sql("SELECT name, n FROM out ORDER BY n") == [("first", 1), ("second", 2)]


def test_a_table_as_a_batch(spark: SparkSession, db: Tables) -> None:
    """What a sink has written comes back as it was, whatever stands in its texts."""
    texts = ["", "\\N", "\\.", 'a\n\\.\n"b"', "x,y\r\n\t", None]
    df = spark.createDataFrame(
        [(n, text, [text, None]) for n, text in enumerate(texts)], "n int, s string, a array<string>"
    )
    df = df.selectExpr(
        "*", "n = 1 AS b", "CAST(n AS BIGINT) AS i8", "CAST(n / 3 AS DOUBLE) AS f8", "CAST('NaN' AS FLOAT) AS f4",
        "CAST(n / 3 AS DECIMAL(20, 8)) AS d", "CAST(s AS BINARY) AS x", "DATE'1960-02-29' AS day",
        "TIMESTAMP'2024-10-27 00:30:00.123456Z' AS ts", "TIMESTAMP_NTZ'2024-10-27 02:30:00.000001' AS ntz",
        "struct(n AS p, s AS q) AS st", "map('k', n) AS m",
    )  # fmt: skip
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in df.schema.fields)
    given: Any = {"url": db.server.url, "password": db.server.password, "table": "shop.dim", "create": True}
    sinks.postgres(id="q", **given)(df, 0)
    engine = Engine(spark)
    engine.run(dim(db, columns))
    back = engine.sql("SELECT * FROM dim")
    assert back.dtypes == df.dtypes
    assert str(back.orderBy("n").collect()) == str(df.orderBy("n").collect())  # a NaN equals nothing, but its text
    only = Engine(spark)
    only.run(dim(db, "s STRING, size INT AS length(s)"))
    assert {(row["s"], row["size"]) for row in only.sql("SELECT s, size FROM dim").collect()} == {
        (text, None if text is None else len(text)) for text in texts
    }


def test_an_empty_table(spark: SparkSession, db: Tables) -> None:
    db.sql("CREATE TABLE dim (k text, name text)")
    engine = Engine(spark)
    engine.run(dim(db))
    assert engine.sql("SELECT * FROM dim").collect() == []


@pytest.mark.parametrize(
    ("columns", "code"),
    [("k STRING, nam STRING", "unknown-column"), ("k INT", "stream-options"), ("n INT", "stream-options")],
)
def test_tables_that_cannot_be_read(spark: SparkSession, db: Tables, columns: str, code: str) -> None:
    db.sql("CREATE TABLE dim (k text, name text, n bigint)")
    engine = Engine(spark)
    engine.run(dim(db, columns))
    with pytest.raises(PanesError) as caught:
        engine.sql("SELECT * FROM dim")
    assert caught.value.code == code


def test_an_insert_needs_a_stream(spark: SparkSession, db: Tables) -> None:
    db.sql("CREATE TABLE dim (k text, name text)")
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(
            f"{dim(db)} CREATE SINK out WITH (connector = 'noop'); INSERT INTO out SELECT k FROM dim;", once=True
        )
    assert caught.value.code == "stream-options"


def test_a_materialized_view_is_a_table(spark: SparkSession, db: Tables) -> None:
    db.sql("CREATE MATERIALIZED VIEW dim AS SELECT 'a'::text AS k, 'Anna'::text AS name")
    engine = Engine(spark)
    engine.run(dim(db))
    assert [tuple(row) for row in engine.sql("SELECT k, name FROM dim").collect()] == [("a", "Anna")]


def test_late_rows_into_kafka_and_postgres(
    kafka: str, spark: SparkSession, db: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results here and late rows there, and the other way round; each once, though a micro-batch is written again.

    Where the database is, the environment says.
    """
    monkeypatch.setenv("PANES_TEST_URL", db.server.url)
    stream = rows_of(
        tmp_path, [[("a", 1, 1), ("b", 2, 15)], [("a", 4, 3), ("b", 8, 16), ("a", 16, 31)], [("b", 32, 5)]]
    )
    where = f"connector = 'kafka', bootstrap_servers = '{kafka}'"
    table = (
        f"connector = 'postgres', url = '${{ENV:PANES_TEST_URL}}', password = '{db.server.password}', create = 'true'"
    )
    query = "SELECT k, sum(v) AS n FROM s GROUP BY tumblingwindow('ss', 10), k"
    pipeline = f"""{stream}
        CREATE SINK sums WITH ({where}, topic = 'late-sums', key = 'k');
        CREATE SINK missed WITH ({table}, table = '{db.schema}.missed');
        CREATE SINK totals WITH ({table}, table = '{db.schema}.totals');
        CREATE SINK letters WITH ({where}, topic = 'late-letters', key = 'k', headers = '_watermark');
        INSERT INTO sums {query} LATE ROWS INTO missed;
        INSERT INTO totals {query} LATE ROWS INTO letters;
    """
    make(spark, kafka, "late-sums", "late-letters")
    Engine(spark).run(pipeline, checkpoint=tmp_path / "c", once=True)
    for name in ("1-sums", "1-totals"):
        forget_last(tmp_path / "c" / name)
    Engine(spark).run(pipeline, checkpoint=tmp_path / "c", flush=True)

    expected = [("a", 1), ("a", 16), ("b", 10)]
    found = without_repeats(taken(spark, kafka, "late-sums"))
    assert sorted((row["k"], row["n"]) for _, row in found) == expected
    assert db.sql("SELECT k, n FROM totals ORDER BY k, n") == expected
    late = [("a", 4, 15), ("b", 32, 31)]  # and the second that the clock was at
    assert db.sql("SELECT k, v, extract(second FROM _watermark)::int FROM missed ORDER BY v") == late
    letters = [row for _, row in without_repeats(taken(spark, kafka, "late-letters"))]
    assert sorted((row["k"], row["v"], int(row["_watermark"][17:19])) for row in letters) == late
