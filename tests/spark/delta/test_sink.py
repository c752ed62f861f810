"""Delta out: each micro-batch is in the table once, however often and by however many it is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from panes import Engine, sinks
from panes.errors import PanesError
from panes.spark.delta import sink as delta_sink
from panes.spark.delta.table import open_table
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    table = DeltaTable(str(path)).to_pyarrow_table()
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_each_micro_batch_is_appended_once(spark: SparkSession, tmp_path: Path) -> None:
    put = sinks.delta(id="a", path=str(tmp_path / "t"), create=True)
    another = sinks.delta(id="b", path=str(tmp_path / "t"))
    first = spark.createDataFrame([(1, "x"), (2, None)], "id int, v string").repartition(2)
    second = spark.createDataFrame([(3, "z")], "id int, v string")
    for writer, rows, batch in [
        (put, first, 0),
        (put, first, 0),
        (put, second, 1),
        (put, second, 1),
        (another, second, 0),
    ]:
        writer(rows, batch)
    assert rows_of(tmp_path / "t") == [(1, "x"), (2, None), (3, "z"), (3, "z")]
    assert DeltaTable(str(tmp_path / "t")).version() == 3  # made, and written three times
    assert list(tmp_path.glob("t/_panes_staging/*")) == []


def test_a_micro_batch_without_rows_is_no_version(spark: SparkSession, tmp_path: Path) -> None:
    put = sinks.delta(id="a", path=str(tmp_path / "t"), create=True)
    put(spark.createDataFrame([], "id int"), 0)
    put(spark.createDataFrame([], "id int"), 1)
    assert DeltaTable(str(tmp_path / "t")).version() == 0


CHANGES = "_change_type string, k string, `the-value` int"


def test_changes_are_applied_by_key(spark: SparkSession, tmp_path: Path) -> None:
    """NULL is a key as well; a key that is deleted and inserted in one micro-batch is there."""
    put = sinks.delta(id="a", path=str(tmp_path / "t"), key=["K"], changelog=True, create=True)
    micro_batches = [
        [("insert", "a", 1), ("insert", None, 2), ("insert", "c", 3)],
        [
            ("update_preimage", "a", 1), ("update_postimage", "a", 10), ("delete", None, 2),
            ("insert", "c", 30), ("delete", "c", 3), ("insert", "d", 4), ("delete", "nobody", 5),
        ],
        [("insert", None, 20), ("delete", "d", 4)],
    ]  # fmt: skip
    for batch, changes in enumerate(micro_batches):
        for _ in range(2):
            put(spark.createDataFrame(changes, CHANGES).repartition(3), batch)
    found = DeltaTable(str(tmp_path / "t")).to_pyarrow_table().to_pylist()
    assert {row["k"]: row["the-value"] for row in found} == {"a": 10, None: 20, "c": 30}
    assert len(found) == 3
    assert DeltaTable(str(tmp_path / "t")).version() == 3


@pytest.mark.parametrize(("keys", "least_skipped"), [((5005,), 15), ((5005, None), 0)])
def test_a_merge_reads_only_files_whose_keys_are_near(
    spark: SparkSession, tmp_path: Path, keys: tuple[int | None, ...], least_skipped: int
) -> None:
    path = str(tmp_path / "t")
    for n in range(20):
        values = list(range(1000 * n, 1000 * n + 10))
        write_deltalake(path, pa.table({"id": pa.array(values, pa.int64()), "v": values}), mode="append")
    put = sinks.delta(id="a", path=path, key="ID", changelog=True)
    schema = "_change_type string, id bigint, v bigint"
    put(spark.createDataFrame([("update_postimage", key, -1) for key in keys], schema), 0)
    metrics = DeltaTable(path).history(1)[0]["operationMetrics"]
    scanned, skipped = (int(metrics[f"num_target_files_{what}"]) for what in ("scanned", "skipped_during_scan"))
    assert skipped >= least_skipped
    assert (scanned == 1) == (least_skipped > 0)
    found = DeltaTable(path).to_pyarrow_table().to_pylist()
    assert {row["id"] for row in found if row["v"] == -1} == set(keys)


@pytest.mark.parametrize(
    ("type_", "values", "changed"),
    [
        ("double", ["NaN", "3", "5"], "NaN"),
        ("decimal(20,0)", ["12345678901234567891", "1"], "12345678901234567891"),
        ("timestamp", ["2024-01-01 00:00:00.123456", "2024-01-01 00:00:00.123457"], "2024-01-01 00:00:00.123457"),
        ("string", ["x" * 500, "y", "it's"], "x" * 500),
    ],
)
def test_statistics_of_files_hide_no_row(
    spark: SparkSession, tmp_path: Path, type_: str, values: list[str], changed: str
) -> None:
    """They are rounded or cut, and know no NaN: a row that is not found would be there twice."""
    put = sinks.delta(id="a", path=str(tmp_path / "t"), key="id", changelog=True, create=True)
    cast = ["_change_type", f"CAST(id AS {type_}) AS id", "v"]
    for batch, some in enumerate([values, values[:1], [changed]]):
        rows = [("update_postimage", one, batch) for one in some]
        put(spark.createDataFrame(rows, "_change_type string, id string, v int").selectExpr(*cast), batch)
    assert DeltaTable(str(tmp_path / "t")).to_pyarrow_table().num_rows == len(values)


def test_a_checkpoint_that_is_behind(spark: SparkSession, tmp_path: Path) -> None:
    """With a new checkpoint under an old id, numbers begin again: its rows must not be passed over in silence."""
    put = sinks.delta(id="a", path=str(tmp_path / "t"), key=["k"], changelog=True, create=True)
    old = spark.createDataFrame([("insert", "a", 1)], CHANGES)
    new = spark.createDataFrame([("update_postimage", "a", 2)], CHANGES)
    for rows, batch in [(old, 0), (new, 1)]:
        put(rows, batch)
    with pytest.raises(PanesError) as caught:
        put(old, 0)
    assert caught.value.code == "state-mismatch"
    assert rows_of(tmp_path / "t") == [("a", 2)]


def test_two_rows_of_a_key(spark: SparkSession, tmp_path: Path) -> None:
    """Which of them is the later one nobody can tell."""
    put = sinks.delta(id="a", path=str(tmp_path / "t"), key="k", changelog=True, create=True)
    with pytest.raises(Exception, match="PanesError: inconsistent-change: a key has two new rows in one micro-batch"):
        put(spark.createDataFrame([("insert", "a", 1), ("update_postimage", "a", 2)], CHANGES), 0)
    assert rows_of(tmp_path / "t") == []


def test_your_own_write_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Killed after the commit, before Spark took note: the micro-batch is in the table once."""

    def run() -> None:
        engine = Engine(spark)
        engine.run(stream(tmp_path))
        put = sinks.delta(id="board", path=str(tmp_path / "t"), key=["k", "b"], changelog=True, create=True)
        writer = engine.sql(f"{SUMS} EMIT CHANGES").writeStream.foreachBatch(put)
        writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()

    run()
    commits = tmp_path / "c" / "commits"
    last = max(int(one.name) for one in commits.glob("[0-9]*"))
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)
    version = DeltaTable(str(tmp_path / "t")).version()
    run()
    assert rows_of(tmp_path / "t") == expected()
    assert DeltaTable(str(tmp_path / "t")).version() == version


