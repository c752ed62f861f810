"""The page with the matrix: which suites pass on which versions, in how many seconds. `run_matrix.py --page` writes it.

A run replaces the rows of its own environments and leaves the others, so that the page can be written piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "internals" / "matrix.md"
Cells = list[str]


def with_rows(page: str, heading: str, header: Cells, rows: Sequence[Cells], order: Sequence[str]) -> str:
    """The page with these rows in the table under a heading; the first two cells, a Spark and a Python, name a row.

    >>> page = (
    ...     "## Small\\n\\n| Spark | Python | laws |\\n|---|---|---|\\n| 4.1.1 | 3.11 | 9 s |\\n| lowest | 3.11 | 8 s |"
    ... )
    >>> new = [["4.2.0", "3.11", "7 s"], ["lowest", "3.11", "6 s"]]
    >>> print(with_rows(page, "Small", ["Spark", "Python", "laws"], new, ["4.1.1", "4.2.0", "lowest"]))
    ## Small
    <BLANKLINE>
    | Spark | Python | laws |
    |---|---|---|
    | 4.1.1 | 3.11 | 9 s |
    | 4.2.0 | 3.11 | 7 s |
    | lowest | 3.11 | 6 s |
    """
    old_header, *old = table_under(page, heading)
    kept = old if old_header == header else []  # other suites: nothing to compare with
    named = {(row[0], row[1]): row for row in [*kept, *rows]}
    found = [named[name] for name in sorted(named, key=lambda name: (order.index(name[0]), _numbers(name[1])))]
    lines = [_line(header), "|---" * len(header) + "|", *map(_line, found)]
    begin, end = _place(page, heading)
    return page[:begin] + "\n".join(lines) + page[end:]


def table_under(page: str, heading: str) -> list[Cells]:
    """The cells of the first table under a heading, its header first."""
    begin, end = _place(page, heading)
    lines = page[begin:end].split("\n")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in [lines[0], *lines[2:]]]


def _place(page: str, heading: str) -> tuple[int, int]:
    section = page.index(f"## {heading}\n")
    found = re.compile(r"^\|.*(\n\|.*)*", re.MULTILINE).search(page, section)
    assert found is not None, f"no table stands under {heading}"
    return found.span()


def _line(cells: Cells) -> str:
    return f"| {' | '.join(cells)} |"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
