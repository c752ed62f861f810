"""Test files on Spark: a folder with cases that pass and fail, and a function that the promise finds out."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes.cli.main import app
from panes.testing import Stream, replay
from panes.testing.suite import read_cases, run_case
from panes.testing.variants import Wish

pytestmark = pytest.mark.spark

SQL = """```sql
CREATE STREAM t (at STRING, k STRING, v INT, ts TIMESTAMP AS to_timestamp(at), WATERMARK FOR ts AS ts)
WITH (connector = 'kafka', bootstrap_servers = 'nowhere', topic = 't', format = 'json');
CREATE SINK late WITH (connector = 'noop');
CREATE SINK sums WITH (connector = 'noop');
INSERT INTO sums SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k LATE ROWS INTO late;
```
"""
INPUT = """```input t
at                  | k | v
2024-01-01 00:00:01 | a | 1
---
2024-01-01 00:00:12 | a | 2
---
2024-01-01 00:00:02 | a | 4
```
"""
FILE = f"""# Sums
{SQL}
## Right
{INPUT}
```output
k | s
---
a | 1
---
---
a | 2
```
```output late
at                  | k | v | ts                  | _watermark
---
---
2024-01-01 00:00:02 | a | 4 | 2024-01-01 00:00:02 | 2024-01-01 00:00:12
---
```
```counters
late_rows
1
```
## Wrong
{INPUT}
```output
k | s
---
a | 7
---
---
a | 2
```
## Refused
```sql
SELECT nothing FROM t
```
```error
unknown-column
```
"""
RIGHT = """micro-batch 2:
  k | s
