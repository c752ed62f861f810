"""The SQL and Python of a page, as they stand there but for what is elsewhere here, and what they leave behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from docs.page_runner import examples_of

from panes import Engine
from panes.testing.markdown import blocks_of

PAGES = Path(__file__).parents[2] / "docs"


def script_of(page: str, known: dict[str, str]) -> str:
    """The SQL of a page without what it says is refused; `known` says what is elsewhere here than on the page."""
    examples = examples_of((PAGES / page).read_text(encoding="utf-8"))
    refused = [one for one in examples if any(block.language == "error" for block in one.expected)]
    text = "\n".join(one.block.text for one in examples if one.block.language == "sql" and one not in refused)
    return replaced(text, known)


def python_of(page: str, known: dict[str, str]) -> list[str]:
    blocks = [one for one in blocks_of((PAGES / page).read_text(encoding="utf-8")) if one.language == "python"]
    return replaced("\0".join(block.text for block in blocks), known).split("\0")


def replaced(text: str, known: dict[str, str]) -> str:
    for written, here in known.items():
        assert written in text
        text = text.replace(written, here)
    return text


Shown = list[dict[str, Any]]


def shown_rows(engine: Engine, script: str, folder: Path) -> Shown:
    """Run a script to its end; the rows that its SELECTs without INSERT show."""
    shown: Shown = []
    engine.run(
        script,
        checkpoint=folder / "checkpoint",
        flush=True,
        rows=lambda rows: shown.extend(row.asDict() for row in rows.df.collect()),
    )
    return shown


def with_columns(shown: Shown, *names: str) -> list[tuple[Any, ...]]:
    """The rows of the SELECT that has these columns."""
    return sorted(tuple(row.values()) for row in shown if tuple(row) == names)


def table_of(changes: Iterable[tuple[str, tuple[Any, ...]]]) -> set[tuple[Any, ...]]:
    """The rows that changes add up to."""
    found: Counter[tuple[Any, ...]] = Counter()
    for change, row in changes:
        found[row] += 1 if change in ("insert", "update_postimage") else -1
    assert set(found.values()) <= {0, 1}
    return {row for row, times in found.items() if times}


def ranked(table: Path) -> set[tuple[int, str, int]]:
    rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    return {(row["id"], row["owner"], row["place"]) for row in rows}
