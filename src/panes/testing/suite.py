"""Runs test files: finds them, runs their cases, and rewrites what they expect if that is wished."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from panes.testing.cases import Case, cases_of
from panes.testing.check_promise import Verdict, check_promise
from panes.testing.inputs import CaseError
from panes.testing.markdown import rewrite
from panes.testing.results import NO_OPTIONS, Mismatch, Options, mismatches
from panes.testing.setup import Setup, load_setup
from panes.testing.variants import Wish

NAMES = ("test_*.md", "*_test.md")


@dataclass(frozen=True)
class Outcome:
    """How a case fared: it has passed unless it says what is wrong."""

    path: Path
    name: str
    line: int
    seconds: float
    mismatches: tuple[Mismatch, ...] = ()
    error: Exception | None = None
    updated: bool = False
    verdict: Verdict | None = None

    @property
    def passed(self) -> bool:
        found = self.verdict is not None and self.verdict.difference is not None
        return not self.mismatches and self.error is None and not found


def files_in(paths: Iterable[Path]) -> list[Path]:
    """The test files below some folders, by their names; a file that is named is one whatever it is called."""
    found: dict[Path, None] = {}
    for path in paths:
        below = sorted({one for name in NAMES for one in path.rglob(name)}) if path.is_dir() else [path]
        found.update(dict.fromkeys(below))
    return list(found)


def read_cases(path: Path, word: str = "") -> tuple[list[Case], Outcome | None]:
    """The cases of a file whose names have a word in them, or why it cannot be read."""
    try:
        cases = cases_of(path)
    except (CaseError, OSError, UnicodeDecodeError) as error:
        line = error.line if isinstance(error, CaseError) else 0
        return [], Outcome(path, path.stem, line, 0.0, error=error)
    return [case for case in cases if word.lower() in f"{path}::{case.name}".lower()], None


def run_case(
    case: Case,
    spark: SparkSession,
    options: Options = NO_OPTIONS,
    update: bool = False,
    wish: Wish | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Run one case, and other ways for its rows to come if that is wished; with `update` its blocks are rewritten."""
    began = time.monotonic()
    wrong: tuple[Mismatch, ...] = ()
    verdict: Verdict | None = None
    error: Exception | None = None
    try:
        setups = setups_of(case)
        wrong = tuple(mismatches(case, options, setups, spark))
        if wish is not None:
            verdict = check_promise(case, options, setups, wish, spark, progress)
    except Exception as failed:  # it is this case's, and the others go on
        error = failed
    rewritten = update and error is None and bool(wrong) and all(one.block.text != one.actual for one in wrong)
    if rewritten:
        for one in wrong:
            rewrite(case.path, one.block.number, one.actual)
    took = time.monotonic() - began
    return Outcome(case.path, case.name, case.line, took, () if rewritten else wrong, error, rewritten, verdict)


def setups_of(case: Case) -> list[Setup]:
    """What the file's setup blocks name, looked for beside it and in the working folder."""
    folders = (case.path.parent.resolve(), Path.cwd())
    texts = ((line, block.line) for block in case.setup for line in block.text.split("\n"))
    return [load_setup(text, folders, line) for text, line in texts if text.strip()]
