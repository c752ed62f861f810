"""A document on Spark: what became of its rows, in each way that the page offers, beside the batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from panes.cli.main import app
from panes.errors import PanesError
from panes.play.answers import document_of_trace
from panes.play.document import Document, PlayRow, StreamRows
from panes.play.examples import FIRST
from panes.play.request import RefusedError, RunRequest, Way
from panes.play.running import CellError, ready, run
from panes.trace import from_json
from panes.trace.model import Fate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM t (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND);\n"
ROW = PlayRow(0, {"k": "a", "ts": "2024-01-01 00:00:01"})


def test_what_cannot_run_is_refused_before_spark_is_asked() -> None:
    rows = (StreamRows("t", (ROW,)),)
    for document, error in (
        (Document(STREAM + "SELECT nothing FROM t", rows), PanesError),
        (Document(STREAM + "SELECT k FROM t"), RefusedError),
        (Document(STREAM + "SELECT k FROM t", rows, query=1), RefusedError),
        (Document("", rows), RefusedError),
        (Document(STREAM + "SELECT k FROM t", (StreamRows("T", (replace(ROW, values={"TS": "x"}),)),)), CellError),
    ):
        with pytest.raises(error):
            ready(document)


def test_a_query_knows_what_stands_before_it_and_reads_only_its_streams() -> None:
    sql = STREAM + "CREATE STREAM u (n INT);\nCREATE VIEW w AS SELECT k FROM t;\nSELECT k FROM w;\nSELECT n FROM u;\n"
    found = ready(Document(sql, (StreamRows("t", (ROW,)),), query=0))
    assert [stream.name for stream in found.streams] == ["t"]
    assert [view.name for view in found.query.views] == ["w"]
    assert list(found.scripted()) == ["t"]
    assert found.scripted()["t"].batches == [[("a", "2024-01-01 00:00:01")]]


@pytest.mark.spark
def test_each_way_gives_what_the_batch_gives(spark: SparkSession) -> None:
    told: list[Any] = []
    outcome = run(RunRequest(FIRST, Way.KILL, compare=True, seed=3), spark, told.append)
    late = [row.values for row in outcome.trace.rows if row.fate is Fate.LATE]
    assert late == [("cat", "buy", 99, "2024-01-01 12:00:19")]
    assert outcome.trace.sql == FIRST.sql
    comparison = outcome.comparison
    assert comparison is not None and comparison.same
    assert (comparison.rows, comparison.left_out) == (4, 1)
    assert [one["progress"] for one in told] == ["running", "batch", "kill"]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("way", [Way.PLAIN, Way.SHARDS])
def test_the_other_ways(spark: SparkSession, way: Way) -> None:
    outcome = run(RunRequest(FIRST, way, compare=True, seed=3), spark, lambda line: None)
    assert outcome.comparison is not None and outcome.comparison.same


@pytest.mark.spark
def test_what_draw_has_saved_goes_on_in_play(spark: SparkSession, tmp_path: Path) -> None:
    """A trace that is saved has the whole script, so that the query can be run again."""
    (tmp_path / "q.sql").write_text(STREAM + "SELECT k, ts FROM t;\n", encoding="utf-8")
    (tmp_path / "t.csv").write_text("k,ts\na,2024-01-01 00:00:01\n", encoding="utf-8")
    saved = tmp_path / "t.panes.json"
    command = ["draw", str(tmp_path / "q.sql"), "--rows", f"t={tmp_path}/t.csv", "-o", str(saved)]
    assert CliRunner().invoke(app, command).exit_code == 0
    found = ready(document_of_trace(from_json(saved.read_text(encoding="utf-8"))))
    assert found.scripted()["t"].batches == [[("a", "2024-01-01 00:00:01")]]
