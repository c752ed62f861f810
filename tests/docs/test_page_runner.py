"""The runner itself, on tiny pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from panes.catalog import View
from panes.testing.inputs import Input
from panes.testing.markdown import blocks_of, rewrite
from panes.testing.queries import Query

from .page_runner import Batches, PageError, check, examples_of, play

STREAM = "```sql\nCREATE STREAM s (a INT);\n```\n"


def outcome_of(page: Path, update: bool = False, number: int = -1) -> None:
    """Check one example of a page, the last one unless told otherwise."""
    check(page, play(page.read_text())[number], None, update)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


def test_declarations_stay_for_the_rest_of_the_page(page: Path) -> None:
    page.write_text(STREAM + "```sql\nSELECT lag(a) FROM s\n```\n")
    outcome_of(page)


def test_a_refused_block_fails(page: Path) -> None:
    page.write_text(STREAM + "```sql\nSELECT b FROM s\n```\n")
    with pytest.raises(PageError, match="unknown-column"):
        outcome_of(page)


def test_update_does_not_hide_a_refused_block(page: Path) -> None:
    page.write_text(STREAM + "```sql\nSELECT b FROM s\n```\n```plan\nold\n```\n")
    with pytest.raises(PageError, match="unknown-column"):
        outcome_of(page, update=True)
    assert "old" in page.read_text()


def test_an_error_that_does_not_come_fails(page: Path) -> None:
    page.write_text(STREAM + "```sql\nSELECT a FROM s\n```\n```error\nunknown-column: …\n```\n")
    with pytest.raises(PageError, match="there is none"):
        outcome_of(page, update=True)


@pytest.mark.parametrize(
    ("sql", "block", "now"),
    [
        ("SELECT a FROM s", "plan", "SparkQuery_2"),
        ("SELECT a FROM s", "plan logical", "SparkQuery_2"),
        ("SELECT a FROM s", "plan physical", "engine=spark"),
        ("SELECT a FROM s", "plan json", '"node": "SparkQuery"'),
        ("EXPLAIN SELECT a FROM s", "plan physical", "engine=spark"),
        ("EXPLAIN FORMAT JSON SELECT a FROM s", "plan json", '"node": "SparkQuery"'),
        ("SELECT b FROM s", "error", "unknown-column: there is no column b"),
        ("SHOW STREAMS; DESCRIBE s", "listing", "column | type"),
    ],
)
def test_an_outdated_block_fails_and_update_fixes_it(page: Path, sql: str, block: str, now: str) -> None:
    page.write_text(STREAM + f"```sql\n{sql}\n```\n\nProse.\n\n```{block}\nold\n```\n\nThe end.\n")
    with pytest.raises(PageError, match="out of date"):
        outcome_of(page)
    outcome_of(page, update=True)
    outcome_of(page)
    assert now in page.read_text()
    assert page.read_text().endswith("```\n\nThe end.\n")


def test_update_fills_an_empty_block(page: Path) -> None:
    page.write_text(STREAM + "```sql\nSELECT b FROM s\n```\n```error\n```\n")
    outcome_of(page, update=True)
    outcome_of(page)


def test_one_sql_block_can_have_several_plans(page: Path) -> None:
    page.write_text(STREAM + "```sql\nSELECT a FROM s\n```\n```plan logical\n```\n```plan physical\n```\n")
    outcome_of(page, update=True)
    outcome_of(page)
    logical, physical = blocks_of(page.read_text())[2:]
    assert "engine=spark" not in logical.text
    assert "engine=spark" in physical.text


def test_fragments_and_files_are_not_run(page: Path) -> None:
    page.write_text("```sql fragment\nSELECT …\n```\n```sql file=x.sql\nSELECT …\n```\n```python\n1 / 0\n```\n")
    assert examples_of(page.read_text()) == []


def test_python_runs_in_one_namespace(page: Path) -> None:
    page.write_text("```python run\nx = 2\n```\n```python run\nprint(x + 1)\n```\n```printed\n3\n```\n")
    outcome_of(page)


def test_python_that_fails_fails(page: Path) -> None:
    page.write_text("```python run\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        outcome_of(page)


def test_console_runs_panes_on_the_files_of_the_page(page: Path) -> None:
    page.write_text("```sql file=one.sql\nSELECT 1 AS x\n```\n```console\n$ panes check one.sql\nold\n```\n")
    outcome_of(page, update=True)
    assert "$ panes check one.sql\none.sql: OK (1 query)\n```" in page.read_text()


def test_console_runs_nothing_else(page: Path) -> None:
    page.write_text("```console\n$ echo hello\n```\n")
    with pytest.raises(PageError, match="echo"):
        outcome_of(page)


@pytest.mark.parametrize("words", ["plans", "", "plan both", "python later", "sql later"])
def test_a_block_that_nobody_would_look_at_is_refused(words: str) -> None:
    with pytest.raises(PageError):
        examples_of(STREAM + f"```{words}\n```\n")


def test_an_expectation_needs_something_before_it() -> None:
    with pytest.raises(PageError, match="line 1"):
        examples_of("```plan\n```\n")


def test_an_open_block_is_refused() -> None:
    with pytest.raises(ValueError, match="line 2"):
        blocks_of("# Title\n```sql\nSELECT 1\n")


def test_longer_fences_hold_shorter_ones() -> None:
    (block,) = blocks_of("````markdown\n```sql\nSELECT 1\n```\n````\n")
    assert block.text == "```sql\nSELECT 1\n```"


def test_rewrite_touches_one_block(page: Path) -> None:
    page.write_text("a\n```text\n1\n2\n```\nb\n```text\n3\n```\nc\n")
    rewrite(page, 0, "x")
    assert page.read_text() == "a\n```text\nx\n```\nb\n```text\n3\n```\nc\n"


RUN = """```sql
CREATE VIEW doubled AS SELECT a * 2 AS d FROM s
```
```sql
SELECT d FROM doubled
```
```input s
a
1
NULL
---
3
```
```output
d
2
NULL
---
6
```
"""


def double(query: Query, inputs: Mapping[str, Input]) -> Batches:
    """Stands for Spark."""
    assert (query.text, query.views) == ("SELECT d FROM doubled", (View("doubled", "SELECT a * 2 AS d FROM s"),))
    assert inputs["s"].stream.name == "s" and inputs["s"].columns == ("a",)
    return [[{"d": None if a is None else int(a) * 2} for (a,) in rows][::-1] for rows in inputs["s"].batches]


def test_output_compares_the_rows_of_each_micro_batch_in_any_order(page: Path) -> None:
    page.write_text(STREAM + RUN)
    outcome = play(page.read_text())[-1]
    assert outcome.example.needs_spark
    check(page, outcome, double, update=False)
    assert page.read_text() == STREAM + RUN


def test_outdated_output_is_updated(page: Path) -> None:
    page.write_text(STREAM + RUN.replace("6", "7"))
    with pytest.raises(PageError, match="out of date"):
        check(page, play(page.read_text())[-1], double, update=False)
    check(page, play(page.read_text())[-1], double, update=True)
    assert "d\nNULL\n2\n---\n6\n```" in page.read_text()


def test_a_micro_batch_without_rows_is_an_empty_part(page: Path) -> None:
    page.write_text(STREAM + "```sql\nSELECT a FROM s\n```\n```input s\na\n1\n```\n```output\n```\n")
    check(page, play(page.read_text())[-1], lambda sql, inputs: [[], [{"a": 1}], []], update=True)
    assert "```output\na\n---\n1\n---\n```" in page.read_text()
    check(page, play(page.read_text())[-1], lambda sql, inputs: [[], [{"a": 1}], []], update=False)
