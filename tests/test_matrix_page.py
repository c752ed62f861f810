"""The page with the matrix: its tables are of the environments and suites that there are, and all of it is green."""

from __future__ import annotations

import doctest
import re

import matrix_page
import pytest
import run_matrix
from matrix_page import table_under, with_rows

PAGE = matrix_page.PAGE.read_text(encoding="utf-8")
HEADER = ["Spark", "Python", "laws"]
ORDER = ["4.1.1", "4.2.0", "lowest"]
EMPTY = "# Page\n\n## One\n\n| a |\n|---|\n| b |\n\n## Two\n\n| Spark | Python | laws |\n|---|---|---|\n\nThe end.\n"


@pytest.mark.parametrize("dose", run_matrix.DOSES.values(), ids=list(run_matrix.DOSES))
def test_the_tables_are_of_the_suites(dose: run_matrix.Dose) -> None:
    header, *rows = table_under(PAGE, dose.heading)
    assert tuple(header) == dose.header
    for row in rows:
        assert all(re.fullmatch(r"\d+ s", cell) for cell in row[2:-1]), row


def test_every_environment_has_its_row() -> None:
    _, *rows = table_under(PAGE, run_matrix.DOSES["small"].heading)
    assert {row[0] for row in rows} == {one.name for one in run_matrix.environments()}


def test_rows_are_of_the_bounds_that_are() -> None:
    _, *rows = table_under(PAGE, run_matrix.DOSES["small"].heading)
    (lowest,) = (row[-1] for row in rows if row[0] == run_matrix.LOWEST)
    found = dict(one.split(" ") for one in lowest.split(", "))
    bounds = run_matrix.lower_bounds(run_matrix.requirements())
    assert all(found[name].startswith(bound) for name, bound in bounds.items())


def test_rows_are_added_in_order_and_replaced() -> None:
    first = with_rows(EMPTY, "Two", HEADER, [["lowest", "3.11", "8 s"], ["4.1.1", "3.13", "FAILED, 9 s"]], ORDER)
    second = with_rows(first, "Two", HEADER, [["4.1.1", "3.13", "7 s"], ["4.1.1", "3.9", "6 s"]], ORDER)
    rows = [["4.1.1", "3.9", "6 s"], ["4.1.1", "3.13", "7 s"], ["lowest", "3.11", "8 s"]]
    assert table_under(second, "Two") == [HEADER, *rows]
    assert [line for line in second.split("\n") if line not in first.split("\n")] == [
        "| 4.1.1 | 3.9 | 6 s |",
        "| 4.1.1 | 3.13 | 7 s |",
    ]


def test_rows_of_other_suites_go() -> None:
    before = with_rows(EMPTY, "Two", HEADER, [["lowest", "3.11", "8 s"]], ORDER)
    other = ["Spark", "Python", "kernels"]
    after = with_rows(before, "Two", other, [["4.2.0", "3.11", "5 s"]], ORDER)
    assert table_under(after, "Two") == [other, ["4.2.0", "3.11", "5 s"]]
    assert table_under(after, "One") == [["a"], ["b"]]


def test_examples() -> None:
    assert doctest.testmod(matrix_page).failed == 0
