"""Every example of every documentation page is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from .page_runner import Outcome, PageError, RunCase, check, examples_of, play
from .run_case import run_case

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("README.md")])

RUN_CASE: RunCase = run_case  # executes `output` blocks


def _cases() -> Iterator[object]:
    for path in PAGES:
        page = path.relative_to(ROOT).as_posix()
        try:
            examples = examples_of(path.read_text(encoding="utf-8"))
        except (PageError, ValueError):
            yield pytest.param(path, 0, id=page)  # fails when it is played, and says why
            continue
        for number, example in enumerate(examples):
            slug = re.sub(r"[^a-z0-9]+", "-", example.block.heading.lower()).strip("-")
            marks = [pytest.mark.spark] if example.needs_spark else []
            yield pytest.param(path, number, id=f"{page}:{example.block.line}:{slug}", marks=marks)


@cache
def _played(path: Path) -> list[Outcome]:
    return play(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("path", "number"), list(_cases()))
def test_example(path: Path, number: int, request: pytest.FixtureRequest) -> None:
    check(path, _played(path)[number], RUN_CASE, bool(request.config.getoption("--update")))
