"""The page on the tests of the promise names tests that are there, and everything that random queries have found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "internals" / "promise-tests.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and "test_" in line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_the_tests_of_a_row_are_in_its_files(row: str) -> None:
    files = re.findall(r"\]\((?:\.\./){2}(tests/[\w/]+\.py)\)", row)
    defined = [
        re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE) for file in files
    ]
    assert files
    assert set(re.findall(r"`(test_\w+)`", row)) - {name for names in defined for name in names} == set()


def test_the_page_tells_what_random_queries_have_found() -> None:
    section = PAGE.partition("\n## Whole random queries\n")[2]
    told = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(told) == sorted(path.stem for path in (ROOT / "tests" / "queries" / "regressions").glob("*.json"))
    assert len(told) == 6 and "six defects" in section
