"""State goes from one release of DuckDB to the next: sort keys that one has made are found by the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .golden import check_result, run_part
from .scenarios import SCENARIOS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RELEASES = ("1.4.5", "1.5.6")  # before the one that is installed
SORTED_BLOCKS = ("over_changes", "over_changes_ttl", "top_n_changes", "changelog_over", "changelog_over_key")
ROOT = Path(__file__).parents[2]


def installed(release: str) -> Path:
    """The folder of a release, which is downloaded once."""
    folder = ROOT / "build" / "duckdb" / release
    if not folder.exists():
        part = folder.with_name(f"{release}-part")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(part)]
        done = subprocess.run([*command, f"duckdb=={release}"], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"needs duckdb {release} from a package index: {done.stderr.strip()[-200:]}")
        part.rename(folder)
    return folder


def test_sorted_blocks_go_through_three_releases(tmp_path: Path, spark: SparkSession) -> None:
    """A part of the input with each release, the last one with the DuckDB that is installed."""
    folders = {release: installed(release) for release in RELEASES}
    for part, (release, folder) in enumerate(folders.items()):
        path = os.pathsep.join([str(folder), str(ROOT / "src"), str(ROOT / "tests")])
        job = [sys.executable, "-m", "state.part_job", release, str(tmp_path), str(part), *SORTED_BLOCKS]
        done = subprocess.run(job, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
    for name in SORTED_BLOCKS:
        run_part(SCENARIOS[name], len(RELEASES), tmp_path / name, spark)
        check_result(SCENARIOS[name], tmp_path / name, spark)
