"""LATE ROWS INTO: rows that come too late are in their sink, whole and once, and the result is what it is without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.kernels.changelog.changes import BEFORE, CHANGE, DELETE
from panes.spark.report import Report
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

COLUMNS = "ts TIMESTAMP, k STRING, v BIGINT, note STRUCT<`a b`: ARRAY<INT>, m: MAP<STRING, TIMESTAMP>>"
WATERMARK = "WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS"
# Seconds, keys and values; the watermark is 13 s when the second file comes, 28 s when the third does.
FILES = [
    [(1, "a", 1), (12, "b", 2), (15, "a", 4)],
    [(3, "a", 8), (14, "b", 16), (30, "a", 32), (9, "c", 64)],
    [(8, "b", 128), (29, "b", 256), (41, "a", 512)],
]
QUERIES = {
    "tumbling": "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k",
    "changes": "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k HAVING sum(v) > 1 EMIT CHANGES",
    "rows": "SELECT k, v FROM t GROUP BY tumblingwindow('ss', 10)",
    "session": "SELECT k, count(*) AS n FROM t GROUP BY sessionwindow('ss', 5), k",
    "count": "SELECT sum(v) AS s FROM t GROUP BY countwindow(2)",
    "stateful": "SELECT k, lag(v) OVER (PARTITION BY k) AS before, 1 / v AS part FROM t WHERE v > 0",
    "over": "SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM t",
    "top of a window": """
        SELECT k, s FROM (SELECT k, window_end() AS e, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k)
        QUALIFY row_number() OVER (PARTITION BY e ORDER BY s DESC) = 1""",
}
# Each counts what comes to it; beside it, how many copies Spark's part makes of a row, by its key.
DIM = "VALUES ('a', 'north'), ('a', 'east'), ('b', 'south') AS d(k, name)"
THROUGH_SPARK = {
    "join": (
        f"""SELECT name, count(*) AS n, sum(v) AS s FROM (SELECT ts, name, v FROM t JOIN {DIM} USING (k))
        GROUP BY tumblingwindow('ss', 10), name""",
        {"a": 2, "b": 1},
    ),
    "in": (
        """SELECT k, count(*) AS n, sum(v) AS s FROM
        (SELECT * FROM t WHERE k IN (SELECT k FROM VALUES ('a'), ('c') AS d(k))) GROUP BY sessionwindow('ss', 1), k""",
        {"a": 1, "c": 1},
    ),
    "lateral view": (
        """SELECT tag, 1 AS n, lag(v) OVER (PARTITION BY tag) AS before FROM
        (SELECT ts, v, tag FROM t LATERAL VIEW explode(map('a', array('x', 'y', 'x'), 'c', array('z'))[k]) e AS tag)""",
        {"a": 3, "c": 1},
    ),
    "parts on parts": (
        f"""WITH kept AS (SELECT ts, k AS key, v FROM t WHERE k <> 'c'),
        d AS (SELECT * FROM {DIM} WHERE name <> 'south'), j AS (SELECT * FROM kept LEFT JOIN d ON key = k)
        SELECT place, 1 AS n, sum(v) OVER (PARTITION BY place ORDER BY ts) AS s FROM
        (SELECT x.ts, x.v, place FROM (SELECT ts, v, coalesce(name, key) AS place FROM j) x CROSS JOIN VALUES (0))""",
        {"a": 2, "b": 1},
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, rows in enumerate(FILES):
        feed(tmp_path, number, rows)
    return tmp_path


def note(v: int) -> dict[str, Any]:
    return {"a b": [v], "m": {"now": at(v * 1000)}}


def feed(folder: Path, number: int, rows: Iterable[tuple[int, str, int]]) -> None:
    found = ({"ts": at(second * 1000), "k": k, "v": v, "note": note(v)} for second, k, v in rows)
    write_file(folder / "in", number, found)


def declared(folder: Path, late: str = "parquet") -> str:
    options = f"connector = 'json', path = '{folder}/in', maxFilesPerTrigger = '1'"
    return f"""
        CREATE STREAM t ({COLUMNS}, {WATERMARK}) WITH ({options});
        CREATE SINK out WITH (connector = 'json', path = '{folder}/out', changelog = 'rows');
        CREATE SINK late WITH (connector = '{late}', path = '{folder}/late');
        """


def run(folder: Path, spark: SparkSession, query: str, *, late: bool = True, **how: Any) -> Counter[str]:
    """The counters of a run to the end of the files."""
    counted = Counter[str]()
    script = declared(folder) + f"INSERT INTO out {query} {'LATE ROWS INTO late' if late else ''};"
    Engine(spark).run(
        script, checkpoint=folder / "checkpoint", report=lambda report: counted.update(_sums(report)), **how
    )
    return counted


def _sums(report: Report) -> dict[str, int]:
    return {name: report.counters.get(name, 0) for name in ("rows_in", "late_rows", "no_window_rows")}


def results(folder: Path, spark: SparkSession) -> Counter[Any]:
    rows = spark.read.json(str(folder / "out")).drop("panes_batch").collect()
    return added_up([row.asDict() for row in rows])


def added_up(rows: Iterable[dict[str, Any]]) -> Counter[Any]:
    """What rows or changes, in any order, add up to; in JSON there are no NULLs."""
    found = Counter[Any]()
    for row in rows:
        sign = -1 if row.pop(CHANGE, None) in (DELETE, BEFORE) else 1
        found[tuple(sorted((name, one) for name, one in row.items() if one is not None))] += sign
    return +found


def late_rows(folder: Path, spark: SparkSession) -> list[tuple[Any, ...]]:
    rows = spark.read.parquet(str(folder / "late")).orderBy("v").collect()
    return [(row["ts"].second, row["k"], row["v"], row["note"]["a b"], row["_watermark"].second) for row in rows]


def on_time(query: str, expected: Sequence[tuple[Any, ...]], spark: SparkSession) -> Counter[Any]:
    """What the query says of a batch without the late rows."""
    late = {row[2] for row in expected}
    rows = [(datetime.fromisoformat(at(second * 1000)), k, v) for one in FILES for second, k, v in one if v not in late]
    engine = Engine(spark)
    engine.stream("t", spark.createDataFrame(rows, "ts timestamp, k string, v bigint"), time="ts")
    return added_up([row.asDict() for row in engine.sql(query).collect()])


ALWAYS = ("tumbling", "top of a window")


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in QUERIES]
)
def test_late_rows_are_in_their_sink(name: str, folder: Path, spark: SparkSession) -> None:
    counted = run(folder, spark, QUERIES[name], flush=True)
    expected = [(3, "a", 8, [8], 13), (9, "c", 64, [64], 13), (8, "b", 128, [128], 28)]
    if name == "session":
        del expected[1]  # 9 + 5 s is still open at 13 s
    assert late_rows(folder, spark) == expected
    assert counted["late_rows"] == len(expected)
    assert results(folder, spark) == on_time(QUERIES[name], expected, spark)


@pytest.mark.parametrize(
    "name", [name if name == "join" else pytest.param(name, marks=pytest.mark.slow) for name in THROUGH_SPARK]
)
def test_late_rows_behind_a_part_that_spark_runs(name: str, folder: Path, spark: SparkSession) -> None:
    """Each late copy of a row comes out as the row was; a row that Spark's part removes is nowhere."""
    query, copies = THROUGH_SPARK[name]
    counted = run(folder, spark, query, flush=True)
    late = [(3, "a", 8, [8], 13), (9, "c", 64, [64], 13), (8, "b", 128, [128], 28)]
    expected = [row for row in late for _ in range(copies.get(row[1], 0))]
    assert late_rows(folder, spark) == expected
    found = results(folder, spark)
    assert found == on_time(query, expected, spark)
    came = sum(copies.get(k, 0) for rows in FILES for _, k, _ in rows)
    assert counted == Counter(rows_in=came, late_rows=len(expected))
    assert came == len(expected) + sum(dict(row)["n"] * times for row, times in found.items())


