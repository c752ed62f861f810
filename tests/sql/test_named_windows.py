"""The WINDOW clause is written out before anything else looks at it."""

from typing import Any

import pytest
from present import present

from panes.errors import PanesError
from panes.sql import parse


def select(sql: str) -> Any:
    (statement,) = parse(sql)
    return statement


@pytest.mark.parametrize("reference", ["OVER w", "OVER (w)", "over W", "OVER `w`"])
def test_written_out(reference: str) -> None:
    named = select(f"SELECT sum(a) {reference} FROM t WINDOW w AS (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING)")
    plain = select("SELECT sum(a) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING) FROM t")
    assert named.over_mappings == plain.over_mappings


def test_a_window_serves_many_calls_and_clauses() -> None:
    statement = select(
        "SELECT sum(a) OVER w, lag(b) OVER v FROM t WINDOW w AS (ORDER BY ts), v AS (PARTITION BY k) "
        "QUALIFY rank() OVER w = 1"
    )
    assert [call.name for call in statement.over_mappings.values()] == ["sum", "rank"]
    (stateful,) = statement.stateful_mappings.values()
    assert [key.sql for key in stateful.over.partition_by] == ["k"]


def test_after_filter_and_nulls() -> None:
    statement = select(
        "SELECT last(a) IGNORE NULLS OVER w, sum(a) FILTER (WHERE b) OVER w FROM t WINDOW w AS (ORDER BY ts)"
    )
    assert len(statement.over_mappings) == 2


def test_an_unaliased_output_keeps_the_written_name() -> None:
    (field,) = select("SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY ts)").select_fields
    assert field.name == "sum(a) OVER w"


def test_a_column_called_window_is_none() -> None:
    assert select("SELECT window, lag(a) FROM t").over_mappings == {}


@pytest.mark.parametrize(
    ("sql", "code", "place"),
    [
        ("SELECT sum(a) OVER v FROM t WINDOW w AS (ORDER BY ts)", "parse-error", "v"),
        ("SELECT sum(a) OVER w FROM t", "parse-error", "w"),
        ("SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY ts), W AS (ORDER BY a)", "duplicate-name", "W"),
        ("SELECT sum(a) OVER w FROM t WINDOW w AS ORDER BY ts", "parse-error", "w AS"),
        ("SELECT sum(a) OVER w FROM t WINDOW w AS (GROUP BY ts)", "parse-error", "GROUP BY"),
        (
            "SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY ts ROWS 1 FOLLOWING)",
            "over-arguments",
            "ROWS 1 FOLLOWING",
        ),
        (
            "SELECT count(*) FROM t GROUP BY countwindow(2) OVER w WINDOW w AS (PARTITION BY k)",
            "over-not-allowed",
            "OVER w",
        ),
    ],
)
def test_refused(sql: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        select(sql)
    assert (caught.value.code, present(caught.value.span).text) == (code, place)