- a | 7
+ a | 1
1 row is missing (-), 1 is too many (+)"""


def test_a_folder_with_passing_and_failing_cases(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "test_sums.md").write_text(FILE, encoding="utf-8")
    command = ["test", str(tmp_path), "--junit", str(tmp_path / "out" / "junit.xml")]
    done = CliRunner().invoke(app, command)
    spark.sparkContext.setLogLevel("ERROR")
    assert done.exit_code == 1, done.output
    told = [line.split("(")[0].strip() for line in done.output.splitlines() if line.startswith("  ") and "s)" in line]
    assert told == ["passed  Right", "FAILED  Wrong", "passed  Refused"]
    shown = "\n".join(line.removeprefix("    ") for line in done.output.splitlines())
    assert RIGHT in shown
    assert done.output.rstrip().endswith("1 failed, 2 passed")
    suite = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()[0]
    assert [(case.get("name"), [one.tag for one in case]) for case in suite] == [
        ("Right", []),
        ("Wrong", ["failure"]),
        ("Refused", []),
    ]


def test_update_makes_it_right(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "test_sums.md"
    file.write_text(FILE, encoding="utf-8")
    cases, _ = read_cases(file, "wrong")
    outcome = run_case(cases[0], spark, update=True)
    assert outcome.passed and outcome.updated
    assert file.read_text(encoding="utf-8") == FILE.replace("a | 7", "a | 1")


PLANTED = '''
import panes


@panes.stateful(returns="bigint")
class Calls:
    """Wrong: how often it was called is not saved."""

    def __init__(self):
        self.calls = 0

    def eval(self, x):
        self.calls += 1
        return self.calls

    def save(self):
        return b""

    def load(self, saved):
        pass


def register(engine):
    engine.register(Calls)
'''
FORGETS = """# It forgets
```setup
{module}:register
```
```sql
CREATE STREAM t (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts);
SELECT k, calls(k) OVER (PARTITION BY k) AS n FROM t;
```
```input t
k | ts
a | 2024-01-01 00:00:01
b | 2024-01-01 00:00:02
a | 2024-01-01 00:00:03
```
```output table
k | n
a | 1
b | 1
a | 2
```
"""


@pytest.mark.slow
def test_a_function_that_forgets_is_found_and_its_counterexample_fails(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "forgets_by_batch.py").write_text(PLANTED, encoding="utf-8")
    file = tmp_path / "test_forgets.md"
    file.write_text(FORGETS.format(module="forgets_by_batch"), encoding="utf-8")
    done = CliRunner().invoke(app, ["test", str(file), "--cuts", "1", "--seed", "1"])
    spark.sparkContext.setLogLevel("ERROR")
    assert done.exit_code == 1, done.output
    small = "# " + done.output.partition("\n# ")[2].partition("\nseed 1:")[0]
    (tmp_path / "kept_test.md").write_text(small, encoding="utf-8")
    (case,), _ = read_cases(tmp_path / "kept_test.md")
    (rows,) = case.inputs
    assert [line[0] for line in rows.text.splitlines()] == ["k", "a", "a"]  # the second one waits for the flush
    assert not run_case(case, spark).passed


def test_what_is_right_stays_right(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "test_lag.md"
    file.write_text(
        FORGETS.format(module="none")
        .replace("```setup\nnone:register\n```\n", "")
        .replace("calls(k) OVER", "row_number() OVER"),
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["test", str(file), "--cuts", "2", "--kills", "1", "--shards", "1,2", "--seed", "1"])
    spark.sparkContext.setLogLevel("ERROR")
    assert done.exit_code == 0, done.output
    assert "(2 variants, " in done.output


@pytest.mark.slow
def test_an_insert_with_late_rows_is_compared_with_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    late, rows = "---\n2024-01-01 00:00:02 | a | 4\n", SQL + INPUT
    file = tmp_path / "test_sums.md"
    file.write_text(rows.replace(late, "") + "```output table\nk | s\na | 1\na | 2\n```\n", encoding="utf-8")
    (case,), _ = read_cases(file)
    outcome = run_case(case, spark, wish=Wish(2, seed=1))
    assert outcome.passed and outcome.verdict is not None
    assert (outcome.verdict.tried, outcome.verdict.note) == (2, "")


def test_a_micro_batch_that_dies_counts_once(spark: SparkSession) -> None:
    rows = [[("2024-01-01 00:00:01", "a", 1)], [("2024-01-01 00:00:12", "a", 2)]]
    stream = Stream("ts timestamp, k string, v int", rows, time="ts", watermark="0 seconds")
    sql = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
    out = replay(sql, kill_in=[0, 1, 2], spark=spark, t=stream)
    assert out.batches == [[], [{"k": "a", "s": 1}], [{"k": "a", "s": 2}]]
    assert len({one.runId for one in out.progress}) >= 3


TABLE = """# A join
```table sizes
k STRING | size INT
a        | 3
```
```sql
CREATE STREAM t (k STRING, v INT);
SELECT v * size AS x FROM t JOIN sizes USING (k);
```
```input t
k | v
a | 2
b | 1
```
```output no-flush
x
6
```
"""


def test_a_table_for_a_join(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "test_join.md"
    file.write_text(TABLE, encoding="utf-8")
    (case,), _ = read_cases(file)
    outcome = run_case(case, spark)
    assert outcome.passed, outcome
    assert not spark.catalog.tableExists("sizes")


@pytest.mark.slow
def test_pytest_collects_the_same_files(tmp_path: Path) -> None:
    """In a process of its own; without --panes no Markdown is a test."""
    import subprocess
    import sys

    (tmp_path / "test_sums.md").write_text(FILE, encoding="utf-8")
    shutil.copy(tmp_path / "test_sums.md", tmp_path / "notes.md")
    command = [sys.executable, "-m", "pytest", "-p", "panes.pytest_plugin", "-p", "no:cacheprovider", str(tmp_path)]
    without = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "no tests ran" in without.stdout
    done = subprocess.run([*command, "--panes", "-v"], capture_output=True, text=True, cwd=tmp_path)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "test_sums.md::Wrong FAILED" in done.stdout
    assert RIGHT in done.stdout
