"""Columns of CREATE STREAM that are computed, or a record's metadata."""

import pytest
from present import present

from panes.errors import PanesError
from panes.sql import parse
from panes.sql.statements import ColumnDef, CreateStream


def columns(text: str) -> tuple[ColumnDef, ...]:
    (statement,) = parse(f"CREATE STREAM s ({text})")
    assert isinstance(statement, CreateStream)
    return statement.columns


def test_a_computed_column() -> None:
    payload, ts = columns("payload STRUCT<at: STRING, n: INT>, ts TIMESTAMP AS to_timestamp( payload.at ) COMMENT 'x'")
    assert (payload.computed, payload.metadata) == (None, None)
    assert (ts.type, present(ts.computed).sql) == ("timestamp", "to_timestamp(payload.at)")


def test_commas_and_angles_in_expressions() -> None:
    found = columns("m MAP<STRING, INT>, a INT, b BOOLEAN AS a < 1, c BOOLEAN AS a > 1 AND a <> 3, d INT AS nvl(a, 0)")
    assert [one.name for one in found] == ["m", "a", "b", "c", "d"]
    assert [present(one.computed).sql for one in found[2:]] == ["a < 1", "a > 1 AND a <> 3", "nvl(a, 0)"]


def test_a_computed_column_reads_those_before_it() -> None:
    found = columns("a INT, b INT AS a + 1, c INT AS b + z, z INT, d INT AS size(transform(array(c), x -> x + A))")
    assert [one.name for one in found] == ["a", "b", "c", "z", "d"]


def test_casts_in_expressions() -> None:
    (_, ts) = columns("ms BIGINT, ts TIMESTAMP AS CAST(ms / 1000 AS TIMESTAMP)")
    assert present(ts.computed).sql == "CAST(ms / 1000 AS TIMESTAMP)"


def test_metadata() -> None:
    found = columns("offset BIGINT METADATA, k STRING METADATA FROM 'Key', partition INT METADATA COMMENT 'x'")
    assert [(one.name, one.metadata) for one in found] == [
        ("offset", "offset"),
        ("k", "key"),
        ("partition", "partition"),
    ]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a INT AS", "parse-error", "AS"),
        ("a AS b", "parse-error", "a AS b"),
        ("a INT, b INT AS a +", "parse-error", "+"),
        ("a INT, b INT AS a AS c", "parse-error", "a AS c"),
        ("a INT, b INT AS c + 1", "unknown-column", "c"),
        ("a INT AS b.x, b STRUCT<x: INT> AS named_struct('x', 1)", "unknown-column", "b.x"),
        ("a INT AS a + 1", "unknown-column", "a"),
        ("a INT, b INT AS lag(a)", "unsupported-clause", "lag(a)"),
        ("a INT, b INT AS 1 + sum(a)", "unsupported-clause", "sum(a)"),
        ("a INT, b INT AS rank() OVER (ORDER BY a)", "unsupported-clause", "rank() OVER (ORDER BY a)"),
        ("a INT, b INT AS tumblingwindow('ss', 1)", "unsupported-clause", "tumblingwindow('ss', 1)"),
        ("a INT, b INT AS (SELECT max(x) FROM t)", "unsupported-clause", "max(x)"),
        ("a INT, b INT AS (SELECT x FROM t)", "unsupported-clause", "SELECT"),
        ("a INT METADATA FROM", "parse-error", "METADATA FROM"),
        ("a INT METADATA FROM key", "parse-error", "METADATA FROM key"),
        ("a INT METADATA key", "parse-error", "METADATA key"),
    ],
)
def test_refused(text: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        columns(text)
    assert (caught.value.code, present(caught.value.span).text) == (code, place)
