"""Killed at any moment and started again, a script loses nothing and says nothing twice.

A process runs one query of each kind over a folder of files, and is killed with its Spark while micro-batches are under
way. The folder of a file sink holds what Spark's log of it says: exactly the windows that a plain definition gives.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.plain_windows import ORDERED, TIME_WINDOWS, Row, ScriptFolder, endless, expected

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Script(ScriptFolder):
    """A script that `panes run` runs."""

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """`panes run`, in a process group of its own so that its Spark dies with it."""
        command = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", "script.sql", *options]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*command, "--checkpoint", str(self.checkpoint)],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def killed_while_reading(
    script: Script, choose: random.Random, kills: int, batches: int, feed: Callable[[], None]
) -> int:
    """Kill the script so often, each time after `feed` and up to `batches` micro-batches; how often it was inside one.

    One that has come to its end before it could be killed does not count.
    """
    killed = inside = 0
    while killed < kills:
        feed()
        process = script.start("--once")
        target = script.begun() + choose.randint(1, batches)
        while process.poll() is None and not (script.begun() >= target and script.under_way()):
            time.sleep(0.01)
        time.sleep(choose.uniform(0, 0.5))
        if process.poll() is None:
            kill(process)
            killed += 1
            inside += script.under_way() > 0
        else:
            assert process.returncode == 0, script.log()
    return inside


def killed_while_flushing(script: Script, choose: random.Random, attempts: int) -> int:
    """Read the rest and end the input, through kills from the moment at which the first query has been told.

    How often it was killed before it had come to its end, of so many attempts.
    """
    killed = 0
    for _ in range(attempts):
        process = script.start("--flush")
        while process.poll() is None and not script.ending():
            time.sleep(0.01)
        deadline = time.monotonic() + choose.uniform(0, 4)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is None:
            kill(process)
            killed += 1
    process = script.start("--flush")
    assert process.wait() == 0 or "stream-ended" in script.log(), script.log()
    return killed


def check(spark: SparkSession, script: Script, seed: int, files: int, kills: tuple[int, int], batches: int) -> int:
    """The law, for so many kills while reading, each with some more files, and while flushing; how many were inside."""
    print(f"seed {seed}")
    choose, source = random.Random(seed), endless(random.Random(seed))
    fed: list[list[Row]] = []

    def feed() -> None:
        for rows in islice(source, files):
            script.feed(len(fed), rows)
            fed.append(rows)

    script.write_script()
    inside = killed_while_reading(script, choose, kills[0], batches, feed)
    flushing = killed_while_flushing(script, choose, kills[1])
    print(f"{kills[0]} kills while reading, {inside} of them inside a micro-batch; {flushing} while flushing")
    windows = expected(list(chain(*fed)))
    for name in script.kinds:
        assert script.held(spark, name) == windows[name], name
    return inside


def test_killed_and_restarted(spark: SparkSession, tmp_path: Path) -> None:
    script = Script(tmp_path, ("tumbling", "session", "stateful", "changes"))
    check(spark, script, seed=20240101, files=5, kills=(2, 1), batches=15)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [TIME_WINDOWS, ORDERED], ids=["time windows", "ordered"])
def test_killed_many_times(spark: SparkSession, tmp_path: Path, kinds: tuple[str, ...]) -> None:
    seed = random.SystemRandom().randrange(10**6)
    assert check(spark, Script(tmp_path, kinds), seed, files=2, kills=(20, 3), batches=7) > 0
