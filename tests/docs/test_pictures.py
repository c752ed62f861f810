"""The pictures on pages are those that `panes draw` makes of the pages' own input blocks; `--update` rewrites them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from panes.picture import svg
from panes.trace import Fate
from panes.trace.page import PageExample, examples_of
from panes.trace.script import trace_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
NAMED = [
    (page, example)
    for page in sorted(ROOT.glob("docs/**/*.md"))
    for example in examples_of(page.read_text(encoding="utf-8"))
    if example.picture is not None
]
NOTHING_IS_LATE = ("over-changes",)


def file_of(page: Path, example: PageExample) -> Path:
    assert example.picture is not None
    return (page.parent / example.picture).resolve()


def test_every_window_stateful_functions_and_both_modes_of_over_have_a_picture() -> None:
    wanted = {*"tumbling hopping session count sliding state stateful over-close over-changes".split()}
    assert {file_of(page, example).stem for page, example in NAMED} >= wanted


def test_no_picture_is_left_over() -> None:
    assert set((ROOT / "docs/pictures").glob("*.svg")) == {file_of(page, example) for page, example in NAMED}


@pytest.mark.spark
@pytest.mark.parametrize(("page", "example"), NAMED, ids=[file_of(*one).stem for one in NAMED])
def test_picture(page: Path, example: PageExample, spark: SparkSession, request: pytest.FixtureRequest) -> None:
    file = file_of(page, example)
    trace = trace_script(example.script, example.given, name=page.name, spark=spark)
    late = [row for row in trace.rows if row.fate is Fate.LATE]
    assert bool(late) is (file.stem not in NOTHING_IS_LATE)
    assert any(moment is not None for moment in trace.streams[0].watermarks)
    picture = svg(trace)
    if request.config.getoption("--update"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(picture, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == picture, "panes draw makes another picture: pytest --update, and look"