@pytest.mark.parametrize("changelog", [False, True])
def test_drivers_at_once(spark: SparkSession, tmp_path: Path, changelog: bool) -> None:
    """Four of one sink, and another sink that commits all the while."""
    path = str(tmp_path / "t")
    key = ["k"] if changelog else None
    sinks.delta(id="maker", path=path, key=key, changelog=changelog, create=True)(
        spark.createDataFrame([("insert", "0", 0)], CHANGES), 0
    )
    drivers = [sinks.delta(id="a", path=path, key=key, changelog=changelog) for _ in range(4)]
    other = sinks.delta(id="b", path=path, key=key, changelog=changelog)

    def drive(driver: sinks.Put, name: str) -> None:
        try:
            for batch in range(3):
                driver(spark.createDataFrame([("insert", f"{name}{batch}", n) for n in range(1)], CHANGES), batch)
        except PanesError as error:  # another driver is ahead
            assert error.code == "state-mismatch"

    with ThreadPoolExecutor(5) as pool:
        done = [*(pool.submit(drive, driver, "a") for driver in drivers), pool.submit(drive, other, "b")]
    for one in done:
        one.result()
    table = DeltaTable(path).to_pyarrow_table()
    assert sorted(table["k"].to_pylist()) == sorted(["0", *(f"{name}{batch}" for name in "ab" for batch in range(3))])


