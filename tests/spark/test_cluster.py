"""One query of each operator on a standalone cluster, with speculation, through kills of executors and driver."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.cluster import Standalone, standalone
from spark.plain_windows import QUERIES, Out, ScriptFolder, expected, made

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE = 300  # seconds until something must have happened


@dataclass(frozen=True)
class Job(ScriptFolder):
    """A script that runs on a cluster, in a process group of its own."""

    master: str

    def start(self, mode: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, "-m", "spark.cluster_job", str(self.folder), mode, self.master]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, env=environment, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )

    def wait_for_progress(self, process: subprocess.Popen[bytes], begun: int) -> None:
        """Until a micro-batch has begun after so many."""
        deadline = time.monotonic() + PATIENCE
        while self.begun() <= begun:
            assert process.poll() is None and time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def speculative(self) -> int:
        """How many tasks ran a second time since the first took long."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace").count("as speculatable")

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-10_000:]


def kill_executor(of: Standalone, process: subprocess.Popen[bytes], choose: random.Random) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (found := of.executors()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(choose.choice(found), signal.SIGKILL)


def kill_driver(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_executors_and_driver_are_killed(spark: SparkSession, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    choose = random.Random(seed)
    files = made(choose, 14)
    with standalone(tmp_path) as two:
        job = Job(tmp_path, tuple(QUERIES), two.url)
        job.write(files[:2])
        began, inside, killed = time.monotonic(), 0, Counter[str]()
        process = job.start("run")
        try:
            job.wait_for_progress(process, 0)
            for number in range(2, len(files)):
                begun = job.begun()
                job.feed(number, files[number])
                job.wait_for_progress(process, begun)
                time.sleep(choose.uniform(0, 6))
                inside += job.under_way() > 0
                if number in (6, 10):
                    kill_driver(process)
                    process = job.start("run")
                    killed["driver"] += 1
                else:
                    kill_executor(two, process, choose)
                    killed["executors"] += 1
            kill_driver(process)
            killed["driver"] += 1
            process = job.start("flush")
            assert process.wait(4 * PATIENCE) == 0, job.log()
        finally:
            if process.poll() is None:
                kill_driver(process)
    print(f"killed {dict(killed)}, {inside} inside a micro-batch, {time.monotonic() - began:.0f} s")
    print(f"{job.speculative()} tasks were started a second time")
    assert job.speculative() > 0
    windows = expected(list(chain(*files)))
    for name in job.kinds:
        assert job.held(spark, name) == windows[name], name


def test_a_sink_that_fails_after_the_state_was_committed(spark: SparkSession, tmp_path: Path) -> None:
    """What a micro-batch wrote before it failed is replaced by the same: the changes add up to the windows."""
    files = made(random.Random(7), 8)
    job = Job(tmp_path, (), "local-cluster[2,1,1024]")
    job.write(files)
    assert job.start("failing").wait(2 * PATIENCE) == 0, job.log()
    held: Counter[Out] = Counter()
    for row in spark.read.parquet(str(tmp_path / "out")).drop("batch").collect():
        values = row.asDict()
        goes = values.pop("_change_type") in ("delete", "update_preimage")
        held[Out(**values)] += -1 if goes else 1
    assert sorted((+held).elements()) == expected(list(chain(*files)))["tumbling"]
