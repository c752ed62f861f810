"""Micro-batches into a real PostgreSQL: each once, whoever tries it and however often; what does not fit is refused."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from postgres_server import Server
from pyspark.sql import DataFrame, SparkSession

from panes import sinks
from panes.connectors.postgres import Database
from panes.errors import PanesError
from panes.spark.postgres import merge as module
from panes.spark.postgres.connection import connected
from panes.spark.postgres.sink import PostgresWriter
from spark.input_files import write_file
from spark.postgres.tables import Tables, tables

pytestmark = pytest.mark.spark
CHANGES = "_change_type string, id int, v string"


def writer(db: Tables, table: str = "t", **how: Any) -> Any:
    given = {"id": "q", "url": db.server.url, "password": db.server.password, "table": f"{db.schema}.{table}", **how}
    return sinks.postgres(**given)


def upserts(db: Tables, **how: Any) -> Any:
    return writer(db, **{"key": ["id"], "changelog": True, "create": True, **how})


def rows(spark: SparkSession, values: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    return spark.createDataFrame(list(values), schema).repartition(3)


def test_rows_are_appended(spark: SparkSession, db: Tables) -> None:
    put = writer(db, create=True)
    put(rows(spark, [(1, "a"), (2, None)], "id int, v string"), 0)
    put(rows(spark, [(1, "a")], "id int, v string"), 1)
    put(rows(spark, [], "id int, v string"), 2)
    assert db.sql("SELECT id, v FROM t ORDER BY id") == [(1, "a"), (1, "a"), (2, None)]
    assert db.names() == {"t", "panes_sinks"}
    assert db.sql("SELECT id, target, batch FROM panes_sinks") == [("q", "t", 2)]


def test_a_micro_batch_without_rows_makes_no_table(
    spark: SparkSession, db: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is recorded all the same."""
    staged: list[int] = []

    def merge(*given: Any) -> bool:
        staged.append(sum(name.startswith("panes_staging") for name in db.names()))
        return merge_alone(*given)

    merge_alone = module.merge
    monkeypatch.setattr(module, "merge", merge)
    put = writer(db, create=True)
    for batch, values in enumerate(([(1,)], [])):
        put(rows(spark, values, "id int"), batch)
    assert staged == [1, 0]
    assert db.sql("SELECT batch FROM panes_sinks") == [(1,)]


def test_changes_are_applied_by_key(spark: SparkSession, db: Tables) -> None:
    """A key may be deleted in one partition and inserted in another; what else is in its row stays."""
    put = upserts(db)
    put(rows(spark, [("insert", n, f"old {n}") for n in range(4)], CHANGES), 0)
    db.sql("ALTER TABLE t ADD note text DEFAULT 'new'")
    db.sql("UPDATE t SET note = 'mine'")
    changes = [
        ("update_preimage", 0, "old 0"), ("update_postimage", 0, "x"), ("delete", 1, "old 1"), ("delete", 2, "old 2"),
        ("insert", 2, None), ("insert", 9, "y"), ("delete", 77, "never there"),
    ]  # fmt: skip
    put(rows(spark, changes, CHANGES), 1)
    assert db.sql("SELECT id, v, note FROM t ORDER BY id") == [
        (0, "x", "mine"), (2, None, "mine"), (3, "old 3", "mine"), (9, "y", "new"),
    ]  # fmt: skip