@pytest.mark.parametrize("changelog", [False, True])
def test_another_commits_in_between(
    spark: SparkSession, tmp_path: Path, changelog: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver in another process commits after this one has looked at the table: neither is lost or there twice."""
    path = str(tmp_path / "t")
    key = ["k"] if changelog else None
    one, other = (
        sinks.delta(id=name, path=path, key=key, changelog=changelog, create=True) for name in ("one", "other")
    )
    one(spark.createDataFrame([("insert", "0", 0)], CHANGES), 0)
    opened: list[DeltaTable] = []

    def open_late(*where: Any, **more: Any) -> DeltaTable:
        opened.append(table := open_table(*where, **more))
        if len(opened) == 2:  # the first is for the columns
            other(spark.createDataFrame([("insert", "b", 2)], CHANGES), 0)
        return table

    monkeypatch.setattr(delta_sink, "open_table", open_late)
    one(spark.createDataFrame([("insert", "a", 1)], CHANGES), 1)
    assert sorted(DeltaTable(path).to_pyarrow_table()["k"].to_pylist()) == ["0", "a", "b"]


TYPES = """
    id bigint, tiny tinyint, small smallint, i int, f float, d double, flag boolean, s string, b binary, day date,
    ts timestamp, ntz timestamp_ntz, n decimal(38,10), list array<struct<a: int, b: array<string>>>,
    m map<string, timestamp>, st struct<x: int, `y-z`: timestamp_ntz>
"""


def all_types(spark: SparkSession) -> DataFrame:
    return spark.sql("""
        SELECT id, CAST(-id AS TINYINT) AS tiny, CAST(id AS SMALLINT) AS small, CAST(id AS INT) AS i,
            CAST('NaN' AS FLOAT) AS f, 1.5D AS d, id > 0 AS flag, 'é''"' AS s, X'00FF' AS b, DATE'1582-10-04' AS day,
            TIMESTAMP'1969-12-31 23:59:59.999999' AS ts, TIMESTAMP_NTZ'2024-03-31 02:30:00.000001' AS ntz,
            CAST('-1234567890123456789012345678.0123456789' AS DECIMAL(38, 10)) AS n,
            array(struct(1 AS a, array('p', NULL) AS b), NULL) AS list, map('k', TIMESTAMP'2024-01-01') AS m,
            struct(CAST(NULL AS INT) AS x, TIMESTAMP_NTZ'0001-01-01 00:00:00' AS `y-z`) AS st
        FROM range(2)
        UNION ALL SELECT 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    """)


@pytest.fixture
def in_berlin(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.usefixtures("in_berlin")
def test_all_types_come_back(spark: SparkSession, tmp_path: Path) -> None:
    """Out through appending and merging, in as a stream: in another time zone than that of the files."""
    rows = all_types(spark)
    assert rows.schema.simpleString() == spark.createDataFrame([], TYPES).schema.simpleString()
    sinks.delta(id="a", path=str(tmp_path / "t"), create=True)(rows, 0)
    changes = rows.selectExpr("'insert' AS _change_type", "*")
    put = sinks.delta(id="b", path=str(tmp_path / "u"), key=["id"], changelog=True, create=True)
    put(changes.where("id = 7"), 0)
    put(changes, 1)
    engine = Engine(spark)
    for name in ("t", "u"):
        engine.run(f"CREATE STREAM {name} ({TYPES}) WITH (connector = 'delta', path = '{tmp_path}/{name}')")
        query = engine.sql(f"SELECT * FROM {name}").writeStream.format("memory").queryName(f"back_{name}")
        query.trigger(availableNow=True).start().awaitTermination()
        back = spark.table(f"back_{name}")
        assert back.schema.simpleString() == rows.schema.simpleString()
        assert sorted(map(str, back.collect())) == sorted(map(str, rows.collect()))


# INSERT INTO


def stream(folder: Path) -> str:
    rows = [{"ts": at(1000 * n), "k": f"k{n % 3}", "v": n} for n in range(60)]
    for number, some in enumerate((rows[:35], rows[35:])):  # a window is in both
        write_file(folder / "in", number, some)
    return f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
        WITH (connector = 'json', path = '{folder}/in', maxFilesPerTrigger = '1');
    """


def sink(folder: Path, more: str = "create = 'true'", name: str = "out") -> str:
    return f"CREATE SINK {name} WITH (connector = 'DELTA', path = '{folder}/{name}'{', ' if more else ''}{more});"


def expected() -> list[tuple[str, dt.datetime, int]]:
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    found: dict[tuple[str, int], int] = {}
    for n in range(60):
        found[f"k{n % 3}", n // 10] = found.get((f"k{n % 3}", n // 10), 0) + n
    return sorted((k, start + dt.timedelta(seconds=10 * at), s) for (k, at), s in found.items())


SUMS = "SELECT k, window_start() AS b, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"


def test_inserts_and_their_restart(spark: SparkSession, tmp_path: Path) -> None:
    """The last micro-batch is written again: killed after the commit, before Spark took note."""
    made = "create = 'true', changelog = 'rows', partition_by = 'k', delta.appendOnly = 'true'"
    script = f"""
        {stream(tmp_path)} {sink(tmp_path)} {sink(tmp_path, name="merged")} {sink(tmp_path, made, "changes")}
        INSERT INTO out {SUMS};
        INSERT INTO merged {SUMS} EMIT CHANGES;
        INSERT INTO changes {SUMS} EMIT CHANGES;
    """
    Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", once=True)
    for commits in (tmp_path / "checkpoint").glob("*/spark/commits"):
        last = max(int(one.name) for one in commits.glob("[0-9]*"))
        for name in (f"{last}", f".{last}.crc"):
            (commits / name).unlink(missing_ok=True)
    Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", flush=True)
    assert rows_of(tmp_path / "out") == expected()
    assert rows_of(tmp_path / "merged") == expected()
    table = DeltaTable(str(tmp_path / "changes"))
    assert table.metadata().partition_columns == ["k"]
    assert table.metadata().configuration == {"delta.appendOnly": "true"}
    words = table.to_pyarrow_table()["_change_type"].to_pylist()
    assert words.count("insert") - words.count("delete") == len(expected())
    assert words.count("update_preimage") == words.count("update_postimage") > 0


@pytest.mark.parametrize("changelog", [False, True])
def test_a_table_may_have_more_columns_in_another_order(spark: SparkSession, tmp_path: Path, changelog: bool) -> None:
    held = pa.table({"s": pa.array([0], pa.int64()), "K": ["none"], "more": ["kept"]})
    write_deltalake(str(tmp_path / "t"), held)
    put = sinks.delta(id="a", path=str(tmp_path / "t"), key=["k"] if changelog else None, changelog=changelog)
    rows = spark.createDataFrame(
        [("insert", "none" if changelog else "a", 1), ("insert", "b", 2)], "c string, k string, s bigint"
    )
    put(rows.withColumnRenamed("c", "_change_type") if changelog else rows.drop("c"), 0)
    found = sorted(tuple(row.values()) for row in DeltaTable(str(tmp_path / "t")).to_pyarrow_table().to_pylist())
    others = [(1, "none", "kept")] if changelog else [(0, "none", "kept"), (1, "a", None)]
    assert found == [*others, (2, "b", None)]


@pytest.mark.parametrize(
    ("query", "more", "code", "says"),
    [
        (SUMS, "", "delta-failed", "there is no Delta table at"),
        (SUMS, "create = 'true', partition_by = 'kk'", "unknown-column", "kk"),
        (f"{SUMS} EMIT CHANGES", "create = 'true', key = 'k, bb'", "stream-options", "lacks a bound"),
        (f"{SUMS} EMIT CHANGES", "create = 'true', key = 'b, k, kk'", "unknown-column", "kk"),
        (SUMS.replace("window_start() AS b, ", "") + " EMIT CHANGES", "create = 'true'", "stream-options", "a bound"),
        ("SELECT k, b - b AS gone FROM (SELECT k, ts AS b FROM t)", "create = 'true'", "type-mismatch", "interval"),
    ],
)
def test_refused_before_anything_starts(
    query: str, more: str, code: str, says: str, spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(f"{stream(tmp_path)} {sink(tmp_path, more)} INSERT INTO out {query}", once=True)
    assert (caught.value.code, says in str(caught.value)) == (code, True), caught.value
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("schema", "code", "says"),
    [
        ({"k": pa.string(), "b": pa.timestamp("us", "UTC")}, "unknown-column", "no column s"),
        ({"k": pa.string(), "b": pa.timestamp("us", "UTC"), "s": pa.int32()}, "type-mismatch", "CAST(s AS INT)"),
        ({"k": pa.string(), "b": pa.timestamp("us"), "s": pa.int64()}, "type-mismatch", "timestamp_ntz"),
    ],
)
def test_another_schema_is_refused(
    schema: dict[str, pa.DataType], code: str, says: str, spark: SparkSession, tmp_path: Path
) -> None:
    DeltaTable.create(str(tmp_path / "out"), pa.schema(list(schema.items())))
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(f"{stream(tmp_path)} {sink(tmp_path)} INSERT INTO out {SUMS}", once=True)
    assert (caught.value.code, says in str(caught.value)) == (code, True), caught.value


def test_a_column_that_may_not_be_null_is_selected(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int32()), pa.field("must", pa.string(), nullable=False)])
    DeltaTable.create(str(tmp_path / "t"), schema)
    put = sinks.delta(id="a", path=str(tmp_path / "t"))
    with pytest.raises(PanesError) as caught:
        put(spark.createDataFrame([(1,)], "id int"), 0)
    assert caught.value.code == "unknown-column"
    with pytest.raises(PanesError) as caught:
        put(spark.createDataFrame([(1, None)], "id int, must string"), 0)
    assert caught.value.code == "delta-failed"
    assert rows_of(tmp_path / "t") == []
    put(spark.createDataFrame([(1, "x")], "id int, must string"), 0)
    assert rows_of(tmp_path / "t") == [(1, "x")]


def test_without_the_package(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panes.spark.delta.table.find_spec", lambda name: None)
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(f"{stream(tmp_path)} {sink(tmp_path)} INSERT INTO out {SUMS}", once=True)
    assert caught.value.code == "missing-package"
    assert "panes[delta]" in (caught.value.hint or "")
