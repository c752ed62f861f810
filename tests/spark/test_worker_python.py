"""Spark's Python workers: in a local session they run the driver's Python, elsewhere one that does not fit is told."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from panes import Engine, __version__
from panes.errors import PanesError
from panes.spark import worker_python
from panes.spark.heartbeat import heartbeat
from panes.spark.worker_python import Python, own, use_own_python

APP = """
from pyspark.sql import SparkSession
from panes import Engine, PanesError

spark = SparkSession.builder{of}.getOrCreate()
try:
    engine = Engine(spark)
    engine.stream("t", spark.sql("SELECT 'a' AS k, 1 AS v"))
    print("rows", engine.sql("SELECT lag(v, 1, 7) OVER (PARTITION BY k) AS p FROM t").collect())
except PanesError as error:
    print(error)
"""


OF_OTHER_WORKERS = """
import sys
from pyspark.sql import SparkSession
from panes import Engine, PanesError

folder = sys.argv[1]
engine = Engine(SparkSession.builder{of}.getOrCreate())
engine.stream("t", engine.spark.sql("SELECT 'a' AS k, 1 AS v"))
engine.stream("c", engine.spark.sql("SELECT 'insert' AS _change_type, 'a' AS k"), key=["k"], changelog=True)
engine.stream("ticks", engine.spark.readStream.format("rate").load())
engine.sql(f"CREATE STREAM d (v BIGINT) WITH (connector = 'delta', path = '{{folder}}/lake')")
engine.sql(f"CREATE SINK lake WITH (connector = 'delta', path = '{{folder}}/lake')")

def insert(sql):
    engine.run(sql, checkpoint=folder + "/checkpoint", once=True)

def tell(run, *sql):
    try:
        run(*sql)
        print("it runs", *sql)
    except PanesError as error:
        print(error.code, error.message)

for sql in ("SELECT lag(v) OVER (PARTITION BY k) AS p FROM t", "SELECT k FROM c WHERE k > 'a'", "SELECT v FROM d"):
    tell(engine.sql, sql)
tell(insert, "INSERT INTO lake SELECT value AS v FROM ticks")
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An interpreter that has nothing, called python3."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    return tmp_path / "bare" / "bin" / "python3"


@pytest.fixture
def other(bare: Path) -> Path:
    """One that has another version of Panes."""
    (packages,) = bare.parent.parent.glob("lib/python*/site-packages")
    for name, version in (("panes", "0.0.1"), ("duckdb", duckdb.__version__)):
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(f'__version__ = "{version}"\n')
    return bare


