"""Rows of a SELECT as a table."""

from __future__ import annotations

import io

from rich.console import Console

from panes.cli.output.rows import table


def text_of(count: int) -> str:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(table("select-1", 3, ["[k]", "v"], [["[red]a", "1"], ["b", None]], count))
    return console.export_text()


def test_values_are_shown_as_they_are() -> None:
    text = text_of(2)
    assert "select-1 batch 3" in text
    assert "[k]" in text
    assert "[red]a" in text
    assert "NULL" in text
    assert "more rows" not in text


def test_rows_that_are_left_out_are_counted() -> None:
    assert "… and 1,998 more rows" in text_of(2000)
