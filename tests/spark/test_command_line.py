"""`panes run` and `panes shell` on Spark: rows of a SELECT, queries that fail, what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from typer.testing import CliRunner, Result

from panes import Engine
from panes.cli.main import app
from panes.errors import PanesError
from panes.spark.lock import locked
from panes.spark.report import Report
from panes.spark.rows import Rows
from panes.spark.store import LocalPath
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

STREAM = """
    CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
    WITH (connector = 'json', path = '{folder}/in');
    CREATE SINK out WITH (connector = 'parquet', path = '{folder}/out');
    CREATE SINK other WITH (connector = 'noop');
"""
SUMS = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
EXPECTED = [("a", 5), ("a", 8), ("b", 2)]
FAILS = "INSERT INTO other SELECT k, sum(1 / (v - ${zero})) AS s FROM t GROUP BY tumblingwindow('ss', 10), k;"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rows = [(1, "a", 1), (2, "b", 2), (3, "a", 4), (11, "a", 8)]
    write_file(tmp_path / "in", 0, ({"ts": at(second * 1000), "k": k, "v": v} for second, k, v in rows))
    return tmp_path


def panes(folder: Path, script: str, *options: str) -> Result:
    path = folder / "script.sql"
    path.write_text(STREAM.replace("{folder}", str(folder)) + script, encoding="utf-8")
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["run", str(path), *options])


def events(done: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows_of(found: list[dict[str, Any]], query: str) -> list[tuple[Any, ...]]:
    rows: list[Mapping[str, Any]] = [one["row"] for one in found if one["event"] == "row" and one["query"] == query]
    return sorted((row["k"], row["s"]) for row in rows)


def test_a_select_gives_its_rows_beside_an_insert(folder: Path, spark: SparkSession) -> None:
    script = f"{SUMS}; INSERT INTO out {SUMS}; SELECT k, NULL AS s FROM t WHERE v = 8;"
    done = panes(folder, script, "--flush", "--json", "--checkpoint", str(folder / "checkpoint"))
    assert done.exit_code == 0, done.output
    found = events(done)
    assert [one["queries"] for one in found if one["event"] == "started"] == [["out", "select-1", "select-2"]]
    assert rows_of(found, "select-1") == EXPECTED
    assert rows_of(found, "select-2") == [("a", None)]
    assert sorted((row["k"], row["s"]) for row in spark.read.parquet(str(folder / "out")).collect()) == EXPECTED
    rows_in = [one["rows_in"] for one in found if one["event"] == "batch" and one["query"] == "select-1"]
    assert sum(rows_in) == 4
    assert not list((folder / "checkpoint").glob("select*"))  # it starts anew each time


def test_rows_are_a_table_of_the_first_ones(folder: Path, spark: SparkSession) -> None:
    done = panes(folder, "SELECT k, v FROM t;", "--once", "--rows", "3", "--quiet")
    assert done.exit_code == 0, done.output
    assert "select-1 batch 0" in done.stdout
    assert "… and 1 more row\n" in done.stdout
    assert done.stderr == ""


SAME = "SELECT lag(v), lag(v), v AS `A.é`, CAST('1.12345678901234567890' AS DECIMAL(38, 20)) AS a FROM t WHERE v < 2;"


def test_columns_of_the_same_name_and_all_digits(folder: Path, spark: SparkSession) -> None:
    done = panes(folder, SAME, "--flush", "--quiet")
    assert done.exit_code == 0, done.output
    (header,) = (line for line in done.stdout.splitlines() if "A.é" in line)
    assert header.split()[1] == header.split()[3]
    assert "1.12345678901234567890" in done.stdout
    done = panes(folder, SAME, "--flush", "--json", "--quiet")
    assert done.exit_code == 0, done.output
    assert '"a":1.12345678901234567890}' in done.stdout
    (row,) = (one["row"] for one in events(done) if one["event"] == "row")
    first, second, *_ = row
    assert second == f"{first}_2"
    assert row["A.é"] == 1
    assert "batch" not in [one["event"] for one in events(done)]


def test_the_others_continue_when_a_query_fails(folder: Path, spark: SparkSession) -> None:
    script = f"{FAILS}\nINSERT INTO out {SUMS};"
    options = ["--set", "zero=2", "--flush", "--on-error", "continue", "--checkpoint", str(folder / "checkpoint")]
    done = panes(folder, script, *options)
    assert done.exit_code == 1
    assert done.stderr.count("DIVIDE_BY_ZERO") == 1, done.stderr
    assert "(INSERT INTO other)" in done.stderr
    assert "\tat " not in done.output
    assert sorted((row["k"], row["s"]) for row in spark.read.parquet(str(folder / "out")).collect()) == EXPECTED
    assert not (folder / "checkpoint" / "panes-ended.json").exists()  # one has not come to its end


def test_what_fails_is_underlined_in_what_was_written(folder: Path, spark: SparkSession) -> None:
    done = panes(folder, "INSERT INTO other SELECT k, 1 / (v - ${zero}) AS s FROM t;", "--set", "zero=8", "--once")
    assert done.exit_code == 1
    assert "value-failed: " in done.stderr
    assert "SELECT k, 1 / (v - ${zero}) AS s FROM t" in done.stderr
    assert " ^^^^^^^^^^^^^^^^^\n" in done.stderr


def test_two_runs_on_one_checkpoint(folder: Path, spark: SparkSession) -> None:
    with locked([LocalPath(folder / "checkpoint" / "1-out")]):
        done = panes(folder, f"INSERT INTO out {SUMS};", "--once", "--checkpoint", str(folder / "checkpoint"))
    assert done.exit_code == 1
    assert done.stderr.startswith("checkpoint-in-use: ")


def test_two_inserts_into_one_sink_have_names_of_their_own(folder: Path, spark: SparkSession) -> None:
    done = panes(folder, "INSERT INTO other SELECT k FROM t; INSERT INTO other SELECT v FROM t;", "--once", "--json")
    assert done.exit_code == 0, done.output
    assert {one["query"] for one in events(done) if one["event"] == "batch"} == {"other", "other-2"}


def test_a_micro_batch_begins_so_often(folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    triggers: list[dict[str, Any]] = []
    trigger = DataStreamWriter.trigger

    def noted(self: DataStreamWriter, **how: Any) -> DataStreamWriter:
        triggers.append(how)
        return trigger(self, **how)

    monkeypatch.setattr(DataStreamWriter, "trigger", noted)
    reports: list[Report] = []
    Engine(spark).run(
        STREAM.replace("{folder}", str(folder)) + "INSERT INTO other SELECT k FROM t",
        every="50 seconds",
        report=reports.append,
        stopped=lambda: bool(reports),
    )
    assert triggers == [{"processingTime": "50 seconds"}]


def test_a_select_over_a_table_ends_by_itself(spark: SparkSession) -> None:
    engine = Engine(spark)
    engine.stream("few", spark.createDataFrame([(1,), (2,)], "a int"))
    found: list[tuple[int | None, int, list[int]]] = []

    def show(rows: Rows) -> None:
        found.append((rows.batch, rows.count, sorted(row["a"] for row in rows.df.collect())))

    engine.run("SELECT a FROM few; SELECT a FROM few WHERE a > 5", rows=show)
    assert found == [(None, 2, [1, 2]), (None, 0, [])]


def test_without_a_place_for_rows_a_select_is_not_run(folder: Path, spark: SparkSession) -> None:
    Engine(spark).run(STREAM.replace("{folder}", "/nowhere") + "SELECT k FROM t", once=True)


def test_what_to_do_on_an_error_is_one_of_two_words(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="on_error"):
        Engine(spark).run("", on_error="ignore")


def test_a_select_that_fails_has_a_name(folder: Path, spark: SparkSession) -> None:
    failed: list[str] = []
    done = panes(folder, "SELECT 1 / (v - 8) AS x FROM t;", "--once", "--json")
    told = [(one["event"], one.get("query"), one.get("reason")) for one in events(done)]
    assert told[-2:] == [("failed", "select-1", None), ("ended", None, "failed")]
    with pytest.raises(PanesError, match="DIVIDE_BY_ZERO"):
        Engine(spark).run(
            STREAM.replace("{folder}", str(folder)) + "SELECT 1 / (v - 8) AS x FROM t",
            once=True,
            rows=lambda rows: None,
            failed=lambda query, error: failed.append(query),
        )
    assert failed == ["select-1"]


def test_the_shell_shows_rows_that_come_through_a_pipe(folder: Path, spark: SparkSession) -> None:
    text = STREAM.replace("{folder}", str(folder)) + f"{SUMS};\nSELECT nosuch(k) FROM t;\n"
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["shell"], input=text)
    assert done.exit_code == 1
    assert "select-1 batch" in done.stdout
    assert "│ b │ 2 │" in done.stdout
    assert "unknown-function" in done.stderr


def test_the_doctor_finds_nothing_wrong(folder: Path, spark: SparkSession) -> None:
    done = CliRunner().invoke(app, ["doctor", str(folder), "--json"])
    grades = {one["what"]: one["grade"] for one in events(done)}
    assert (grades["Spark starts"], grades["settings"], grades["state store"]) == ("ok", "ok", "ok")


def test_the_new_project_runs_as_it_is(folder: Path, spark: SparkSession) -> None:
    assert CliRunner().invoke(app, ["init", str(folder / "new")]).exit_code == 0
    script = folder / "new" / "script.sql"
    text = script.read_text(encoding="utf-8")
    assert "path = 'data'" in text
    script.write_text(text.replace("path = 'data'", f"path = '{folder}/new/data'"), encoding="utf-8")
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["run", str(script), "--flush", "--json"])
    assert done.exit_code == 0, done.output
    rows = [one["row"] for one in events(done) if one["event"] == "row"]
    visits = sorted((row["who"], row["events"], row["spent"]) for row in rows if "spent" in row)
    assert visits == [("ann", 3, 20), ("ann", 3, 30), ("bob", 4, 17), ("cat", 3, 8)]
    assert sum("came_after" in row for row in rows) == 13