def run(app: str, python3: Path, *arguments: str) -> str:
    """What an application prints where `python3` is that one, and nobody has named another.

    The driver imports what this process can; workers have only what is theirs.
    """
    app = f"import sys\nsys.path[:0] = {[path for path in sys.path if path]!r}\n{app}"
    kept = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_PYTHON", "PYTHONPATH")}
    env = {**kept, "PATH": os.pathsep.join([str(python3.parent), os.environ["PATH"]])}
    done = subprocess.run([sys.executable, "-c", app, *arguments], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.spark
def test_a_local_session_gets_the_driver_s_python(bare: Path) -> None:
    assert "rows [Row(p=7)]" in run(APP.format(of='.master("local[1]")'), bare)


@pytest.mark.spark
@pytest.mark.parametrize(
    "of",
    [
        '.remote("local[1]")',
        pytest.param('.master("local-cluster[1,1,1024]")', marks=pytest.mark.slow),
    ],
)
def test_elsewhere_workers_without_panes_are_told(bare: Path, of: str) -> None:
    told = run(APP.format(of=of), bare)
    assert told.startswith("unfit-workers: ")
    assert str(bare) in told


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("of", ['.remote("local[1]")', '.master("local-cluster[1,1,1024]")'])
def test_workers_with_another_version_are_told(other: Path, of: str, tmp_path: Path) -> None:
    """Whatever needs Panes there: an operator, a changelog's output, a source, a sink that executors write to."""
    write_deltalake(str(tmp_path / "lake"), pa.table({"v": pa.array([1], pa.int64())}))
    told = run(OF_OTHER_WORKERS.format(of=of), other, str(tmp_path)).splitlines()
    assert len(told) == 4
    for line in told:
        assert line.startswith(f"unfit-workers Spark's Python workers run {other}"), line
        assert f"which has Panes 0.0.1; the driver has Panes {__version__}" in line


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT lag(v) OVER (PARTITION BY k) AS p FROM t",
        "SELECT k FROM c WHERE k > 'a'",
        "SELECT k, v FROM pairs",
        "SELECT v FROM d",
        "INSERT INTO lake SELECT value AS v FROM ticks",
    ],
)
def test_what_needs_panes_on_workers_asks_them(
    sql: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does not start where it cannot run; what Spark does alone does start."""
    write_deltalake(str(tmp_path / "lake"), pa.table({"v": pa.array([1], pa.int64())}))
    engine = Engine(spark)
    engine.stream("t", spark.sql("SELECT 'a' AS k, 1 AS v"))
    changes = spark.sql("SELECT 'insert' AS _change_type, 'a' AS k, 1 AS v")
    engine.stream("c", changes, key=["k"], changelog=True)
    engine.stream("pairs", changes, key=["k"], changelog=True, preimages="always")
    engine.stream("ticks", spark.readStream.format("rate").load())
    engine.sql(f"CREATE STREAM d (v BIGINT) WITH (connector = 'delta', path = '{tmp_path}/lake')")
    engine.sql(f"CREATE SINK lake WITH (connector = 'delta', path = '{tmp_path}/lake')")
    monkeypatch.setattr(worker_python, "_is_local", lambda master: False)
    monkeypatch.setattr(worker_python, "_worker", lambda spark, interpreter: replace(own(), panes="0.0.1"))
    monkeypatch.setattr(worker_python, "_fit", set())
    assert engine.sql("SELECT v FROM t").columns == ["v"]
    with pytest.raises(PanesError) as caught:
        if sql.startswith("INSERT"):
            engine.run(sql, checkpoint=tmp_path / "checkpoint", once=True)
        else:
            engine.sql(sql)
    assert caught.value.code == "unfit-workers"


@pytest.mark.spark
def test_a_heartbeat_asks_them_too(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_python, "_is_local", lambda master: False)
    monkeypatch.setattr(worker_python, "_worker", lambda spark, interpreter: replace(own(), duckdb=None))
    monkeypatch.setattr(worker_python, "_fit", set())
    with pytest.raises(PanesError) as caught:
        heartbeat(spark, 1_000_000)
    assert caught.value.code == "unfit-workers"


# Without Spark


@dataclass
class Context:
    """As much of a SparkContext as is looked at."""

    master: str
    pythonExec: str  # noqa: N815 - Spark's name
    applicationId: str = "app"  # noqa: N815


@dataclass
class Session:
    _sc: Context


def python_of(master: str, named: str) -> str:
    """The interpreter of a session's workers, after Panes has seen it."""
    context = Context(master, named)
    use_own_python(cast(SparkSession, Session(context)))
    return context.pythonExec


def test_nobody_has_named_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert python_of("local[2]", "python3") == sys.executable
    assert python_of("local", "nonsense") == sys.executable


def test_one_that_cannot_run_panes_is_replaced(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert python_of("local[*]", str(bare)) == sys.executable


def test_one_that_will_do_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    another = tmp_path / "python"
    another.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    another.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(another))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert python_of("local[2]", str(another)) == str(another)


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,1024]", "yarn", "k8s://https://host"])
def test_a_cluster_keeps_its_own(master: str) -> None:
    assert python_of(master, "/opt/env/bin/python") == "/opt/env/bin/python"


@pytest.mark.parametrize(
    ("worker", "told"),
    [
        (replace(own(), panes=None), "no Panes"),
        (replace(own(), panes="0.0.1"), "Panes 0.0.1"),
        (replace(own(), duckdb="1.0.0"), "DuckDB 1.0.0"),
        (replace(own(), panes=None, duckdb=None), "no Panes and no DuckDB"),
        (replace(own(), python="3.8.1"), "Python 3.8.1"),
    ],
)
def test_what_is_wrong_is_named(worker: Python, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_python, "_worker", lambda spark, interpreter: worker)
    with pytest.raises(PanesError) as caught:
        worker_python.check_workers(cast(SparkSession, Session(Context("spark://host:7077", "python3"))))
    assert caught.value.code == "unfit-workers"
    assert told in caught.value.message
    assert worker.interpreter in caught.value.message


def test_workers_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SparkSession] = []

    def ask(spark: SparkSession, interpreter: str | None) -> Python:
        asked.append(spark)
        return own()

    monkeypatch.setattr(worker_python, "_worker", ask)
    monkeypatch.setattr(worker_python, "_fit", set())
    for application in ("one", "one", "another"):
        context = Context("spark://host:7077", "python3", application)
        worker_python.check_workers(cast(SparkSession, Session(context)))
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ModuleNotFoundError: No module named 'pyspark.sql'", "no pyspark"),
        ('java.io.IOException: Cannot run program "/opt/python": error=2', "/opt/python, which is not there"),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.13 than that in driver: 3.11",
            "Python 3.13",
        ),
    ],
)
def test_workers_that_cannot_be_asked(text: str, told: str) -> None:
    assert told in (worker_python._why(text, "python3") or "")


def test_what_else_goes_wrong_is_spark_s() -> None:
    assert worker_python._why("Job aborted due to stage failure", "python3") is None


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ('IOException: Cannot run program "./env/bin/python" (in directory "./6da7-4f"): error=2', True),
        ('IOException: Cannot run program "/opt/env/bin/python" (in directory "./6da7-4f"): error=2', False),
        ('IOException: Cannot run program "python3.99" (in directory "./6da7-4f"): error=2', False),
        ('IOException: Cannot run program "./env/bin/python": error=2', False),
    ],
)
def test_a_python_that_only_the_folder_of_a_session_lacks_is_not_refused(text: str, unknown: bool) -> None:
    assert bool(worker_python.IN_SESSION_FOLDER.search(text)) is unknown
