"""Versions are told in one voice: by the project's file, its page on Spark, and the environments of the matrix."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path

import run_matrix

import panes

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "spark-session.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BOUNDS = run_matrix.lower_bounds(run_matrix.requirements())


def test_the_page_has_the_lower_bounds() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d[\d.]*) \|$", PAGE, re.MULTILINE)
    assert dict(rows) == BOUNDS


def test_every_requirement_has_a_lower_bound() -> None:
    assert len(BOUNDS) == sum(map(len, run_matrix.requirements().values()))


def test_every_lower_bound_says_why_it_is_there() -> None:
    """Those of what users install: the text of the file, since comments are not parsed."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    bounds = text[text.index("\ndependencies = [") : text.index("\ndev = [")].splitlines()
    assert [line for line in bounds if ">=" in line and not re.search(r'["\]],? +# \w', line)] == []
    assert sum(">=" in line for line in bounds) > 10


def test_the_matrix_has_every_spark_that_the_page_names() -> None:
    named = re.search(r"Spark (4[^\n]*), and Python", PAGE)
    assert named is not None
    assert re.findall(r"\d+\.\d+", named[1]) == [version.rpartition(".")[0] for version in run_matrix.SPARKS]


def test_the_lowest_environment_pins_every_bound() -> None:
    lowest = run_matrix.environments()[-1]
    pinned = dict(one.split("==") for one in lowest.pins)
    assert pinned.pop("pyspark") == BOUNDS["pyspark"] == run_matrix.SPARKS[0]
    assert pinned == {name: version for name, version in BOUNDS.items() if name != "pyspark"}


def test_the_version_is_told_once() -> None:
    assert PROJECT.get("version", panes.__version__) == panes.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(panes.__version__)}\b", changelog, re.MULTILINE)


def test_pythons_are_named() -> None:
    named = [one.rpartition(" :: ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert f"Python {named[0]} to {named[-1]}" in " ".join(PAGE.split())


def test_examples() -> None:
    assert doctest.testmod(run_matrix).failed == 0
