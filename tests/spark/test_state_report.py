"""`panes state`: what a checkpoint holds, of scripts and of queries that were started by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes import Engine
from panes.cli.main import app
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)"
WINDOW = "SELECT k, sum(v) AS s FROM t WHERE v > 0 GROUP BY tumblingwindow('ss', 10), k"
ROWS = "SELECT k, lag(v) OVER (PARTITION BY k ORDER BY ts) AS l FROM t"


@pytest.fixture
def checkpoint(tmp_path: Path, spark: SparkSession) -> Path:
    """Rows until second 21, so that the watermark is at 16: two windows are open, and six rows wait."""
    write_file(tmp_path / "in", 0, ({"ts": at(second * 1000), "k": "ab"[second % 2], "v": 1} for second in range(22)))
    text = f"""
        {STREAM} WITH (connector = 'json', path = '{tmp_path}/in');
        CREATE SINK sums WITH (connector = 'parquet', path = '{tmp_path}/sums');
        CREATE SINK rows WITH (connector = 'parquet', path = '{tmp_path}/rows');
        INSERT INTO sums {WINDOW};
        INSERT INTO rows {ROWS};
    """
    Engine(spark, shards=2).run(text, checkpoint=tmp_path / "checkpoint", once=True)
    return tmp_path / "checkpoint"


def test_what_a_script_holds(checkpoint: Path, spark: SparkSession) -> None:
    done = CliRunner().invoke(app, ["state", str(checkpoint), "--json"])
    assert done.exit_code == 0, done.output
    rows, sums = json.loads(done.output)
    assert (rows["query"], sums["query"]) == ("1-rows", "1-sums")
    assert (rows["depends_on"]["operator"], sums["depends_on"]["operator"]) == ("OVER", "tumblingwindow")
    assert sums["depends_on"]["source"] == {"stream": "t", "where": ["v > 0"]}
    assert sums["depends_on"]["size"] == "10 s"
    assert sums["columns"]["sum(v)"] == "decimal(38,0)"
    shards = list(sums["shards"].values())
    assert len(shards) == 2
    assert sum(one["open_windows"] for one in shards) >= 2
    assert min(one["oldest_open_window"] for one in shards if one["rows"]) == 10_000_000
    assert sum(one["buffered_rows"] for one in rows["shards"].values()) == 6 + 2  # those that wait, and the last ones
    table = CliRunner().invoke(app, ["state", str(checkpoint)])
    assert "1-sums, operator 0: tumblingwindow" in table.output
    assert "1970-01-01 00:00:10" in table.output


def test_what_is_no_checkpoint(tmp_path: Path, spark: SparkSession) -> None:
    done = CliRunner().invoke(app, ["state", str(tmp_path)])
    assert done.exit_code == 1
    assert "is not a checkpoint" in done.output
    assert CliRunner().invoke(app, ["state", str(tmp_path / "nowhere")]).exit_code == 1
