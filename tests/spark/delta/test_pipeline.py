"""Delta's change feed → OVER → Delta: equal to the batch, each micro-batch once."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from spark.delta.changing_table import Pipeline

pytestmark = pytest.mark.spark


def test_from_a_change_feed_through_over_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    """With a restart, before which the last micro-batch was written and not noted."""
    pipeline = Pipeline(tmp_path)
    choose = random.Random(20240101)
    pipeline.make()
    pipeline.change(choose, 3)
    Engine(spark).run(pipeline.script, checkpoint=tmp_path / "checkpoint", once=True)
    pipeline.check()
    assert len(pipeline.commits("board")) == 3  # the rows at first, two versions, and one
    for name in ("1-board", "1-news"):
        logs = tmp_path / "checkpoint" / name / "spark"
        for file in ("offsets/3", "offsets/.3.crc", "commits/3", "commits/.3.crc", "commits/2", "commits/.2.crc"):
            (logs / file).unlink(missing_ok=True)  # after these three there may be a micro-batch without rows
        assert (logs / "offsets" / "2").exists()
    pipeline.change(choose, 2)
    Engine(spark).run(pipeline.script, checkpoint=tmp_path / "checkpoint", once=True)
    pipeline.check()
    assert len(pipeline.commits("board")) == 4


def test_a_stream_of_appended_rows(spark: SparkSession, tmp_path: Path) -> None:
    """With a computed column; when a version deletes rows, the query stops and says which."""
    path = str(tmp_path / "in")
    write_deltalake(path, pa.table({"ID": [1, 2], "v": [1.0, 2.0]}))
    script = f"""
        CREATE STREAM t (id BIGINT, v DOUBLE, twice DOUBLE AS v * 2) WITH (connector = 'delta', path = '{path}');
        CREATE SINK out WITH (connector = 'delta', path = '{tmp_path}/out', create = 'true');
        INSERT INTO out SELECT id, twice, lag(id) OVER (PARTITION BY 1) AS before FROM t;
    """

    def run() -> None:
        Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", once=True)

    run()
    write_deltalake(path, pa.table({"ID": [3], "v": [3.0]}), mode="append")
    run()
    found = DeltaTable(str(tmp_path / "out")).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["twice"], row["before"]) for row in found) == [
        (1, 2.0, None),
        (2, 4.0, 1),
        (3, 6.0, 2),
    ]
    DeltaTable(path).delete("ID = 1")
    with pytest.raises(PanesError) as caught:
        run()
    assert caught.value.code == "delta-failed"
    assert "version 2 of" in caught.value.message
    assert "changelog = 'true'" in (caught.value.hint or "")


STREAM = "CREATE STREAM t (id BIGINT, v DOUBLE, PRIMARY KEY (id)) WITH (connector = 'delta', path = '{path}', {more});"


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (("'{path}'", "'{path}/nowhere'"), "delta-failed", "there is no Delta table at"),
        (("v DOUBLE", "w DOUBLE"), "unknown-column", "w"),
        (("v DOUBLE", "v BIGINT"), "type-mismatch", "DOUBLE"),
        (("{more}", "changelog = 'true'"), "delta-failed", "delta.enableChangeDataFeed"),
        (("{more}", "starting_version = '5'"), "delta-failed", "has no version 5 yet"),
        (("INTO out", "INTO itself"), "stream-options", "its own table"),
    ],
)
def test_refused_before_anything_is_written(
    change: tuple[str, str], code: str, says: str, spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "in")
    write_deltalake(path, pa.table({"id": [1], "v": [1.0]}))
    sinks = f"""
        CREATE SINK out WITH (connector = 'delta', path = '{tmp_path}/out', create = 'true');
        CREATE SINK itself WITH (connector = 'delta', path = '{path}/');
    """
    script = f"{STREAM} {sinks} INSERT INTO out SELECT id, v FROM t".replace(*change)
    script = script.replace("{path}", path).replace("{more}", "snapshot = 'true'").replace("w FROM", "v FROM")
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", once=True)
    assert (caught.value.code, says in str(caught.value)) == (code, True), caught.value
    assert not (tmp_path / "out").exists()
