"""Dead letters of files: one query for a stream, whatever reads it; what is left out is what is kept."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.spark.report import Report
from panes.spark.run_options import Run
from panes.spark.runner import Running
from spark.input_files import at

pytestmark = pytest.mark.spark


def line(ts: str, k: str, v: object) -> str:
    return json.dumps({"ts": ts, "k": k, "v": v})


FILES = [
    [line(at(1000), "a", 1), line(at(2000), "b", "many"), "no object"],
    [line(at(3000), "a", 2), line("yesterday", "a", 4)],
    [line(at(40_000), "b", 8), line(at(41_000), "b", 16)],
]
BROKEN = [FILES[0][1], FILES[0][2], FILES[1][1]]


def feed(folder: Path, number: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text("\n".join(FILES[number]))


def script(folder: Path, options: str = "on_error = 'dead_letter', dead_letter = 'bad'", bad: str = "") -> str:
    bad = bad or f"connector = 'json', path = '{folder}/bad'"
    return f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
        WITH (connector = 'json', path = '{folder}/in', maxFilesPerTrigger = '1' {options and f", {options}"});
        CREATE SINK sums WITH (connector = 'parquet', path = '{folder}/sums');
        CREATE SINK keys WITH (connector = 'parquet', path = '{folder}/keys');
        CREATE SINK bad WITH ({bad});
        INSERT INTO sums SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k;
        INSERT INTO keys SELECT k FROM t WHERE k IS NOT NULL;
    """


def run(spark: SparkSession, folder: Path, sql: str, **how: Any) -> Counter[str]:
    """Run a script; how many malformed rows each of its queries reported."""
    found: Counter[str] = Counter()

    def report(one: Report) -> None:
        found[one.sink] += one.counters.get("malformed_rows", 0)

    Engine(spark).run(sql, checkpoint=folder / "checkpoint", report=report, **how)
    return found


