"""What test_spark_sink.py runs with Spark's own Delta beside the tests of the sink: what is true of it alone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from panes import sinks
from panes.cli.checks import delta_sinks
from panes.connectors.delta import DELTA_RS, SPARK
from panes.errors import PanesError
from panes.spark.delta import spark_sink
from panes.spark.delta.engine import found_in, suits

pytestmark = pytest.mark.spark
CHANGES = "_change_type string, k string, v int"


def writers(path: Path) -> list[str]:
    """Who wrote each version of a table, the first one first."""
    table = DeltaTable(str(path))
    found = [str(one.get("engineInfo", "delta-rs")) for one in table.history()]
    return [SPARK if one.startswith("Apache-Spark") else DELTA_RS for one in reversed(found)]


def changes(spark: SparkSession, *rows: tuple[str, str | None, int]) -> DataFrame:
    return spark.createDataFrame(rows, CHANGES)


def held(path: Path) -> dict[Any, Any]:
    rows = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    assert len({row["k"] for row in rows}) == len(rows)
    return {row["k"]: row["v"] for row in rows}


def test_spark_writes_unasked(spark: SparkSession, tmp_path: Path) -> None:
    assert suits(found_in(spark))
    assert "delta-spark_4.2" in delta_sinks(spark).found
    sinks.delta(id="a", path=str(tmp_path / "t"), create=True)(spark.range(3), 0)
    sinks.delta(id="b", path=str(tmp_path / "t"), engine=DELTA_RS)(spark.range(3), 0)
    assert writers(tmp_path / "t") == [SPARK, SPARK, DELTA_RS]
    assert not (tmp_path / "t" / "_panes_staging").exists() or not any((tmp_path / "t" / "_panes_staging").iterdir())


@pytest.mark.parametrize("changelog", [False, True])
def test_a_checkpoint_changes_sides(spark: SparkSession, tmp_path: Path, changelog: bool) -> None:
    """A micro-batch that one engine has committed is there for the other, so that it is not written again."""
    path = tmp_path / "t"

    def put(engine: str) -> sinks.Put:
        key = ["k"] if changelog else None
        return sinks.delta(id="a", path=str(path), key=key, changelog=changelog, create=True, engine=engine)

    for batch, (first, second) in enumerate([(DELTA_RS, SPARK), (SPARK, DELTA_RS), (SPARK, SPARK)]):
        for engine in (first, second):
            put(engine)(changes(spark, ("insert", f"k{batch}", batch)), batch)
    assert held(path) == {"k0": 0, "k1": 1, "k2": 2}
    assert writers(path) == [DELTA_RS, DELTA_RS, SPARK, SPARK]  # made, and written three times
    for engine in (SPARK, DELTA_RS):
        with pytest.raises(PanesError) as caught:
            put(engine)(changes(spark, ("insert", "late", 0)), 1)
        assert caught.value.code == "state-mismatch"


def test_a_failure_before_the_commit_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What dies after Delta's commit, before Spark takes note, is not written again; what dies before it is."""
    path, apply = tmp_path / "t", spark_sink.SparkWriter._apply
    put = sinks.delta(id="a", path=str(path), key="k", changelog=True, create=True)
    put(changes(spark, ("insert", "a", 1)), 0)

    def fail_before(*given: Any) -> None:
        raise KeyboardInterrupt

    def fail_after(*given: Any) -> None:
        apply(*given)
        raise KeyboardInterrupt

    for failing, versions in ((fail_before, 1), (fail_after, 2)):
        monkeypatch.setattr(spark_sink.SparkWriter, "_apply", failing)
        with pytest.raises(KeyboardInterrupt):
            put(changes(spark, ("update_postimage", "a", 2), ("insert", "b", 3)), 1)
        assert DeltaTable(str(path)).version() == versions
    monkeypatch.setattr(spark_sink.SparkWriter, "_apply", apply)
    put(changes(spark, ("update_postimage", "a", 2), ("insert", "b", 3)), 1)
    assert (held(path), DeltaTable(str(path)).version()) == ({"a": 2, "b": 3}, 2)
    left = [name for name in (f"{spark_sink.TRANSACTION}AppId", spark_sink.COPIES) if spark.conf.get(name, None)]
    assert left == []  # the session is as it was


