"""Queries on a cluster of two executors."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.plain_windows import Out, ScriptFolder, expected, made

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE = 300  # seconds until something must have happened


@dataclass(frozen=True)
class Job(ScriptFolder):
    """A script that runs on a cluster, in a process group of its own."""

    def start(self, mode: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, "-m", "spark.cluster_job", str(self.folder), mode]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, env=environment, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-10_000:]


def test_a_sink_that_fails_after_the_state_was_committed(spark: SparkSession, tmp_path: Path) -> None:
    """What a micro-batch wrote before it failed is replaced by the same: the changes add up to the windows."""
    files = made(random.Random(7), 8)
    job = Job(tmp_path, ())
    job.write(files)
    assert job.start("failing").wait(2 * PATIENCE) == 0, job.log()
    held: Counter[Out] = Counter()
    for row in spark.read.parquet(str(tmp_path / "out")).drop("batch").collect():
        values = row.asDict()
        goes = values.pop("_change_type") in ("delete", "update_preimage")
        held[Out(**values)] += -1 if goes else 1
    assert sorted((+held).elements()) == expected(list(chain(*files)))["tumbling"]