def letters(folder: Path) -> list[dict[str, str]]:
    lines = [line for file in (folder / "bad").glob("*.json") for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("options", ["", "on_error = 'dead_letter', dead_letter = 'bad'"])
@pytest.mark.parametrize("inserts", [1, 2])
def test_files_that_are_removed_while_others_read_them(
    spark: SparkSession, tmp_path: Path, options: str, inserts: int
) -> None:
    """Spark would remove a file once one query has read it, and the other may not have seen it yet."""
    given = ", ".join(one for one in (options, "CleanSource = 'delete'") if one)
    sql = script(tmp_path, given)
    sql = sql if inserts == 2 else sql[: sql.rindex("INSERT")]
    (tmp_path / "in").mkdir()
    if inserts == 1 and not options:
        run(spark, tmp_path, sql, once=True)
        return
    with pytest.raises(PanesError) as caught:
        run(spark, tmp_path, sql, once=True)
    assert caught.value.code == "stream-options"


def test_what_is_left_out_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Over a restart and to the end: both INSERTs count them, and each is written once."""
    feed(tmp_path, 0)
    first = run(spark, tmp_path, script(tmp_path), once=True)
    assert first == {"sums": 2, "keys": 2, "bad (dead letters of t)": 2}
    assert sorted(one["_value"] for one in letters(tmp_path)) == sorted(BROKEN[:2])
    feed(tmp_path, 1)
    feed(tmp_path, 2)
    assert run(spark, tmp_path, script(tmp_path), flush=True) == {"sums": 1, "keys": 1, "bad (dead letters of t)": 1}
    found = letters(tmp_path)
    assert sorted(one["_value"] for one in found) == sorted(BROKEN)
    assert {one["_error"] for one in found} == {"not json of the declared columns"}
    assert {one["file_path"] for one in found if one["_value"] == BROKEN[2]} == {f"file:{tmp_path}/in/1.json"}
    sums = {(row["k"], row["s"]) for row in spark.read.parquet(str(tmp_path / "sums")).collect()}
    assert sums == {("a", 3), ("b", 24)}
    assert spark.read.parquet(str(tmp_path / "keys")).count() == 4
    folders = sorted(one.name for one in (tmp_path / "checkpoint").iterdir() if one.is_dir())
    assert folders == ["1-keys", "1-sums", "dead-letters-t"]


def test_added_later_and_taken_away(spark: SparkSession, tmp_path: Path) -> None:
    """A query that a malformed line has stopped goes on, and that line is among the dead letters."""
    feed(tmp_path, 0)
    for _ in range(2):
        with pytest.raises(PanesError) as caught:
            run(spark, tmp_path, script(tmp_path, ""), once=True)
        assert caught.value.code == "malformed-record"
    run(spark, tmp_path, script(tmp_path), once=True)
    assert sorted(one["_value"] for one in letters(tmp_path)) == sorted(BROKEN[:2])
    feed(tmp_path, 1)
    with pytest.raises(PanesError) as caught:
        run(spark, tmp_path, script(tmp_path, "on_error = 'fail'"), once=True)
    assert "/in/1.json is not json" in caught.value.message


def test_a_second_run_is_kept_out(spark: SparkSession, tmp_path: Path) -> None:
    """Their checkpoint is locked, and their folder is nobody else's."""
    feed(tmp_path, 0)
    seen: list[str] = []

    def report(one: Report) -> None:
        with pytest.raises(PanesError) as caught:
            run(spark, tmp_path, script(tmp_path), once=True)
        seen.append(caught.value.code)

    Engine(spark).run(script(tmp_path), checkpoint=tmp_path / "checkpoint", once=True, report=report)
    assert set(seen) == {"checkpoint-in-use"}
    for bad in (f"connector = 'parquet', path = '{tmp_path}/sums'", f"connector = 'json', path = '{tmp_path}/in'"):
        with pytest.raises(PanesError) as caught:
            Engine(spark).run(script(tmp_path, bad=bad), once=True)
        assert caught.value.code == "stream-options"


def test_one_name_for_two_streams(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, 0)
    again = script(tmp_path).replace("CREATE", "CREATE OR REPLACE").replace("v BIGINT", "v INT").replace("/sums", "/s")
    with pytest.raises(PanesError) as caught:
        run(spark, tmp_path, script(tmp_path) + again.replace("/keys", "/k"), once=True)
    assert "two streams t have dead letters" in caught.value.message


def test_nobody_writes_them_for_a_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, 0)
    engine = Engine(spark)
    engine.run(script(tmp_path).split("INSERT")[0])
    with pytest.raises(PanesError) as caught:
        engine.sql("SELECT k FROM t")
    assert caught.value.code == "stream-options"


def test_a_record_that_comes_while_the_input_ends(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an INSERT still reads and leaves out, the dead letters have read, too."""
    feed(tmp_path, 0)
    end_input = Running.end_input

    def late_record(one: Running, how: Run) -> None:
        if one.name == "sums":
            feed(tmp_path, 1)
        end_input(one, how)

    monkeypatch.setattr(Running, "end_input", late_record)
    counted = run(spark, tmp_path, script(tmp_path), flush=True)
    assert counted["sums"] == 3
    assert sorted(one["_value"] for one in letters(tmp_path)) == sorted(BROKEN)


@pytest.mark.parametrize("connector", ["json", "csv"])
def test_a_line_that_is_no_text(spark: SparkSession, tmp_path: Path, connector: str) -> None:
    """Shown in hexadecimal; Spark reads what is not UTF-8 in CSV as another character before anybody sees it."""
    lines = [b"a\x00b", b"text"] + ([b"\xff{"] if connector == "json" else [])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines").write_bytes(b"\n".join(lines))
    run(
        spark,
        tmp_path,
        f"""
        CREATE STREAM t (v INT) WITH (connector = '{connector}', path = '{tmp_path}/in', on_error = 'dead_letter',
            dead_letter = 'bad');
        CREATE SINK out WITH (connector = 'noop'); CREATE SINK bad WITH (connector = 'json', path = '{tmp_path}/bad');
        INSERT INTO out SELECT v FROM t;
        """,
        once=True,
    )
    found = {one["_value"]: "hexadecimal" in one["_error"] for one in letters(tmp_path)}
    assert found == {"text": False, **{f"\\x{one.hex().upper()}": True for one in lines if one != b"text"}}
