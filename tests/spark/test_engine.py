"""The engine as users meet it: live sessions, declared streams, heartbeats and restarts, observed results, stopping."""

from __future__ import annotations

import tempfile
import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession, functions

import panes
from panes import Engine
from panes.errors import PanesError
from panes.spark import runner
from panes.spark.progress import counters_of
from panes.spark.report import Report
from panes.spark.runner import Running
from panes.spark.session import embedded, prepare
from panes.sql.parameters import Args
from panes.testing import Stream, replay
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

COLUMNS = "ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS"
QUERY = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
BATCHES = [[(1, "a", 1), (2, "b", 2)], [(11, "a", 8)], [(25, "a", 32)]]
SUMS = [("a", 1), ("a", 8), ("a", 32), ("b", 2)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the rows as JSON files in `in`."""
    for number, rows in enumerate(BATCHES):
        feed(tmp_path, number, rows)
    return tmp_path


def feed(folder: Path, number: int, rows: list[tuple[int, str, int]]) -> None:
    write_file(folder / "in", number, ({"ts": at(second * 1000), "k": k, "v": v} for second, k, v in rows))


def script(folder: Path, more: str = "", query: str = QUERY) -> str:
    return f"""
        CREATE STREAM t ({COLUMNS}) WITH (connector = 'json', path = '{folder}/in'{more});
        CREATE SINK out WITH (connector = 'parquet', path = '{folder}/out');
        INSERT INTO out {query};
    """


def sums(df: DataFrame) -> list[tuple[str, int]]:
    return sorted((row["k"], row["s"]) for row in df.collect())


# Sessions


def test_a_live_session_keeps_its_settings(spark: SparkSession) -> None:
    """Engine() and replay() without a session take the one that is there, from any thread."""
    mine = {
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    }
    before = {name: spark.conf.get(name, None) for name in mine}
    try:
        for name, value in mine.items():
            spark.conf.set(name, value)
        found: list[SparkSession] = [Engine().spark]
        another = threading.Thread(target=lambda: found.append(embedded()))
        another.start()
        another.join()
        replay("SELECT lag(v) OVER (PARTITION BY k) AS p FROM t", t=Stream("k string, v int", [[("a", 1)]]))
        assert {name: spark.conf.get(name) for name in mine} == mine
        assert all(one._jsparkSession.equals(spark._jsparkSession) for one in found)
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)
    prepare(spark)


# Parameters

GIVEN: list[tuple[str, Args]] = [
    (
        "SELECT k, sum(v) AS s FROM t WHERE k <> :out AND ts < :until GROUP BY tumblingwindow(:length), k",
        {"out": "it's", "until": datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC), "length": timedelta(seconds=10)},
    ),
    (
        "SELECT k, sum(v) AS s FROM t WHERE array_contains(?, k) AND v < ? GROUP BY tumblingwindow('ss', ?), k",
        [["a", "b"], Decimal("31.5"), 10],
    ),
]


@pytest.mark.parametrize(("query", "args"), GIVEN)
def test_a_query_with_parameters(query: str, args: Args, folder: Path, spark: SparkSession) -> None:
    engine = Engine(spark)
    rows = spark.read.schema("ts timestamp, k string, v bigint").json(str(folder / "in"))
    engine.stream("t", rows.unionAll(spark.sql("SELECT timestamp'1970-01-01 00:00:01Z', 'it\\'s', 64L")), time="ts")
    assert sums(engine.sql(query, args=args)) == [("a", 1), ("a", 8), ("b", 2)]
    assert [row.v for row in engine.sql("SELECT v FROM t WHERE v = :v", args={"v": 8}).collect()] == [8]


def test_a_column_is_no_value_of_a_parameter(spark: SparkSession) -> None:
    with pytest.raises(PanesError) as caught:
        Engine(spark).sql("SELECT :a AS a", args={"a": functions.lit(1)})
    assert caught.value.code == "parse-error"
    assert "lit(x)" in (caught.value.hint or "")


# Declared streams


def test_a_declared_stream_is_there_for_sql(folder: Path, spark: SparkSession) -> None:
    engine = Engine(spark)
    declaration, *_ = script(folder).split(";")
    engine.run(declaration)
    result = engine.sql(QUERY)
    assert result.isStreaming
    writer = result.writeStream.format("memory").queryName("declared").trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    assert sums(spark.table("declared")) == [("a", 1), ("a", 8), ("b", 2)]
    engine.run(f"CREATE STREAM nowhere ({COLUMNS})")
    with pytest.raises(PanesError) as caught:
        engine.sql(QUERY.replace("FROM t", "FROM nowhere"))
    assert caught.value.code == "stream-options"


def test_a_dropped_stream_is_gone(spark: SparkSession) -> None:
    engine = Engine(spark)
    engine.stream("dropped", spark.sql("SELECT 1 AS a"))
    engine.run("DROP STREAM dropped")
    spark.sql("SELECT 2 AS a").createOrReplaceTempView("dropped")
    assert [row.a for row in engine.sql("SELECT a FROM dropped").collect()] == [2]
    spark.catalog.dropTempView("dropped")
    with pytest.raises(PanesError):
        engine.sql("SELECT a FROM dropped")


def test_options_and_columns_in_any_spelling(tmp_path: Path, spark: SparkSession) -> None:
    write_file(tmp_path / "in", 0, [{"a`b": 1, "c": "x"}, {"a`b": 2, "c": "x"}])
    engine = Engine(spark)
    engine.run(
        f"""
        CREATE STREAM t (`a``b` INT, c STRING) WITH (CONNECTOR = 'JSON', PATH = '{tmp_path}/in');
        CREATE SINK out WITH (Connector = 'JSON', Path = '{tmp_path}/out');
        INSERT INTO out SELECT `a``b` AS `x``y`, lag(`a``b`) OVER (PARTITION BY c) AS p FROM t;
        """,
        once=True,
    )
    found = spark.read.schema("`x``y` int, p int").json(str(tmp_path / "out"))
    assert sorted(map(tuple, found.collect()), key=str) == [(1, None), (2, 1)]


def test_a_declared_changelog(tmp_path: Path, spark: SparkSession) -> None:
    changes = [("insert", 1, 10), ("insert", 2, 20), ("delete", 1, 10)]
    write_file(tmp_path / "in", 0, ({"_change_type": change, "id": id_, "v": v} for change, id_, v in changes))
    Engine(spark).run(
        f"""
        CREATE STREAM c (id INT, v INT, PRIMARY KEY (id))
        WITH (connector = 'json', path = '{tmp_path}/in', changelog = 'true');
        CREATE SINK board WITH (connector = 'memory');
        INSERT INTO board SELECT id, rank() OVER (ORDER BY v) AS place FROM c;
        """,
        flush=True,
    )
    assert [tuple(row) for row in spark.table("board").collect()] == [("insert", 2, 1)]


def test_sinks_and_streams_of_one_folder(folder: Path, spark: SparkSession) -> None:
    text = script(folder)
    again = (
        f"CREATE SINK again WITH (connector = 'parquet', path = 'file:{folder}/in/../out/'); INSERT INTO again {QUERY};"
    )
    into_input = text.replace(f"{folder}/out", f"{folder}/in/")
    for bad in (text + again, into_input):
        with pytest.raises(PanesError) as caught:
            Engine(spark).run(bad, checkpoint=folder / "checkpoint", once=True)
        assert caught.value.code == "stream-options"


# Heartbeats


def test_a_heartbeat_script_runs_once_flushes_and_goes_on(folder: Path, spark: SparkSession) -> None:
    beating = script(folder, more=", heartbeat = '1 second', maxFilesPerTrigger = '1'")
    checkpoint = folder / "checkpoint"
    reports: list[Report] = []

    def read() -> bool:
        return sum(one.counters.get("rows_in", 0) for one in reports) >= 4

    Engine(spark).run(beating, checkpoint=checkpoint, report=reports.append, stopped=read)
    feed(folder, 3, [(31, "a", 64)])
    Engine(spark).run(beating, checkpoint=checkpoint, once=True)
    feed(folder, 4, [(41, "a", 128)])
    Engine(spark).run(beating, checkpoint=checkpoint, flush=True)
    assert sums(spark.read.parquet(str(folder / "out"))) == sorted([*SUMS, ("a", 64), ("a", 128)])


def test_a_heartbeat_with_a_sink_that_forgets(folder: Path, spark: SparkSession) -> None:
    text = script(folder, more=", heartbeat = '1 millisecond'").replace(f"'parquet', path = '{folder}/out'", "'memory'")
    Engine(spark).run(text.replace(" out", " held_beats"), flush=True)
    assert sums(spark.table("held_beats")) == SUMS


def test_a_new_heartbeat_is_refused(folder: Path, spark: SparkSession) -> None:
    """Spark counts the sources of a checkpoint."""
    quiet, beating = script(folder), script(folder, more=", heartbeat = '1 second'")
    for first, second, says in ((quiet, beating, "t has a new heartbeat"), (beating, quiet, "t had a heartbeat")):
        out = folder / says.replace(" ", "-")
        first, second = (one.replace(f"{folder}/out", str(out)) for one in (first, second))
        Engine(spark).run(first, checkpoint=out / "checkpoint", once=True)
        with pytest.raises(PanesError, match=says) as caught:
            Engine(spark).run(second, checkpoint=out / "checkpoint", once=True)
        assert caught.value.code == "state-mismatch"


# Checkpoints


@pytest.mark.parametrize("query", [QUERY, QUERY.replace("sum(v)", "sum(1 / (v - 8))"), "SELECT nothing FROM t"])
def test_temporary_checkpoints_are_removed(
    query: str, folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    try:
        Engine(spark).run(script(folder, query=query), once=True)
    except Exception:
        assert query != QUERY
    Engine(spark).run(f"CREATE STREAM t ({COLUMNS})")
    assert list((folder / "tmp").iterdir()) == []


# Metrics


def test_metrics_of_results_that_are_joined(folder: Path, spark: SparkSession) -> None:
    """Two results in one query, and metrics of the user's own, also such as are called like ours."""
    engine = Engine(spark)
    df = spark.readStream.schema("ts timestamp, k string, v bigint").json(str(folder / "in"))
    observed = df.observe("panes_input", functions.count("*").alias("rows"))
    engine.stream("t", observed, time="ts", watermark="0 seconds")
    engine.stream("u", df, time="ts", watermark="0 seconds")
    both = engine.sql(QUERY).unionByName(engine.sql(QUERY.replace("FROM t", "FROM u")))
    result = both.observe("panes", functions.count("*").alias("n"))
    query = result.writeStream.format("memory").queryName("both").trigger(availableNow=True).start()
    query.awaitTermination()
    assert sums(spark.table("both")) == sorted([("a", 1), ("a", 8), ("b", 2)] * 2)
    mine = [one.observedMetrics for one in query.recentProgress]
    assert sum(one["panes"].n for one in mine) == 6
    assert sum(one["panes_input"].rows for one in mine) == 4
    found = [counters_of(one) for one in query.recentProgress]
    assert sum(one["rows_in"] for one in found) == 8
    assert sum(one["rows_out"] for one in found) == 6
    assert panes.counters(query)["late_rows"] == 0


# Stopping


def test_a_query_that_cannot_be_stopped(folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are stopped all the same, and what went wrong first is raised."""
    more = "CREATE SINK nothing WITH (connector = 'noop'); INSERT INTO nothing SELECT k FROM t;"
    running: list[Running] = []

    def wait(now: list[Running], how: object, news: object) -> bool:
        first = now[0].query
        stop = first.stop

        def fails() -> None:
            stop()
            raise TimeoutError("it does not stop")

        monkeypatch.setattr(first, "stop", fails, raising=False)
        running.extend(now)
        return False

    monkeypatch.setattr(runner, "wait", wait)
    with pytest.raises(TimeoutError):
        Engine(spark).run(script(folder) + more, checkpoint=folder / "checkpoint")
    assert len(running) == 2
    assert not any(one.query.isActive for one in running)
