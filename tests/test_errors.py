"""Errors: a code, a place, a way out."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from present import present

from panes.errors import CODES, PanesError, suggestion
from panes.source import Source, Span


def test_the_text_of_an_error() -> None:
    source = Source("SELECT a\nFROM users GROUP BY statewindow(a > 0, b = 1) OVER ()")
    start = source.text.index("OVER")
    error = PanesError("over-needs-partition-by", "no PARTITION BY", Span(source, start, start + 7), "Write one.")
    assert str(error).split("\n") == [
        "over-needs-partition-by: no PARTITION BY",
        "   2 | FROM users GROUP BY statewindow(a > 0, b = 1) OVER ()",
        "     |                                               ^^^^^^^",
        "hint: Write one.",
    ]


def test_place_and_hint_are_optional() -> None:
    error = PanesError("stream-ended", "sealed")
    assert str(error) == "stream-ended: sealed"
    assert (error.span, error.hint) == (None, None)


def test_a_code_is_in_the_table() -> None:
    with pytest.raises(ValueError, match="no-such-code"):
        PanesError("no-such-code", "x")


def test_codes_are_kebab_case_and_explained() -> None:
    for code, meaning in CODES.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
        assert meaning


PROMISED = """
    parse-error unknown-stream unknown-column unknown-function multiple-windows window-not-in-group-by window-arguments
    unknown-time-unit over-not-allowed over-needs-partition-by over-order-by-not-allowed aggregate-in-where
    stateful-in-having aggregate-in-stateful watermark-required watermark-already-set unbounded-state
    changelog-not-supported unsupported-clause state-mismatch stream-ended
"""


def test_the_promised_codes_are_there() -> None:
    assert set(PROMISED.split()) <= set(CODES)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_survives_a_trip_between_processes(clone: Callable[..., Any]) -> None:
    error = PanesError("unknown-column", "no b", Span(Source("SELECT b"), 7, 8), "Did you mean a?")
    assert str(clone(error)) == str(error)


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("user_ids", ["user_id", "region"], "user_id"),
        ("USER_ID", ["user_id"], "user_id"),
        ("regoin", ["User", "Region"], "Region"),
        ("zzz", ["a", "b"], "a, b"),
        ("zzz", [f"c{number}" for number in range(20)], "…"),
    ],
)
def test_suggestion(name: str, known: list[str], hint: str) -> None:
    assert hint in present(suggestion(name, known))


def test_nothing_to_suggest() -> None:
    assert suggestion("a", []) is None
