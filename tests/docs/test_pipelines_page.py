"""The page on declarative pipelines shows the example that the tests run, as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.testing.markdown import blocks_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "declarative-pipelines.md"
EXAMPLE = ROOT / "examples" / "declarative_pipeline"
SHOWN = {"python": "transformations/rises.py", "yaml": "spark-pipeline.yml"}


@pytest.mark.parametrize("language", SHOWN)
def test_a_block_is_the_file(language: str) -> None:
    (block,) = (one for one in blocks_of(PAGE.read_text(encoding="utf-8")) if one.language == language)
    assert block.text + "\n" == (EXAMPLE / SHOWN[language]).read_text(encoding="utf-8")


def test_the_command_is_the_example_s() -> None:
    (block,) = (one for one in blocks_of(PAGE.read_text(encoding="utf-8")) if one.language == "sh")
    assert f"Run, in this folder: {block.text}" in (EXAMPLE / SHOWN["yaml"]).read_text(encoding="utf-8")