@pytest.mark.slow
def test_a_query_begins_to_ask_and_stops_asking(folder: Path, spark: SparkSession) -> None:
    """The state is the same with and without; only the folder of a sink is laid out in one way or the other."""
    query = QUERIES["tumbling"]
    elsewhere = "CREATE OR REPLACE SINK out WITH (connector = 'json', path = '{}/{}');"
    engine, checkpoint = Engine(spark), folder / "checkpoint"
    asking = f"INSERT INTO out {query} LATE ROWS INTO late"
    moved = [folder / "in" / f"{number:04}.json" for number in (1, 2)]
    kept = [path.rename(folder / path.name) for path in moved]
    engine.run(declared(folder) + f"INSERT INTO out {query}", checkpoint=checkpoint, once=True)
    kept[0].rename(moved[0])
    with pytest.raises(PanesError) as refused:
        engine.run(asking, checkpoint=checkpoint, once=True)
    assert refused.value.code == "state-mismatch"
    engine.run(elsewhere.format(folder, "more") + asking, checkpoint=checkpoint, once=True)
    assert [row[2] for row in late_rows(folder, spark)] == [8, 64]
    kept[1].rename(moved[1])
    with pytest.raises(PanesError) as refused:
        engine.run(f"INSERT INTO out {query}", checkpoint=checkpoint, once=True)
    assert refused.value.code == "state-mismatch"
    engine.run(asking, checkpoint=checkpoint, flush=True)
    found = [spark.read.json(str(folder / name)).select("k", "s") for name in ("out", "more")]
    sums = Counter((row["k"], row["s"]) for df in found for row in df.collect())
    assert sums == Counter([("a", 1), ("b", 18), ("a", 4), ("a", 32), ("b", 256), ("a", 512)])
    assert [row[2] for row in late_rows(folder, spark)] == [8, 64, 128]


