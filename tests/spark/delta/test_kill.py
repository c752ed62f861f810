"""Delta → OVER → Delta in a process that is killed at any moment: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark.delta.changing_table import Pipeline

pytestmark = pytest.mark.spark
KILLS = 12


def start(folder: Path) -> subprocess.Popen[bytes]:
    """`panes run`, in a process group of its own so that its Spark dies with it."""
    command = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", "script.sql", "--once"]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [*command, "--checkpoint", "checkpoint"], cwd=folder, stdout=log, stderr=log, start_new_session=True
        )


def numbers(folder: Path, log: str) -> int:
    """How many micro-batches of both INSERTs are in one of Spark's logs."""
    return sum(one.name.isdigit() for one in folder.glob(f"checkpoint/*/spark/{log}/*"))


@pytest.mark.slow
def test_killed_many_times(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    choose = random.Random(seed)
    pipeline = Pipeline(tmp_path)
    pipeline.make()
    pipeline.change(choose, 10)
    (tmp_path / "script.sql").write_text(pipeline.script, encoding="utf-8")
    inside = kills = 0
    while kills < KILLS:
        pipeline.change(choose, 5)
        process = start(tmp_path)
        target = numbers(tmp_path, "offsets") + choose.randint(1, 4)
        while process.poll() is None and numbers(tmp_path, "offsets") < target:
            time.sleep(0.01)
        time.sleep(choose.uniform(0, 1))  # the moment of the kill is random
        if process.poll() is not None:
            assert process.returncode == 0, (tmp_path / "log").read_text(encoding="utf-8")
            continue
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        inside += numbers(tmp_path, "offsets") > numbers(tmp_path, "commits")
    assert start(tmp_path).wait() == 0, (tmp_path / "log").read_text(encoding="utf-8")
    print(f"seed {seed}: {kills} kills, {inside} inside a micro-batch, {len(pipeline.commits('board'))} commits")
    assert inside > 0
    pipeline.check()
    for name in ("board", "news"):
        assert list((tmp_path / name / "_panes_staging").iterdir()) == []
