"""Every file in examples/ runs, as its first lines say."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from panes.cli.main import app

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
PRINTED = {  # a part of what each prints
    "own_function.py": "'in_a_row': 3",
    "sessions.py": "[/, /price]",
    "testing_sql.py": "[{'k': 'a', 's': 2.0}]",
    "orders.sql": "screen batch 0",
}


@pytest.fixture(autouse=True)
def _at_the_root(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    yield
    spark.sparkContext.setLogLevel("ERROR")  # the command line turns it off


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    match path.suffix:
        case ".py":
            runpy.run_path(str(path), run_name="__main__")
            assert PRINTED[path.name] in capsys.readouterr().out
        case ".sql":
            done = CliRunner().invoke(app, command_of(path))
            assert done.exit_code == 0, done.output
            assert PRINTED[path.name] in done.output
        case ".json" if path.parent == ROOT / "examples":
            json.loads(path.read_text(encoding="utf-8"))  # the dashboard; see cli/test_metrics.py
        case ".json":
            assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]  # rows of a script
        case _:
            raise AssertionError(f"nobody runs {path.relative_to(ROOT)}")


def command_of(script: Path) -> list[str]:
    """How to run a script, from the comment above it."""
    found = re.search(r"^--\s+panes (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{script.name} does not say how it is run"
    return found[1].split()
