"""Delta out with Spark's own Delta, on the Spark that it is there for: in the matrix's environment of that version.

The tests of the sink and of the pipeline run there on a session that has Delta, and more of `spark_sink_cases.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import run_matrix
from jars import DELTA, MissingError, jars, skip

from panes.spark.delta.jar import SETTINGS
from panes.spark.delta.spark_sink import merge_statement

HERE = Path(__file__).parent
VERSION = "4.2.0"
# What these say is true of delta-rs alone: which files it reads, where it stages rows, and that it may be missing.
OTHERS = ("reads_only_files", "commits_in_between", "without_the_package")


def test_a_merge_quotes_names() -> None:
    statement = merge_statement("file:/a`b", "v", ("the key", "k`"), ("the key", "k`", "n"))
    assert "MERGE INTO delta.`file:/a``b` AS t" in statement
    assert "t.`the key` <=> s.`the key` AND t.`k``` <=> s.`k```" in statement
    assert "INSERT (`the key`, `k```, `n`) VALUES (s.`the key`, s.`k```, s.`n`)" in statement


@pytest.mark.slow
def test_on_the_spark_that_delta_is_built_for(tmp_path: Path) -> None:
    try:
        found = jars("delta", DELTA, alone=True)
    except MissingError as missing:
        skip(missing)
    (environment,) = [one for one in run_matrix.environments() if one.name == VERSION]
    run_matrix.install(environment)
    python = str(environment.python)
    settings = {**SETTINGS, "spark.databricks.delta.snapshotPartitions": "2"}  # 50 tasks otherwise, to look at a log
    defaults = "".join(f"{name} {value}\n" for name, value in settings.items())
    (tmp_path / "spark-defaults.conf").write_text(defaults, encoding="utf-8")
    env = {
        **os.environ,
        "PYSPARK_PYTHON": python,
        "PYTHONPATH": "",
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": f"--jars {','.join(map(str, found))} pyspark-shell",
    }
    env.pop("SPARK_HOME", None)
    files = [str(HERE / name) for name in ("spark_sink_cases.py", "test_sink.py", "test_pipeline.py")]
    chosen = [*files, "-k", " and ".join(f"not {name}" for name in OTHERS)]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(command, cwd=run_matrix.ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    assert re.search(r"^\d+ passed, \d+ deselected in ", done.stdout, re.MULTILINE), done.stdout[-1000:]
