"""Two attempts of a task that both commit, on two executors: what is read from the files afterwards is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark.attempts_job import KEYS

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_two_attempts_both_commit_their_state(tmp_path: Path) -> None:
    """With both of Spark's checkpoint formats; a file sink holds each row once, with the value before it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-m", "spark.attempts_job", str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    lines = [line.partition("result ")[2] for line in done.stdout.splitlines() if line.startswith("result ")]
    found = {one["version"]: one for one in map(json.loads, lines)}
    assert set(found) == {"1", "2"}
    for one in found.values():
        assert one["first"] != one["second"], "both attempts were on one executor"
        assert one["after"] == one["first"], "the next micro-batch was not on the first attempt's executor"
        assert [tuple(row) for row in one["rows"]] == expected()
        own = f"v{one['version']}"
        assert one["formats"] == [own, own]
        assert one["changed"] == f"goes on, with {own}", "an old checkpoint keeps its format, whatever is set"


def expected() -> list[tuple[str, int, int]]:
    """Each row's key and value, and the value before it, -1 if there is none."""
    rows = [(f"k{KEYS}", 0, -1), ("k0", 2, 1), ("k0", 3, 2)]
    rows += [(f"k{number}", 1, -1) for number in range(KEYS)]
    return sorted(rows + [(f"k{number}", 3, 1) for number in range(1, KEYS)])