def test_a_result_that_is_all_key(spark: SparkSession, db: Tables) -> None:
    put = upserts(db)
    for batch in range(2):
        put(rows(spark, [("insert", 1), ("insert", 2)], "_change_type string, id int"), batch)
    assert db.sql("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_a_micro_batch_that_comes_again(spark: SparkSession, db: Tables) -> None:
    for _ in range(2):
        writer(db, create=True)(rows(spark, [(1, "a")], "id int, v string"), 0)
    assert db.sql("SELECT id FROM t") == [(1,)]


def test_a_checkpoint_that_is_behind(spark: SparkSession, db: Tables) -> None:
    """With a new checkpoint under an old id, numbers begin again: its rows must not be passed over in silence."""
    put = writer(db, create=True)
    for batch in (0, 1):
        put(rows(spark, [(batch, "a")], "id int, v string"), batch)
    with pytest.raises(PanesError) as caught:
        put(rows(spark, [(7, "b")], "id int, v string"), 0)
    assert caught.value.code == "state-mismatch"
    assert db.sql("SELECT id FROM t ORDER BY id") == [(0,), (1,)]
    writer(db, id="another", create=True)(rows(spark, [(7, "b")], "id int, v string"), 0)
    assert db.sql("SELECT count(*) FROM t") == [(3,)]


def test_one_id_for_two_tables(spark: SparkSession, db: Tables) -> None:
    for table in ("one", "two"):
        writer(db, table, create=True)(rows(spark, [(1,)], "id int"), 0)
    assert db.sql("SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two)") == [(1, 1)]


@pytest.mark.parametrize("changelog", [False, True])
def test_two_drivers_at_once(spark: SparkSession, db: Tables, changelog: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have staged the micro-batch when the first of them merges."""
    both = Barrier(2, timeout=60)
    merged: list[bool] = []

    def merge(*given: Any) -> bool:
        both.wait()
        merged.append(merge_alone(*given))
        return merged[-1]

    merge_alone = module.merge
    monkeypatch.setattr(module, "merge", merge)
    with ThreadPoolExecutor(2) as drivers:
        for batch in range(4):
            df = rows(spark, [("insert", 2 * n + batch, f"{batch}") for n in range(50)], CHANGES)
            df = df if changelog else df.drop("_change_type")
            make = upserts if changelog else (lambda db: writer(db, create=True))
            list(drivers.map(lambda _, df=df, make=make, batch=batch: make(db)(df, batch), range(2)))
    assert merged.count(True) == merged.count(False) == 4
    assert db.sql("SELECT count(*), count(DISTINCT id) FROM t") == [(102, 102) if changelog else (200, 102)]
    assert db.names() == {"t", "panes_sinks"}


class CrashError(Exception):
    """Stands for the end of the process."""


def test_a_crash_before_the_merge(spark: SparkSession, db: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was staged is not in the table, and a later micro-batch clears it away."""

    def crash(*_: Any) -> bool:
        db.sql("CREATE TABLE keep AS SELECT tablename FROM pg_tables WHERE tablename LIKE 'panes_staging%'")
        raise CrashError

    with monkeypatch.context() as patch, pytest.raises(CrashError):
        patch.setattr(module, "merge", crash)
        writer(db, create=True)(rows(spark, [(1, "a")], "id int, v string"), 0)
    ((left,),) = db.sql("SELECT tablename FROM keep")
    db.sql(f"CREATE TABLE {left} (x int)")  # a process that is killed drops nothing
    put = writer(db, create=True)
    put(rows(spark, [(1, "a")], "id int, v string"), 0)
    assert db.sql("SELECT id FROM t") == [(1,)]
    put(rows(spark, [(2, "a")], "id int, v string"), 1)
    assert db.names() == {"t", "keep", "panes_sinks"}


def test_a_task_that_ran_twice(spark: SparkSession, db: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows count that Spark has told the driver about; those of another attempt are passed over."""

    def merge(connection: Any, staged: Any, target: Any, *rest: Any) -> bool:
        connection.execute(f"INSERT INTO {staged.table} (id, v) SELECT id, 'again' FROM {staged.table}".encode())
        return merge_alone(connection, staged, target, *rest)

    merge_alone = module.merge
    monkeypatch.setattr(module, "merge", merge)
    writer(db, create=True)(rows(spark, [(1, "a"), (2, "b")], "id int, v string"), 0)
    assert db.sql("SELECT id, v FROM t ORDER BY id") == [(1, "a"), (2, "b")]


def test_a_server_that_crashed(spark: SparkSession, db: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash an unlogged table is empty: its rows are not lost in silence."""

    def merge(connection: Any, staged: Any, target: Any, *rest: Any) -> bool:
        connection.execute(f"TRUNCATE {staged.table}".encode())
        return merge_alone(connection, staged, target, *rest)

    merge_alone = module.merge
    monkeypatch.setattr(module, "merge", merge)
    with pytest.raises(PanesError) as caught:
        writer(db, create=True)(rows(spark, [(1, "a")], "id int, v string"), 0)
    assert caught.value.code == "database-failed"
    assert db.sql("SELECT count(*) FROM t") == [(0,)]
    assert db.sql("SELECT count(*) FROM panes_sinks WHERE batch >= 0") == [(0,)]


TEXTS = ["", "\\N", "\\.", "a\n\\.\nb", "tab\tcr\rnl\n", 'q"uote', "back\\slash", "NULL", "{}", "ü🙂", "100%s", None]


def test_texts_come_through(spark: SparkSession, db: Tables) -> None:
    df = spark.createDataFrame(
        [(n, text, [text, None]) for n, text in enumerate(TEXTS)], "n int, s string, a array<string>"
    )
    writer(db, create=True)(df, 0)
    assert db.sql("SELECT s, a FROM t ORDER BY n") == [(text, [text, None]) for text in TEXTS]


VALUES = """
    true AS b, CAST(-1 AS TINYINT) AS i1, CAST(-300 AS SMALLINT) AS i2, -70000 AS i4, -9223372036854775808 AS i8,
    CAST(0.1 AS FLOAT) AS f4, CAST(1e-300 AS DOUBLE) AS f8, CAST('NaN' AS DOUBLE) AS nan,
    CAST('-Infinity' AS DOUBLE) AS inf, CAST(-0.0001 AS DECIMAL(38, 18)) AS d, X'00ff5c' AS x, DATE'1969-12-31' AS day,
    TIMESTAMP'2024-10-27 00:30:00.123456Z' AS ts, TIMESTAMP_NTZ'2024-10-27 02:30:00.000001' AS ntz,
    array(1.5, NULL) AS ad, array(X'5c', X'') AS ax, array(TIMESTAMP'1960-01-01 00:00:00Z') AS ats,
    CAST(NULL AS INT) AS nil,
    struct(1 AS p, CAST(NULL AS STRING) AS q) AS s, map('k', 2) AS m, array(array(1), array()) AS aa
"""
TYPES = {
    "b": "boolean", "i1": "smallint", "i2": "smallint", "i4": "integer", "i8": "bigint", "f4": "real",
    "f8": "double precision", "nan": "double precision", "inf": "double precision", "d": "numeric(38,18)", "x": "bytea",
    "day": "date", "ts": "timestamp with time zone", "ntz": "timestamp without time zone", "ad": "numeric(2,1)[]",
    "ax": "bytea[]", "ats": "timestamp with time zone[]", "nil": "integer", "s": "jsonb", "m": "jsonb", "aa": "jsonb",
}  # fmt: skip
TEXT = {
    "b": "true", "i1": "-1", "i2": "-300", "i4": "-70000", "i8": "-9223372036854775808", "f4": "0.1", "f8": "1e-300",
    "nan": "NaN", "inf": "-Infinity", "d": "-0.000100000000000000", "x": "\\x00ff5c", "day": "1969-12-31",
    "ts": "2024-10-27 00:30:00.123456+00", "ntz": "2024-10-27 02:30:00.000001", "ad": "{1.5,NULL}",
    "ax": '{"\\\\x5c","\\\\x"}', "ats": '{"1960-01-01 00:00:00+00"}', "nil": None, "s": '{"p": 1, "q": null}',
    "m": '{"k": 2}', "aa": "[[1], []]",
}  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_types_come_through(spark: SparkSession, db: Tables, zone: str) -> None:
    """Whatever the session's zone is: half past two comes twice in Berlin on this day."""
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        writer(db, create=True)(spark.sql(f"SELECT {VALUES}"), 0)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    made = db.sql(
        "SELECT attname, format_type(atttypid, atttypmod) "
        "FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0"
    )
    assert dict(made) == TYPES
    cells = ", ".join(f"{name}::text" for name in TEXT)
    assert db.sql(f"SELECT {cells} FROM t") == [tuple(TEXT.values())]


def test_types_that_hold_more(spark: SparkSession, db: Tables) -> None:
    db.sql("CREATE TYPE mood AS ENUM ('good', 'bad')")
    db.sql("CREATE DOMAIN positive AS bigint CHECK (VALUE > 0)")
    db.sql(
        "CREATE TABLE t (i bigint, n numeric, d numeric(12, 3), u uuid, m mood, j jsonb, p positive, extra int, "
        "v varchar(3))"
    )
    writer(db)(
        spark.sql("""
            SELECT 1 AS I, 2 AS n, 1.25 AS d, '6f1c2d3e-0000-4000-8000-000000000000' AS u, 'bad' AS m, '{"a": 1}' AS j,
                   3L AS p, 'abc' AS v
        """),
        0,
    )
    assert db.sql("SELECT i::text, n::text, d::text, u::text, m::text, j::text, p::text, v FROM t") == [
        ("1", "2", "1.250", "6f1c2d3e-0000-4000-8000-000000000000", "bad", '{"a": 1}', "3", "abc")
    ]


def test_null_in_a_key(spark: SparkSession, db: Tables) -> None:
    """A plain unique key takes the same NULL twice, so that it is refused; one that does not is fine."""
    change = rows(spark, [("insert", None, "a")], CHANGES)
    with pytest.raises(Exception, match="database-failed: a row has no id"):
        upserts(db)(change, 0)
    db.sql("CREATE TABLE plain (id int UNIQUE, v text)")
    with pytest.raises(Exception, match="database-failed: a row has no id"):
        upserts(db, table="plain")(change, 0)
    db.sql("CREATE TABLE safe (id int, v text, UNIQUE NULLS NOT DISTINCT (id))")
    put = upserts(db, table="safe")
    put(change, 0)
    put(rows(spark, [("update_postimage", None, "b"), ("insert", 1, "c")], CHANGES), 1)
    assert db.sql("SELECT id, v FROM safe ORDER BY id") == [(1, "c"), (None, "b")]
    put(rows(spark, [("delete", None, "b")], CHANGES), 2)
    assert db.sql("SELECT id, v FROM safe") == [(1, "c")]


NULLS = "_change_type string, a int, b string, v int"


def test_nulls_in_some_columns_of_a_key(spark: SparkSession, db: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows find each other by `=` and IS NULL, for which PostgreSQL has indexes and hash joins: pairs are not tried."""
    plans: list[str] = []

    def explained(connection: Any, sql: str) -> Any:
        if sql.startswith(("DELETE", "INSERT")):
            connection.execute("SET LOCAL enable_nestloop = off")  # few rows: it would not matter
            plans.extend(line for (line,) in connection.execute(f"EXPLAIN {sql}".encode()).fetchall())
        return connection.execute(sql.encode())

    db.sql("CREATE TABLE t (a int, b text, v int, UNIQUE NULLS NOT DISTINCT (b, a))")
    put = upserts(db, key=["a", "b"], create=False)
    keys = [(1, "x"), (1, None), (None, "x"), (None, None), (2, "x"), (2, None)]
    put(rows(spark, [("insert", *key, 0) for key in keys], NULLS), 0)
    monkeypatch.setattr(module, "execute", explained)
    deleted = [("delete", *key, 0) for key in [*keys[:4], (3, None), (None, "y")]]
    put(rows(spark, [*deleted, ("insert", 1, None, 7), ("update_postimage", 2, None, 8)], NULLS), 1)
    assert db.sql("SELECT a, b, v FROM t ORDER BY a, b, v") == [(1, None, 7), (2, "x", 0), (2, None, 8)]
    assert any("Cond" in line for line in plans)
    assert not [line for line in plans if "Join Filter" in line and ("=" in line or " OR " in line)]
    put(rows(spark, [("delete", 2, "x", 0)], NULLS), 2)
    assert db.sql("SELECT a, b, v FROM t ORDER BY a, b, v") == [(1, None, 7), (2, None, 8)]


@pytest.mark.parametrize(
    "value",
    [
        "concat('a', char(0))",
        "struct(concat('a', char(0)) AS x)",
        "array('b', concat('a', char(0)))",
        "map(concat('a', char(0)), 1)",
    ],
)
def test_a_nul_character(spark: SparkSession, db: Tables, value: str) -> None:
    r"""Also behind other columns, whose tabs and ends of lines are none of COPY's."""
    with pytest.raises(Exception, match=r"database-failed: a text in the column the v has the character U\+0000"):
        writer(db, create=True)(spark.sql(f"SELECT 'a\\tb\\nc' AS u, {value} AS `the v`, NULL || '' AS w"), 0)


@pytest.mark.parametrize("value", ["CAST(X'61ff' AS STRING)", "array(CAST(X'eda080' AS STRING))"])
@pytest.mark.parametrize("applied", [False, True])
def test_a_text_that_is_not_utf_8(spark: SparkSession, db: Tables, value: str, applied: bool) -> None:
    row = spark.sql(f"SELECT 'insert' AS _change_type, 1 AS id, {value} AS v")
    put, df = (upserts(db), row) if applied else (writer(db, create=True), row.drop("_change_type"))
    with pytest.raises(Exception, match="database-failed: a text in the column v is not UTF-8") as caught:
        put(df, 0)
    assert "make_valid_utf8(" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "result", "words"),
    [
        ("id int PRIMARY KEY", "1 AS id, 2 AS w", "has no column w"),
        ("id int PRIMARY KEY, v int", "1 AS id, 'x' AS v", "v is integer in the table t and string in the result"),
        ("id int PRIMARY KEY, v int", "1 AS id, 2L AS v", "and bigint in the result"),
        ("id int PRIMARY KEY, v real", "1 AS id, 2D AS v", "and double in the result"),
        ("id int PRIMARY KEY, v numeric(4, 1)", "1 AS id, 1.25 AS v", "and decimal"),
        ("id int PRIMARY KEY, v numeric(8, 0)", "1 AS id, 1 AS v", "and int in the result"),
        ("id int PRIMARY KEY, v date", "1 AS id, TIMESTAMP'2024-01-01 10:00:00' AS v", "and timestamp in the result"),
        ("id int PRIMARY KEY, v timestamp", "1 AS id, current_timestamp() AS v", "and timestamp in the result"),
        ("id int PRIMARY KEY, v int[]", "1 AS id, array('a') AS v", "and array<string> in the result"),
        ("id int PRIMARY KEY, v text", "1 AS id, struct(1 AS a) AS v", "and struct<a:int> in the result"),
        ("id int PRIMARY KEY, v char(3)", "1 AS id, 'a' AS v", "and string in the result"),
        ("id int PRIMARY KEY, v text", "1 AS id, INTERVAL 1 DAY AS v", "has no type for v"),
        ("id int PRIMARY KEY, v int, w int NOT NULL", "1 AS id, 1 AS v", "needs w"),
        ("id int PRIMARY KEY, v int GENERATED ALWAYS AS (id + 1) STORED", "1 AS id, 1 AS v", "computes v"),
        ("id int, v int", "1 AS id, 1 AS v", "no unique key of exactly (id)"),
        ("id int, v int, UNIQUE (id, v)", "1 AS id, 1 AS v", "no unique key of exactly (id)"),
        ("id int, v int, UNIQUE (id) DEFERRABLE", "1 AS id, 1 AS v", "no unique key of exactly (id)"),
        (None, "1 AS id", "has no table shop.t"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit(spark: SparkSession, db: Tables, table: str | None, result: str, words: str) -> None:
    if table is not None:
        db.sql(f"CREATE TABLE t ({table})")
    with pytest.raises(PanesError) as caught:
        upserts(db, create=False)(spark.sql(f"SELECT 'insert' AS _change_type, {result}"), 0)
    assert caught.value.code == "sink-mismatch"
    assert words in caught.value.message
    assert not [name for name in db.names() if name.startswith("panes_staging")]


def test_a_partial_index_is_no_key(spark: SparkSession, db: Tables) -> None:
    db.sql("CREATE TABLE t (id int, v text)")
    db.sql("CREATE UNIQUE INDEX ON t (id) WHERE v IS NOT NULL")
    with pytest.raises(PanesError) as caught:
        upserts(db)(rows(spark, [("insert", 1, "a")], CHANGES), 0)
    assert caught.value.code == "sink-mismatch"


def test_results_that_do_not_fit(spark: SparkSession, db: Tables) -> None:
    with pytest.raises(PanesError) as caught:
        upserts(db, key=["idd"])(rows(spark, [("insert", 1, "a")], CHANGES), 0)
    assert (caught.value.code, caught.value.hint) == ("unknown-column", "Did you mean id?")
    with pytest.raises(PanesError) as caught:
        upserts(db, key=None)
    assert caught.value.code == "stream-options"
    with pytest.raises(PanesError) as caught:
        writer(db, create=True)(spark.sql("SELECT 1 AS a, 2 AS A"), 0)
    assert caught.value.code == "ambiguous-column"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"password": "wrong"}, "password authentication failed"),
        ({"password": None}, "no password supplied"),
        ({"url": "postgresql://panes@127.0.0.1:1/postgres"}, "127.0.0.1:1/postgres: connection failed"),
        ({"url": "postgresql://panes:hunter3@127.0.0.1:1/postgres"}, "127.0.0.1:1/postgres: connection failed"),
        ({"url": "postgresql://panes@nowhere.invalid/postgres"}, "failed to resolve host"),
    ],
)
def test_databases_that_let_nobody_in(db: Tables, change: dict[str, Any], words: str) -> None:
    put: PostgresWriter = writer(db, **change)
    with pytest.raises(PanesError) as caught:
        put.check(SparkSession.active().createDataFrame([], "id int").schema)
    assert caught.value.code == "database-failed"
    assert words in caught.value.message
    assert "hunter" not in str(caught.value)


def test_secrets_of_your_own_write_stream(spark: SparkSession, db: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panes.secrets._handed_out", set())
    monkeypatch.setenv("PANES_TEST_WORD", db.server.password)
    put = writer(db, create=True, password="${ENV:PANES_TEST_WORD}")
    put(rows(spark, [(1,)], "id int"), 0)
    assert db.sql("SELECT id FROM t") == [(1,)]
    with pytest.raises(PanesError) as caught:
        writer(db, url="${ENV:PANES_TEST_NOWHERE}")
    assert caught.value.code == "missing-secret"


def test_a_client_notices_a_server_that_is_gone(postgres: Server) -> None:
    with connected(Database(postgres.url, postgres.password)) as connection:
        given = connection.info.get_parameters()
    assert [given[f"keepalives_{name}"] for name in ("idle", "interval", "count")] == ["30", "10", "3"]
    with connected(Database(f"{postgres.url}?keepalives_idle=7", postgres.password)) as connection:
        assert connection.info.get_parameters()["keepalives_idle"] == "7"


def test_psycopg_is_missing(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    put: PostgresWriter = sinks.postgres(id="q", url=postgres.url, table="t")  # type: ignore[assignment]
    with pytest.raises(PanesError) as caught:
        put.check(SparkSession.active().createDataFrame([], "id int").schema)
    assert caught.value.code == "missing-package"
    assert "pip install 'panes[postgres]'" in str(caught.value)


def test_two_rows_of_a_key(spark: SparkSession, db: Tables) -> None:
    """Which of them is the later one nobody can tell."""
    put = upserts(db, key="id")  # a name alone is one name
    with pytest.raises(PanesError) as caught:
        put(rows(spark, [("insert", 1, "a"), ("update_postimage", 1, "b")], CHANGES), 0)
    assert caught.value.code == "inconsistent-change"
    assert db.sql("SELECT * FROM t") == []


@pytest.mark.parametrize("type_", ["timestamp(0) with time zone", "timestamp(3) with time zone[]"])
def test_times_that_would_be_rounded(spark: SparkSession, db: Tables, type_: str) -> None:
    db.sql(f"CREATE TABLE t (at {type_})")
    value = "array(now())" if type_.endswith("]") else "now()"
    with pytest.raises(PanesError) as caught:
        writer(db)(spark.sql(f"SELECT {value} AS at"), 0)
    assert caught.value.code == "sink-mismatch"
    db.sql(f"ALTER TABLE t ALTER at TYPE {re.sub('[(].[)]', '(6)', type_)}")
    writer(db)(spark.sql(f"SELECT {value} AS at"), 0)


def test_a_schema_with_a_percent_sign(spark: SparkSession, postgres: Server) -> None:
    with tables(postgres, '"100%s"') as db:
        url, password = db.server.url, db.server.password
        sinks.postgres(id="q", url=url, password=password, table="100%s.t", create=True)(
            rows(spark, [(1,)], "id int"), 0
        )
        assert db.sql("SELECT id FROM t") == [(1,)]


@pytest.mark.parametrize("word", ["se cret", "hun/ter", "cor#rect", "horse?x"])
def test_a_url_that_is_wrong_does_not_tell_its_password(spark: SparkSession, word: str) -> None:
    url = f"postgresql://me:{word}@127.0.0.1:1/x"
    with pytest.raises(PanesError) as caught:
        sinks.postgres(id="q", url=url, table="t")(rows(spark, [(1,)], "id int"), 0)
    told = str(caught.value)
    assert caught.value.code == "database-failed"
    assert not any(part in told for part in (word, *re.split("[/#? ]", word)) if len(part) > 2)


def test_your_own_write_stream(spark: SparkSession, db: Tables, tmp_path: Path) -> None:
    """Killed after the merge, before Spark took note: the micro-batch is in the table once."""
    sent = [{"id": n % 4, "v": n} for n in range(20)]
    for number in range(2):
        write_file(tmp_path / "in", number, sent[10 * number : 10 * number + 10])

    def run() -> None:
        lines = spark.readStream.schema("id int, v int").option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
        put = writer(db, id="own", create=True)
        started = lines.writeStream.foreachBatch(put).option("checkpointLocation", str(tmp_path / "c"))
        started.trigger(availableNow=True).start().awaitTermination()

    run()
    for name in ("1", ".1.crc"):
        (tmp_path / "c" / "commits" / name).unlink(missing_ok=True)
    run()
    assert db.sql("SELECT id, v FROM t ORDER BY v") == [(one["id"], one["v"]) for one in sent]
    assert db.sql("SELECT id, batch FROM panes_sinks") == [("own", 1)]
