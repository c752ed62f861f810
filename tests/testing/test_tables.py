"""Rows as text and back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.testing.tables import cell, read_tables, text_of_rows

TEXTS = st.text(alphabet='ab |"\\-\n\tNUL', max_size=6)


@given(st.lists(st.tuples(st.none() | TEXTS, st.none() | TEXTS), max_size=4))
def test_what_is_written_is_read(rows: list[tuple[str | None, str | None]]) -> None:
    (table,) = read_tables(text_of_rows(["k", "v"], [rows]))
    assert table == [["k", "v"], *([one, two] for one, two in rows)]


def test_micro_batches_are_kept_apart() -> None:
    text = text_of_rows(["k"], [[], [["a"]], [], [["b"]]])
    assert read_tables(text) == [[["k"]], [["a"]], [], [["b"]]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("NULL", '"NULL"'),
        ("", '""'),
        (False, "false"),
        (datetime(2024, 1, 1, 12), "2024-01-01 12:00:00"),
        ([datetime(2024, 1, 1), None], '["2024-01-01 00:00:00", null]'),
        ({"a": 1.5}, '{"a": 1.5}'),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert cell(value) == text


def test_quotes_inside_a_cell_are_its_own() -> None:
    assert read_tables('say "hi" | x') == [[['say "hi"', "x"]]]


def test_an_empty_cell_is_an_empty_text() -> None:
    assert read_tables("a |  | b |") == [[["a", "", "b", ""]]]
