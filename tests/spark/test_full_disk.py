"""`panes run` on a disk that is too small, and on a folder that cannot be: one message, and exit code 1."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jars import MissingError, skip
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark
SLOW = pytest.mark.slow

SCRIPT = """
    CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
    WITH (connector = 'json', path = '{folder}/in', maxFilesPerTrigger = '1');
    CREATE SINK out WITH ({sink});
    INSERT INTO out SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k;
"""
FILES = "connector = 'json', path = '{folder}/out'"
# A disk of some kB that only this process has.
DISK = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"'


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return written(tmp_path, FILES)


def written(tmp_path: Path, sink: str) -> Path:
    for number in range(20):
        rows = ({"ts": at(number * 10_000 + step), "k": f"{step % 50}", "v": 1} for step in range(100))
        write_file(tmp_path / "in", number, rows)
    file = tmp_path / "script.sql"
    file.write_text(SCRIPT.format(folder=tmp_path, sink=sink.format(folder=tmp_path)), encoding="utf-8")
    return file


def has_own_mounts() -> bool:
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("folder", "size", "sink"),
    [
        pytest.param("checkpoint", "200k", FILES, id="checkpoint"),
        pytest.param("out", "100k", FILES, id="files"),
        pytest.param(
            "out", "100k", "connector = 'delta', path = '{folder}/out', create = 'true'", id="delta", marks=SLOW
        ),
    ],
)
def test_a_disk_that_is_full(folder: str, size: str, sink: str, tmp_path: Path) -> None:
    """That of the checkpoint, and that of the sink."""
    if not has_own_mounts():
        skip(MissingError("no process of this user can mount a small disk for itself"))
    written(tmp_path, sink)
    (tmp_path / folder).mkdir()
    run = [sys.executable, "-c", "from panes.cli.main import app; app()", "run", "script.sql", "--once", "--quiet"]
    mounted = ["unshare", "--map-root-user", "--mount", "sh", "-c", DISK, "-", size, str(tmp_path / folder)]
    done = subprocess.run(
        [*mounted, *run, "--checkpoint", str(tmp_path / "checkpoint")], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert "store-failed: " in done.stderr, done.stderr
    told = done.stderr[done.stderr.index("store-failed") :]
    assert told.startswith("store-failed: ")
    assert "No space left on device" in told
    assert len(told.splitlines()) == 2, told


def test_a_checkpoint_that_is_a_file(script: Path, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script.read_text(encoding="utf-8"), checkpoint=tmp_path / "file" / "checkpoint", once=True)
    assert caught.value.code == "store-failed"
