"""Statements in `engine.sql`: what `spark.sql` gives for its like, and tables by their names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes import Engine, PanesError

pytestmark = pytest.mark.spark
DDL = "id STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"


@pytest.fixture
def engine(spark: SparkSession) -> Engine:
    return Engine(spark)


def test_declarations_take_effect_and_give_no_rows(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for sql in (
        f"CREATE STREAM s ({DDL}) WITH (connector = 'json', path = '{tmp_path / 'in'}')",
        "CREATE VIEW big AS SELECT id, v, ts FROM s WHERE v > 10",
        "CREATE SINK out WITH (connector = 'console')",
    ):
        done = engine.sql(sql)
        assert (done.columns, done.collect()) == ([], [])
    result = engine.sql("SELECT id, sum(v) AS s FROM big GROUP BY tumblingwindow('ss', 10), id")
    assert result.isStreaming and result.columns == ["id", "s"]
    engine.sql("DROP VIEW big")
    with pytest.raises(PanesError) as caught:
        engine.sql("SELECT * FROM big")
    assert caught.value.code == "unknown-stream"


def test_lists_are_rows(engine: Engine) -> None:
    assert engine.sql("SHOW STREAMS").columns == ["stream", "columns", "time", "key"]
    assert engine.sql("SHOW STREAMS").collect() == []
    engine.sql(f"CREATE STREAM s ({DDL}, PRIMARY KEY (id)) WITH (connector = 'rate')")
    assert [tuple(row) for row in engine.sql("SHOW STREAMS").collect()] == [
        ("s", "id string, v int, ts timestamp", "ts", "id")
    ]
    described = {row["column"]: row["type"] for row in engine.sql("DESCRIBE s").collect()}
    assert described["v"] == "int" and described["(watermark)"] == "ts - 5 s"


def test_explain_is_one_row_as_in_spark(engine: Engine, spark: SparkSession) -> None:
    engine.stream("t", spark.range(3))
    sql = "SELECT lag(id) AS x FROM t"
    (row,) = engine.sql(f"EXPLAIN {sql}").collect()
    assert row["plan"] == engine.explain(sql)
    assert engine.sql(f"EXPLAIN {sql}").columns == spark.sql("EXPLAIN SELECT 1").columns


def test_parameters_of_a_declaration(engine: Engine) -> None:
    engine.sql("CREATE VIEW few AS SELECT id FROM range(10) WHERE id < :most", {"most": 2})
    assert [row.id for row in engine.sql("SELECT id FROM few ORDER BY id").collect()] == [0, 1]


def test_an_insert_is_for_engine_run(engine: Engine, spark: SparkSession) -> None:
    engine.stream("t", spark.range(3))
    engine.sql("CREATE SINK out WITH (connector = 'console')")
    with pytest.raises(PanesError) as caught:
        engine.sql("INSERT INTO out SELECT id FROM t")
    assert caught.value.code == "unsupported-clause" and "engine.run" in (caught.value.hint or "")


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    spark.range(5).write.option("path", str(tmp_path / "table")).saveAsTable("statements_events")
    yield "spark_catalog.default.statements_events"
    spark.sql("DROP TABLE statements_events")


def test_a_table_by_its_name_is_a_stream(engine: Engine, table: str, tmp_path: Path) -> None:
    stream = engine.stream("events", table, key=["id"])
    assert stream.streaming
    got: list[int] = []
    query = (
        engine.sql("SELECT id, lag(id) AS before FROM events")
        .writeStream.foreachBatch(lambda df, number: got.extend(row.id for row in df.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert sorted(got) == [0, 1, 2, 3, 4]


def test_a_table_as_a_batch_is_given_as_a_dataframe(engine: Engine, table: str, spark: SparkSession) -> None:
    assert not engine.stream("events", spark.table(table)).streaming
    assert engine.sql("SELECT count(*) AS n FROM events").collect()[0].n == 5


def test_what_is_no_table_or_cannot_be_streamed(engine: Engine, spark: SparkSession) -> None:
    with pytest.raises(PanesError) as caught:
        engine.stream("t", "nope.events")
    assert caught.value.code == "unknown-stream"
    spark.range(3).createOrReplaceTempView("statements_batch")
    with pytest.raises(PanesError) as caught:
        engine.stream("t", "statements_batch")
    assert caught.value.code == "stream-options" and "spark.table('statements_batch')" in (caught.value.hint or "")
    assert engine.catalog.streams.get("t") is None