@pytest.mark.parametrize("changelog", [False, True])
def test_drivers_in_sessions_of_their_own(spark: SparkSession, tmp_path: Path, changelog: bool) -> None:
    """Three of one sink and one of another, which commit at once."""
    path, key = tmp_path / "t", ["k"] if changelog else None

    def put(name: str) -> sinks.Put:
        return sinks.delta(id=name, path=str(path), key=key, changelog=changelog, create=True)

    def drive(name: str) -> None:
        session = spark.newSession()
        try:
            for batch in range(3):
                put(name)(changes(session, ("insert", f"{name}{batch}", batch)), batch)
        except PanesError as error:  # another driver is ahead
            assert error.code == "state-mismatch"

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(drive, name) for name in "aaab"]:
            one.result()
    assert held(path) == {f"{name}{batch}": batch for name in "ab" for batch in range(3)}


def test_a_table_that_delta_rs_cannot_write(spark: SparkSession, tmp_path: Path) -> None:
    """Deletion vectors are Spark's to write and to read."""
    path = tmp_path / "t"
    spark.range(10).selectExpr("CAST(id AS string) AS k", "CAST(id AS int) AS v").coalesce(1).write.format(
        "delta"
    ).option("delta.enableDeletionVectors", "true").save(f"file:{path}")
    put = sinks.delta(id="a", path=str(path), key="k", changelog=True)
    for _ in range(2):
        put(changes(spark, ("delete", "3", 3), ("update_postimage", "4", 40), ("insert", "x", 0)), 0)
    found = {row.k: row.v for row in spark.read.format("delta").load(f"file:{path}").collect()}
    assert found == {**{str(n): n for n in range(10) if n != 3}, "4": 40, "x": 0}
    assert DeltaTable(str(path)).version() == 1


def test_a_generated_column_is_left_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/t` (k STRING, v INT, twice INT GENERATED ALWAYS AS (v * 2)) USING delta")
    sinks.delta(id="a", path=str(tmp_path / "t"))(spark.createDataFrame([("a", 1)], "k string, v int"), 0)
    put = sinks.delta(id="b", path=str(tmp_path / "t"), key="k", changelog=True)
    put(changes(spark, ("insert", "b", 5)), 0)
    found = spark.read.format("delta").load(f"{tmp_path}/t").collect()
    assert sorted(map(tuple, found)) == [("a", 1, 2), ("b", 5, 10)]


def test_the_table_refuses(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("k", pa.string()), pa.field("v", pa.int32(), nullable=False)])
    DeltaTable.create(str(tmp_path / "t"), schema)
    rows: Sequence[tuple[str, None]] = [("a", None)]
    with pytest.raises(PanesError) as caught:
        sinks.delta(id="a", path=str(tmp_path / "t"))(spark.createDataFrame(rows, "k string, v int"), 0)
    assert caught.value.code == "delta-failed"
    assert "v" in caught.value.message
    with pytest.raises(PanesError) as caught:
        sinks.delta(id="a", path=str(tmp_path / "nowhere"))(spark.range(1), 0)
    assert caught.value.code == "delta-failed"


def test_a_path_is_taken_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a b `c{d}"
    for batch in range(2):
        put = sinks.delta(id="a", path=str(path), key="k", changelog=True, create=True)
        put(changes(spark, ("update_postimage", "a", batch)), batch)
    assert held(path) == {"a": 1}
    assert writers(path) == [SPARK] * 3


def test_a_column_name_that_delta_refuses(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's Delta takes no spaces in names, delta-rs does."""
    rows = spark.createDataFrame([(1,)], "`the value` int")
    with pytest.raises(PanesError) as caught:
        sinks.delta(id="a", path=str(tmp_path / "t"), create=True)(rows, 0)
    assert caught.value.code == "delta-failed"
    assert "the value" in str(caught.value) and "engine = 'delta-rs'" in str(caught.value)
    sinks.delta(id="a", path=str(tmp_path / "u"), create=True, engine=DELTA_RS)(rows, 0)
    assert DeltaTable(str(tmp_path / "u")).to_pyarrow_table().to_pylist() == [{"the value": 1}]
