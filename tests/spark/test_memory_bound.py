"""A worker that runs a shard stays below a bound, however much comes in or goes out; each case is a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from resource import RLIMIT_AS, setrlimit

import pytest

ROOT = Path(__file__).parents[2]
BOUND = 700  # megabytes above the imports, as `docs/internals/performance.md` says
ADDRESSES = 3 << 30  # bytes that the process may map; half of them are reserved by libraries and never used


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "rows", "rows_out"),
    [
        ("first micro-batch", 16_000_000, 16_000_000),
        ("of 16 sources", 8_000_000, 8_000_000),
        ("end of the stream", 8_000_000, 8_000_000),
        ("above another operator", 8_000_000, 8_000_000),
        ("one partition", 8_000_000, 8_000_000),
        ("rows of 100 kB", 6_000, 6_000),
        ("rows of 100 kB that compress", 6_000, 6_000),
        ("sliding window with keys", 15_000, 14_500_500),
    ],
)
def test_a_worker_is_bounded(case: str, rows: int, rows_out: int) -> None:
    """What passes is 250 MB and more: at once it would take several times as much."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "benchmarks.memory", case, str(rows)]
    done = subprocess.run(
        command,
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: setrlimit(RLIMIT_AS, (ADDRESSES, ADDRESSES)),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[0])
    assert found["rows_out"] == rows_out
    assert found["megabytes"] < BOUND
