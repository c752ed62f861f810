"""Every file in examples/ runs, as its first lines say."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from spark.input_files import at
from spark.kafka.topics import make, send, taken, without_repeats
from typer.testing import CliRunner

from panes.cli.main import app
from panes.testing.markdown import blocks_of

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[1]
PIPELINE = ROOT / "examples" / "declarative_pipeline"  # Spark runs it as a whole
KAFKA = ROOT / "examples" / "kafka.sql"  # it needs a broker
EXAMPLES = sorted(
    path
    for path in (ROOT / "examples").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts and PIPELINE not in path.parents and path != KAFKA
)
PRINTED = {  # a part of what each prints
    "cluster_job.py": "-29.0",
    "own_function.py": "'in_a_row': 3",
    "sessions.py": "[/, /price]",
    "testing_sql.py": "[{'k': 'a', 's': 2.0}]",
    "orders.sql": "screen batch 0",
    "test_orders.md": "2 passed",
}


@pytest.fixture(autouse=True)
def _at_the_root(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    yield
    spark.sparkContext.setLogLevel("ERROR")  # the command line turns it off


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    match path.suffix:
        case ".py":
            monkeypatch.setattr(sys, "argv", [str(path)])
            runpy.run_path(str(path), run_name="__main__")
            assert PRINTED[path.name] in capsys.readouterr().out
        case ".sql":
            done = CliRunner().invoke(app, command_of(path))
            assert done.exit_code == 0, done.output
            assert PRINTED[path.name] in done.output
        case ".md":
            done = CliRunner().invoke(app, ["test", str(path)])
            assert done.exit_code == 0, done.output
            assert PRINTED[path.name] in done.output
        case ".json" if path.parent == ROOT / "examples":
            json.loads(path.read_text(encoding="utf-8"))  # the dashboard; see cli/test_metrics.py
        case ".json":
            assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]  # rows of a script
        case _:
            raise AssertionError(f"nobody runs {path.relative_to(ROOT)}")


def test_from_a_topic_to_another_one(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    """As the page on Kafka begins."""
    make(spark, kafka, "shop-orders", "shop-totals")
    orders = [("north", 20.0, 1), ("north", 12.5, 7), ("south", 5.0, 3), ("south", 2.0, 71)]
    sent = [{"shop": shop, "amount": amount, "at": at(1000 * second)} for shop, amount, second in orders]
    send(spark, kafka, "shop-orders", [("k", json.dumps(one)) for one in sent])
    command = [{"broker=127.0.0.1:9092": f"broker={kafka}", "checkpoint": str(tmp_path)}.get(word, word)
               for word in command_of(KAFKA)]  # fmt: skip
    done = CliRunner().invoke(app, [*command, "--flush"])
    assert done.exit_code == 0, done.output
    found = [row for _, row in without_repeats(taken(spark, kafka, "shop-totals"))]
    assert sorted((row["shop"], row["closes"], row["orders"], row["total"]) for row in found) == [
        ("north", "1970-01-01T00:01:00.000000Z", 2, 32.5),
        ("south", "1970-01-01T00:01:00.000000Z", 1, 5.0),
        ("south", "1970-01-01T00:02:00.000000Z", 1, 2.0),
    ]
    page = (ROOT / "docs" / "reference" / "kafka.md").read_text(encoding="utf-8")
    (shown,) = [block.text for block in blocks_of(page) if block.option("file") == KAFKA.name]
    assert shown == KAFKA.read_text(encoding="utf-8").split("\n", 2)[2].rstrip("\n")
    assert f"panes {' '.join(command_of(KAFKA))}".replace("examples/", "") in page


JOINED = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

import panes

spark = SparkSession.active()
engine = panes.Engine(spark)
source = spark.readStream.schema("ts timestamp, shop string, amount double").json({orders!r})
engine.stream("orders", source, time="ts", watermark="5 seconds")
engine.sql("CREATE VIEW some AS SELECT ts, shop, n FROM orders JOIN (SELECT 'north' AS shop, 2 AS n) USING (shop)")
result = engine.sql("SELECT shop, sum(n) AS n FROM some GROUP BY tumblingwindow('ss', 10), shop")
print("temporary views:", [table.name for table in spark.catalog.listTables() if table.isTemporary])


@dp.table
def joined():
    return result
"""


def pipeline(folder: Path) -> Path:
    """A copy of the example, whose checkpoints are beside it."""
    shutil.copytree(PIPELINE, folder)
    spec = folder / "spark-pipeline.yml"
    text = spec.read_text(encoding="utf-8")
    assert "file:///tmp/panes-orders" in text
    spec.write_text(text.replace("file:///tmp/panes-orders", (folder / "storage").as_uri()), encoding="utf-8")
    return folder


def run_pipeline(folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(["spark-pipelines", "run"], cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def test_declarative_pipeline(tmp_path: Path) -> None:
    """A streaming table by Panes, and a view of Spark's own over it; another one whose join Spark runs."""
    folder = pipeline(tmp_path / "pipeline")
    text = JOINED.format(orders=str(folder / "orders"))
    (folder / "transformations" / "joined.py").write_text(text, encoding="utf-8")
    done = run_pipeline(folder)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    rises = pq.read_table(folder / "spark-warehouse" / "rises").sort_by("ts").to_pylist()
    shops = {row["shop"] for row in rises}
    assert {shop: [row["rise"] for row in rises if row["shop"] == shop] for shop in shops} == {
        "north": [None, -7.5, 17.5],
        "south": [None, 4.0],
    }
    highest = pq.read_table(folder / "spark-warehouse" / "highest").to_pylist()
    assert {row["shop"]: row["rise"] for row in highest} == {"north": 17.5, "south": 4.0}
    joined = pq.read_table(folder / "spark-warehouse" / "joined").to_pylist()
    assert {row["shop"] for row in joined} == {"north"}
    assert "temporary views: []" in done.stdout


def test_a_declarative_pipeline_without_the_setting(tmp_path: Path) -> None:
    """Files of a pipeline may not change settings, so what Panes needs and does not find is an error of its own."""
    folder = pipeline(tmp_path / "pipeline")
    spec = folder / "spark-pipeline.yml"
    text = spec.read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines(keepends=True) if "stateStore.providerClass" in line)
    spec.write_text(text.replace(line, ""), encoding="utf-8")
    done = run_pipeline(folder)
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "spark-settings: spark.sql.streaming.stateStore.providerClass has to be " in told, told[-3000:]
    assert f"Write {line.strip()} under configuration in spark-pipeline.yml." in told
    assert not (folder / "spark-warehouse" / "rises").exists()


def command_of(script: Path) -> list[str]:
    """How to run a script, from the comment above it."""
    found = re.search(r"^--\s+panes (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{script.name} does not say how it is run"
    return found[1].split()