def test_a_retry_writes_each_row_once(folder: Path, spark: SparkSession) -> None:
    """The last micro-batch is not committed: it runs again, and its folders are written anew."""
    run(folder, spark, QUERIES["tumbling"], once=True)
    before, late = results(folder, spark), late_rows(folder, spark)
    commits = folder / "checkpoint" / "1-out" / "spark" / "commits"
    last = max(int(entry.name) for entry in commits.glob("[0-9]*"))
    for entry in (commits / str(last), commits / f".{last}.crc"):
        entry.unlink(missing_ok=True)
    run(folder, spark, QUERIES["tumbling"], once=True)
    assert results(folder, spark) == before
    assert late_rows(folder, spark) == late


def test_other_sinks(folder: Path, spark: SparkSession) -> None:
    """Both in memory; windows of 4 s every 10 s, and each row is accounted for."""
    sinks = "CREATE SINK missed WITH (connector = 'memory'); CREATE SINK kept WITH (connector = 'memory');"
    query = "SELECT count(*) AS n, sum(v) AS s FROM t GROUP BY hoppingwindow('ss', 4, 10)"
    counted = Counter[str]()
    Engine(spark).run(
        f"{declared(folder)} {sinks} INSERT INTO kept {query} LATE ROWS INTO missed",
        checkpoint=folder / "checkpoint",
        flush=True,
        report=lambda report: counted.update(_sums(report)),
    )
    rows = spark.table("kept").collect()
    assert sum(row["s"] for row in rows) == 1 + 2 + 32 + 512
    assert sum(row["n"] for row in rows) == 4
    assert counted == {"rows_in": 10, "late_rows": 1, "no_window_rows": 5}
    missed = spark.table("missed")
    assert missed.columns == ["ts", "k", "v", "note", "_watermark"]
    assert [(row["v"], row["_watermark"].second) for row in missed.collect()] == [(8, 13)]


def test_a_folder_for_both_is_refused(folder: Path, spark: SparkSession) -> None:
    same = f"CREATE OR REPLACE SINK late WITH (connector = 'json', path = '{folder}/out');"
    with pytest.raises(PanesError) as refused:
        Engine(spark).run(declared(folder) + same + f"INSERT INTO out {QUERIES['tumbling']} LATE ROWS INTO late")
    assert refused.value.code == "stream-options"
