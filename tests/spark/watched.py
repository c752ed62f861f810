"""Runs that `panes why` is asked about, in the test's own process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes import Engine
from panes.cli.main import app
from panes.cli.run_file import announced

Found = dict[str, dict[str, str]]  # by query, and then by cause


@contextmanager
def watched(script: str, checkpoint: Path, spark: SparkSession) -> Iterator[None]:
    """A run that has read all that is there, and still says that it runs."""
    with announced("script.sql", str(checkpoint)) as file:
        Engine(spark, shards=2).run(script, checkpoint=checkpoint, once=True, report=file.batch, plans=file.plans)
        file.write()
        yield


def asked_later(checkpoint: Path, seconds: float, monkeypatch: pytest.MonkeyPatch) -> Found:
    """What `panes why` says some time after the run."""
    import time

    now = time.time() + seconds
    with monkeypatch.context() as later:
        later.setattr("panes.cli.why.time.time", lambda: now)
        done = CliRunner().invoke(app, ["why", str(checkpoint), "--json"])
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.output)
    return {one["query"]: {it["cause"]: it["text"] for it in one["findings"]} for one in told["queries"]}
