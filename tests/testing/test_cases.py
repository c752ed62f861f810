"""Test files as cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.catalog import Catalog, Column, Stream
from panes.errors import PanesError
from panes.functions import Functions
from panes.testing.cases import Case, Way, cases_of, way_of
from panes.testing.inputs import CaseError, input_of, table_of_block
from panes.testing.markdown import blocks_of
from panes.testing.queries import Query, query_of

STREAM = "CREATE STREAM t (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts);"
SQL = f"```sql\n{STREAM}\nSELECT k FROM t;\n```\n"
INPUT = "```input t\nk\na\n```\n"
OUTPUT = "```output\nk\na\n```\n"


def cases(folder: Path, text: str) -> list[Case]:
    file = folder / "test_it.md"
    file.write_text(text, encoding="utf-8")
    return cases_of(file)


def query(case: Case, **values: str) -> Query:
    return query_of(case, Catalog(), Functions(), values)


def test_a_case_is_called_what_its_heading_says(tmp_path: Path) -> None:
    found = cases(tmp_path, f"# One\n{SQL}{INPUT}{OUTPUT}# Two\n{INPUT}{OUTPUT}{INPUT}{OUTPUT}")
    assert [case.name for case in found] == ["One", "Two", "Two (2)"]
    assert [len(case.inputs) for case in found] == [1, 1, 1]


def test_several_streams_and_expectations_are_one_case(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, f"{SQL}{INPUT}```input u\nk\n```\n{OUTPUT}```output table\n```\n```counters\n```\n")
    assert (len(case.inputs), [block.language for block in case.expected]) == (2, ["output", "output", "counters"])


def test_prose_and_other_blocks_are_no_cases(tmp_path: Path) -> None:
    assert cases(tmp_path, "# Words\n```python\n1 / 0\n```\n```sql fragment\nSELECT …\n```\n") == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"{SQL}{INPUT}```ouput\n```\n", "nothing is expected"),
        (INPUT, "no sql block"),
        (OUTPUT, "no sql block"),
        (f"{SQL}{INPUT}```output no-flusch\n```\n", "no-flusch says nothing"),
        (f"{SQL}{INPUT}```output kil=1\n```\n", "kil=1 says nothing"),
        ("```sql\n", "nothing closes"),
        ("```sql file=x.sql\n```\n", "file=x.sql says nothing"),
    ],
)
def test_a_file_that_would_test_nothing_is_refused(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(CaseError, match=what):
        cases(tmp_path, text)


def test_ways_count_from_one() -> None:
    (block,) = blocks_of("```output table no-flush restart=1,3 kill=2 shards=7\n```")
    assert way_of(block) == Way(flush=False, restarts=(0, 2), kills=(1,), shards=7)
    for wrong in ("restart=0", "restart=x", "shards=1,2"):
        (block,) = blocks_of(f"```output {wrong}\n```")
        with pytest.raises(CaseError):
            way_of(block)


def test_the_clock_has_a_line_for_each_micro_batch(tmp_path: Path) -> None:
    clock = "```clock\n2024-01-01 00:00:00\n2024-01-01 00:00:05\n```\n"
    (case,) = cases(tmp_path, SQL + INPUT + clock + OUTPUT)
    assert case.clock == ["2024-01-01 00:00:00", "2024-01-01 00:00:05"]


def test_the_query_of_a_case_is_the_last_one_and_knows_what_stands_before(tmp_path: Path) -> None:
    text = f"{SQL}```sql\nCREATE VIEW w AS SELECT v FROM t;\nSELECT k FROM t;\nSELECT v FROM w;\n```\n{OUTPUT}"
    (case,) = cases(tmp_path, text)
    found = query(case)
    assert (found.text, [view.name for view in found.views], list(found.streams)) == ("SELECT v FROM w", ["w"], ["t"])


SCRIPT = """CREATE STREAM t (k STRING, v INT) WITH (connector = 'kafka', bootstrap_servers = 'b', topic = '${topic}',
  format = 'json');
CREATE SINK totals WITH (connector = 'noop');
INSERT INTO totals SELECT k FROM t;
INSERT INTO totals SELECT v FROM t;
SELECT 1 AS one;
"""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("query=totals", "INSERT INTO totals SELECT k FROM t"),
        ("query=totals-2", "INSERT INTO totals SELECT v FROM t"),
        ("query=SELECT-1", "SELECT 1 AS one"),
    ],
)
def test_a_query_of_the_users_own_script(tmp_path: Path, words: str, text: str) -> None:
    (tmp_path / "pipeline.sql").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (case,) = cases(tmp_path / "tests", f"```sql script=../pipeline.sql set=topic=x {words}\n```\n{OUTPUT}")
    found = query(case)
    assert found.text == text
    assert found.streams["t"].options["topic"] == "x"


def test_a_query_over_a_script(tmp_path: Path) -> None:
    (tmp_path / "pipeline.sql").write_text(SCRIPT, encoding="utf-8")
    (case,) = cases(tmp_path, f"```sql script=pipeline.sql\nSELECT k, v FROM t\n```\n{OUTPUT}")
    assert query(case, topic="y").text == "SELECT k, v FROM t"


@pytest.mark.parametrize(
    ("words", "what"),
    [("", "totals, totals-2, select-1"), ("query=totls", "Did you mean totals"), ("query=x script=no.sql", "no.sql")],
)
def test_which_query_has_to_be_clear(tmp_path: Path, words: str, what: str) -> None:
    (tmp_path / "pipeline.sql").write_text(SCRIPT.replace("${topic}", "x"), encoding="utf-8")
    script = "" if "script=" in words else "script=pipeline.sql "
    (case,) = cases(tmp_path, f"```sql {script}{words}\n```\n{OUTPUT}")
    with pytest.raises(CaseError, match=what):
        query(case)


def test_sql_that_is_refused_names_the_script(tmp_path: Path) -> None:
    (tmp_path / "pipeline.sql").write_text("SELECT FROM", encoding="utf-8")
    (case,) = cases(tmp_path, f"```sql script=pipeline.sql\n```\n{OUTPUT}")
    with pytest.raises(PanesError, match=r"in pipeline\.sql"):
        query(case)


COMPUTED = Stream("t", (Column("k", "string"), Column("v", "int"), Column("w", "int", computed="v + 1")))


def test_columns_that_are_not_named_are_null() -> None:
    (block,) = blocks_of("```input t\nv\n1\n---\nNULL\n```")
    assert input_of(block, COMPUTED).rows() == [[(None, 1)], [(None, None)]]


@pytest.mark.parametrize(
    ("text", "what"),
    [("x\n1", "no column x"), ("w\n1", "no column w"), ("k | v\na", "1 cells for 2"), ("v\nmany", "many is no int")],
)
def test_rows_that_a_stream_cannot_bring(text: str, what: str) -> None:
    (block,) = blocks_of(f"```input t\n{text}\n```")
    with pytest.raises(CaseError, match=what):
        input_of(block, COMPUTED).rows()


def test_a_table_has_types() -> None:
    (block,) = blocks_of("```table sizes\nk STRING | size decimal(10,2)\na | 1.50\n```")
    table = table_of_block(block)
    assert (table.schema, table.rows) == ("`k` string, `size` decimal(10,2)", (("a", "1.50"),))
    (block,) = blocks_of("```table sizes\nk\na\n```")
    with pytest.raises(CaseError, match="no type"):
        table_of_block(block)
