"""A checkpoint, a stream and sinks in a bucket, on a server that speaks S3."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from jars import MissingError, skip
from s3_server import BUCKET, Server, s3_server

pytestmark = pytest.mark.spark

JOB = Path(__file__).with_name("s3_job.py")
TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with ExitStack() as stack:
        server = stack.enter_context(s3_server())
        try:
            assert server.environment
        except MissingError as missing:
            skip(missing)
        yield server


def start(s3: Server, at: str, what: str, log: Path) -> subprocess.Popen[bytes]:
    """A job in a process group of its own, so that its Spark dies with it."""
    command = [sys.executable, str(JOB), f"s3a://{BUCKET}/{at}", json.dumps(s3.settings), what]
    paths = [TESTS, *filter(None, [s3.environment.get("PYTHONPATH")])]
    environment = {**s3.environment, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    with log.open("wb") as file:
        return subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)


def result(process: subprocess.Popen[bytes], log: Path) -> dict[str, Any]:
    process.wait()
    text = log.read_text(encoding="utf-8")
    assert process.returncode == 0, text[-5000:]
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


def test_a_checkpoint_in_a_bucket(s3: Server, tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = result(start(s3, "whole", "whole", log), log)
    assert found == {
        "another query": "state-mismatch",
        "in use": "checkpoint-in-use",
        "state": ["1-sums"],
        "doctor": ["ok", "fail", "fail"],
        "another checkpoint": "state-mismatch",
        "no bucket": "store-failed",
        "no stream": "store-failed",
        "ended": "stream-ended",
        "rescaled": "1-sums: 1 → 2 partitions",
        "differences": [0, 0, 6],
        "delta": 3,  # the rows at first, and what each run found
    }


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_from_the_bucket(s3: Server, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result(start(s3, "killed", "fill", log), log)
    for commits in (1, 3, 6):
        process = start(s3, "killed", "run", log)
        while process.poll() is None and _commits(s3) < commits:
            time.sleep(0.05)
        assert process.poll() is None, log.read_text(encoding="utf-8")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert result(start(s3, "killed", "run", log), log) == {"differences": [0, 0, 24, 0, 0, 800]}


def _commits(s3: Server) -> int:
    """The micro-batches of the windows that are committed."""
    query = f"{s3.address}/{BUCKET}?list-type=2&prefix=killed/checkpoint/1-sums/spark/commits/"
    with urllib.request.urlopen(query) as found:
        return len(re.findall(rb"<Key>[^<]*/[0-9]+</Key>", found.read()))
