"""pytest: with `--panes` test files (`test_*.md`, `*_test.md`) are collected beside Python's tests.

Without it no Markdown is looked at. The names of options begin with `--panes`; `panes = true` in pytest's settings
stands for the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from panes.testing.cases import Case
    from panes.testing.suite import Outcome


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("panes", "SQL tests of Panes")
    group.addoption("--panes", action="store_true", help="collect test_*.md and *_test.md as tests of SQL")
    group.addoption("--panes-update", action="store_true", help="rewrite the blocks of test files that differ")
    group.addoption("--panes-cuts", type=int, default=0, help="let the rows of each case come in so many other ways")
    group.addoption("--panes-seed", type=int, default=0, help="the seed of these ways")
    parser.addini("panes", "collect test_*.md and *_test.md as tests of SQL", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "panes: a case of a test file of Panes")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not (parent.config.getoption("--panes") or parent.config.getini("panes")):
        return None
    if file_path.suffix != ".md" or not (file_path.stem.startswith("test_") or file_path.stem.endswith("_test")):
        return None
    file: pytest.Collector = CaseFile.from_parent(parent, path=file_path)
    return file


class CaseFile(pytest.File):
    """A test file, with an item for each of its cases."""

    def collect(self) -> Iterator[pytest.Item]:
        from panes.testing.cases import cases_of

        for case in cases_of(self.path):
            yield CaseItem.from_parent(self, name=case.name, case=case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from panes.testing.inputs import CaseError

        if isinstance(excinfo.value, CaseError):
            return f"{self.path}: {excinfo.value}"
        return super().repr_failure(excinfo)


class WrongError(Exception):
    """A case that does not pass."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class CaseItem(pytest.Item):
    """A case, run on the Spark of this process, or on an embedded one."""

    def __init__(self, *, case: Case, **others: Any) -> None:
        super().__init__(**others)
        self.case = case
        self.add_marker("panes")

    def runtest(self) -> None:
        from panes.spark.session import embedded
        from panes.testing.suite import run_case
        from panes.testing.variants import Wish

        option = self.config.getoption
        wish = Wish(option("--panes-cuts"), seed=option("--panes-seed")) if option("--panes-cuts") else None
        outcome = run_case(self.case, embedded(), update=option("--panes-update"), wish=wish)
        if not outcome.passed:
            raise WrongError(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from panes.testing.told import told

        if isinstance(excinfo.value, WrongError):
            return told(excinfo.value.outcome)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.line - 1, self.name
