"""Rows of a SELECT as a table."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from panes.cli.output.rows import distinct, escaped, table


def text_of(count: int) -> str:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(table("select-1", 3, ["[k]", "v"], [["[red]a", "1"], ["b", None]], count, 80))
    return console.export_text()


def test_values_are_shown_as_they_are() -> None:
    text = text_of(2)
    assert "select-1 batch 3" in text
    assert "[k]" in text
    assert "[red]a" in text
    assert "NULL" in text
    assert "more row" not in text


def test_rows_that_are_left_out_are_counted() -> None:
    assert "… and 1,998 more rows" in text_of(2000)
    assert text_of(3).endswith("… and 1 more row\n")


UUID = "a3f2c1d0-1111-2222-3333-444444444444"


@pytest.mark.parametrize("width", [80, None])
def test_a_value_is_never_cut(width: int | None) -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(table("q", None, ["id"] * 16, [[UUID] * 16], 1, width), soft_wrap=True)
    text = console.export_text()
    assert "…" not in text
    assert sum(map(text.count, "a3f2c1d0")) >= 16 * 8
    assert (text.count(UUID) == 16) is (width is None)


def test_columns_of_the_same_name_have_keys_of_their_own() -> None:
    assert distinct(["lag(a)", "lag(a)", "A", "a"]) == ["lag(a)", "lag(a)_2", "A", "a"]


def test_json_keeps_every_digit() -> None:
    text = '{"d": 12345678901234567890.123456789012345678, "s": "é"}'
    assert escaped(text) == text.replace("é", "\\u00e9")
