"""The house rules: what breaks each is reported, and what keeps it is not."""

from __future__ import annotations

import ast
from pathlib import Path, PurePath

import pytest
from check_house import (
    EVERYDAY,
    LONGEST,
    compared_names,
    findings,
    function_names,
    kernel_tests_with_spark,
    kernels_without_tests,
    long_files,
    open_matches,
)

FILE = PurePath("src/panes/x.py")


def test_long_files() -> None:
    assert list(long_files(FILE, "pass\n" * LONGEST)) == []
    (found,) = long_files(FILE, "pass\n" * (LONGEST + 1))
    assert str(found).startswith("src/panes/x.py:401: 401 lines")


def matched(*cases: str) -> ast.Module:
    return ast.parse("match kind:\n" + "".join(f"    case {case}:\n        pass\n" for case in cases))


@pytest.mark.parametrize(
    "cases",
    [
        ["Session()", "Count()"],
        ["Session() | Count()"],
        ["Count(every=None) as one"],
        ["'x'", "Session()"],
        ["Edge.PRECEDING", "Edge.FOLLOWING"],
        ["plan.Edge.PRECEDING | plan.Edge.FOLLOWING"],
        ["Session()", "_ if late"],
        ["Session()", "Plan() as rest"],
    ],
)
def test_matches_that_leave_a_case_out(cases: list[str]) -> None:
    (found,) = open_matches(FILE, matched(*cases))
    assert (found.line, "assert_never(kind)" in found.remedy) == (1, True)


@pytest.mark.parametrize(
    "cases",
    [
        ["Session()", "Count()", "_"],
        ["Edge.PRECEDING", "rest"],
        ["'SELECT' | 'WITH'", "'VALUES'"],
        ["[Token() as token]"],
        ["1", "None"],
    ],
)
def test_matches_that_are_whole_or_open_by_nature(cases: list[str]) -> None:
    assert list(open_matches(FILE, matched(*cases))) == []


def test_kernels_have_tests_at_the_same_place() -> None:
    modules = [PurePath(name) for name in ("duck.py", "over/__init__.py", "over/tail.py", "state/carry.py")]
    tests = [PurePath(name) for name in ("test_duck.py", "over/test_carry.py", "state/test_carry.py", "test_tail.py")]
    (found,) = kernels_without_tests(modules, tests)
    assert found.path == PurePath("src/panes/kernels/over/tail.py")
    assert "tests/kernels/over/test_tail.py" in found.remedy


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("import pyspark.sql", [1]),
        ("from pyspark.sql import SparkSession", [1]),
        ("import pytest\npytestmark = pytest.mark.spark", [2]),
        ("from panes.spark.blob import to_bytes", []),
        ("from .pyspark import one", []),
        ("def test(spark: str) -> None: ...", []),
    ],
)
def test_kernels_are_tested_without_spark(code: str, lines: list[int]) -> None:
    assert [one.line for one in kernel_tests_with_spark(FILE, ast.parse(code))] == lines


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("call.function == 'lag'", "lag"),
        ("'percentile' != name", "percentile"),
        ("name in ('first_value', 'last_value')", "first_value, last_value"),
        ("name not in {'dense_rank'}", "dense_rank"),
        ("match name:\n    case 'row_number' | 'acc_sum': ...", "row_number, acc_sum"),
        ("RANKS = ('row_number', 'rank')", "row_number, rank"),
        ("HELD: frozenset[str] = frozenset(('collect_list', 'max'))", "collect_list"),
    ],
)
def test_names_of_functions_that_are_compared(code: str, names: str) -> None:
    (found,) = compared_names(FILE, ast.parse(code), function_names())
    assert found.what.endswith(f": {names}")


@pytest.mark.parametrize(
    "code",
    [
        "KERNELS = {'lag': lag, 'dense_rank': rank}",
        "KERNELS[call.function] == kernel",
        "call = OverCall('row_number', (), 'n')",
        "side == 'last'",
        "ends in ('min', 'max')",
        "COLUMNS = ('lag', 'seconds')",
        "text == 'row_number()'",
    ],
)
def test_names_of_functions_that_are_not_compared(code: str) -> None:
    assert list(compared_names(FILE, ast.parse(code), function_names())) == []


def test_everyday_words_are_names_of_functions() -> None:
    assert function_names() >= EVERYDAY


def test_a_checkout_is_searched(tmp_path: Path) -> None:
    """The registries may compare names; everything else may not, and a kernel without tests is found."""
    files = {
        "src/panes/functions/over.py": "name == 'lag'\n",
        "src/panes/kernels/__init__.py": "",
        "src/panes/kernels/over.py": "name == 'lag'\n",
        "src/panes/kernels/state.py": "match state:\n    case State(): ...\n",
        "tests/kernels/test_over.py": "import pyspark\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert sorted(one.path.as_posix() for one in findings(tmp_path)) == [
        "src/panes/kernels/over.py",
        "src/panes/kernels/state.py",
        "src/panes/kernels/state.py",
        "tests/kernels/test_over.py",
    ]
