"""What stands after OVER: partitions, order, frame, condition."""

from typing import Any

import pytest
from present import present

from panes.errors import PanesError
from panes.frames import Edge, Unit, frame_sql
from panes.source import Source
from panes.sql.over import Bound, Over, over_length, parse_over
from panes.sql.tokens import tokenize

PRECEDING, CURRENT, FOLLOWING = Edge.PRECEDING, Edge.CURRENT_ROW, Edge.FOLLOWING
SECONDS = "RANGE BETWEEN INTERVAL"
FIRST, LAST = Edge.UNBOUNDED_PRECEDING, Edge.UNBOUNDED_FOLLOWING


def over(inside: str) -> Over:
    return parse_over(tokenize(Source(f"OVER ({inside})")))


def bound(one: Bound) -> Any:
    return (one.edge, one.offset.sql if one.offset is not None else None)


@pytest.mark.parametrize(
    ("frame", "start", "end"),
    [
        ("UNBOUNDED PRECEDING", (FIRST, None), (CURRENT, None)),
        ("3 PRECEDING", (PRECEDING, "3"), (CURRENT, None)),
        ("0 PRECEDING", (PRECEDING, "0"), (CURRENT, None)),
        ("CURRENT ROW", (CURRENT, None), (CURRENT, None)),
        ("BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", (FIRST, None), (LAST, None)),
        ("BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING", (FIRST, None), (PRECEDING, "2")),
        ("BETWEEN 3 PRECEDING AND 1 PRECEDING", (PRECEDING, "3"), (PRECEDING, "1")),
        ("BETWEEN 2 PRECEDING AND 2 PRECEDING", (PRECEDING, "2"), (PRECEDING, "2")),
        ("BETWEEN 3 PRECEDING AND 2 FOLLOWING", (PRECEDING, "3"), (FOLLOWING, "2")),
        ("BETWEEN CURRENT ROW AND CURRENT ROW", (CURRENT, None), (CURRENT, None)),
        ("BETWEEN CURRENT ROW AND 2 FOLLOWING", (CURRENT, None), (FOLLOWING, "2")),
        ("BETWEEN 1 FOLLOWING AND 2 FOLLOWING", (FOLLOWING, "1"), (FOLLOWING, "2")),
        ("BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING", (FOLLOWING, "1"), (LAST, None)),
        ("between 3 preceding and current row", (PRECEDING, "3"), (CURRENT, None)),
    ],
)
@pytest.mark.parametrize("unit", ["ROWS", "RANGE"])
def test_frames(unit: str, frame: str, start: tuple[Edge, str | None], end: tuple[Edge, str | None]) -> None:
    read = present(over(f"ORDER BY ts {unit} {frame}").frame)
    assert (read.unit, bound(read.start), bound(read.end)) == (Unit[unit], start, end)


@pytest.mark.parametrize("offset", ["INTERVAL 10 SECONDS", "INTERVAL '1' DAY", "1.5", "2 * 3", "'2'"])
def test_range_offsets_are_constants(offset: str) -> None:
    for frame in (f"BETWEEN {offset} PRECEDING AND CURRENT ROW", f"{offset} PRECEDING"):
        assert bound(present(over(f"ORDER BY ts RANGE {frame}").frame).start) == (PRECEDING, offset)


@pytest.mark.parametrize("offset", ["1 + 1", "(2)", "2L", "CAST(2 AS INT)", "4 DIV 2", "2 * (3 - 2)"])
def test_rows_offsets_are_computed(offset: str) -> None:
    read = over(f"ORDER BY ts ROWS BETWEEN {offset} PRECEDING AND {offset} FOLLOWING").frame
    assert (bound(present(read).start), bound(present(read).end)) == ((PRECEDING, "2"), (FOLLOWING, "2"))


@pytest.mark.parametrize(
    "frame",
    [
        "INTERVAL 5 SECONDS PRECEDING AND INTERVAL 1 SECOND PRECEDING",
        "INTERVAL 1 SECOND FOLLOWING AND INTERVAL 5 SECONDS FOLLOWING",
        "INTERVAL 1 MINUTE PRECEDING AND INTERVAL 60 SECONDS PRECEDING",
        "INTERVAL 1 MONTH PRECEDING AND INTERVAL 1 MONTH PRECEDING",
        "INTERVAL 1 MONTH PRECEDING AND INTERVAL 28 DAYS PRECEDING",
        "make_dt_interval(0, 0, 0, 1) PRECEDING AND INTERVAL 1 DAY PRECEDING",
        "1.5 PRECEDING AND 1 PRECEDING",
        "0.0 PRECEDING AND 0 FOLLOWING",
    ],
)
def test_range_frames_that_begin_before_they_end(frame: Any) -> None:
    assert present(over(f"ORDER BY ts RANGE BETWEEN {frame}").frame).unit is Unit.RANGE


@pytest.mark.parametrize(
    ("key", "descending", "nulls_first", "sql"),
    [
        ("a", False, True, "a"),
        ("a ASC", False, True, "a"),
        ("a DESC", True, False, "a DESC"),
        ("a NULLS FIRST", False, True, "a"),
        ("a NULLS LAST", False, False, "a NULLS LAST"),
        ("a DESC NULLS FIRST", True, True, "a DESC NULLS FIRST"),
        ("a desc nulls last", True, False, "a DESC"),
    ],
)
def test_order_keys(key: str, descending: bool, nulls_first: bool, sql: str) -> None:
    (read,) = over(f"ORDER BY {key}").order_by
    assert (read.expr.sql, read.descending, read.nulls_first, read.sql) == ("a", descending, nulls_first, sql)


def test_all_parts() -> None:
    read = over("PARTITION BY k, upper(b) ORDER BY ts, a + 1 DESC ROWS 1 PRECEDING")
    assert [key.sql for key in read.partition_by] == ["k", "upper(b)"]
    assert [key.sql for key in read.order_by] == ["ts", "a + 1 DESC"]
    assert present(read.order_span).text == "ORDER BY ts, a + 1 DESC"
    assert present(present(read.frame).span).text == "ROWS 1 PRECEDING"
    assert frame_sql(present(read.frame).map(lambda offset: offset.sql)) == "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"
    assert not read.is_empty


@pytest.mark.parametrize(
    ("inside", "partition_by", "when"),
    [
        ("WHEN a > 0", [], "a > 0"),
        ("PARTITION BY k WHEN a > 0 AND b", ["k"], "a > 0 AND b"),
        ("PARTITION BY CASE WHEN a THEN b END", ["CASE WHEN a THEN b END"], None),
        ("PARTITION BY CASE WHEN a THEN b END WHEN c", ["CASE WHEN a THEN b END"], "c"),
        ("WHEN CASE WHEN a THEN b END", [], "CASE WHEN a THEN b END"),
    ],
)
def test_when(inside: str, partition_by: list[str], when: str | None) -> None:
    read = over(inside)
    assert [key.sql for key in read.partition_by] == partition_by
    assert (read.when.sql if read.when is not None else None) == when


@pytest.mark.parametrize("sql", ["OVER w", "OVER (w)", "OVER `w`", "OVER (W)"])
def test_named(sql: str) -> None:
    assert present(parse_over(tokenize(Source(sql))).name).lower() == "w"


def test_empty() -> None:
    assert over("").is_empty


@pytest.mark.parametrize("inside", ["PARTITION BY rows", "ORDER BY range DESC", "PARTITION BY a, rows ORDER BY rows"])
def test_columns_called_rows_and_range(inside: str) -> None:
    assert over(inside).frame is None


@pytest.mark.parametrize(
    ("sql", "length"), [("OVER (a) b", 4), ("OVER w b", 2), ("OVER", 0), ("a OVER w", 0), ("OVER 1", 0)]
)
def test_over_length(sql: str, length: int) -> None:
    assert over_length(tokenize(Source(sql)), 0) == length


@pytest.mark.parametrize(
    ("inside", "code", "place"),
    [
        ("ORDER BY ts ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW", "over-arguments", "ROWS BETWEEN"),
        ("ORDER BY ts ROWS UNBOUNDED FOLLOWING", "over-arguments", "ROWS UNBOUNDED"),
        ("ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED PRECEDING", "over-arguments", "ROWS BETWEEN"),
        ("ORDER BY ts ROWS 1 FOLLOWING", "over-arguments", "ROWS 1"),
        ("ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 PRECEDING", "over-arguments", "ROWS BETWEEN"),
        ("ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING", "over-arguments", "ROWS BETWEEN"),
        ("ORDER BY ts RANGE BETWEEN 2 FOLLOWING AND 1 FOLLOWING", "over-arguments", "RANGE BETWEEN"),
        (f"ORDER BY ts {SECONDS} 1 SECOND PRECEDING AND INTERVAL 5 SECONDS PRECEDING", "over-arguments", SECONDS),
        (f"ORDER BY ts {SECONDS} 5 SECONDS FOLLOWING AND INTERVAL 1 SECOND FOLLOWING", "over-arguments", SECONDS),
        (f"ORDER BY ts {SECONDS} 1 MINUTE PRECEDING AND INTERVAL 90 SECONDS PRECEDING", "over-arguments", SECONDS),
        (f"ORDER BY ts {SECONDS} 1 MONTH PRECEDING AND INTERVAL 30 DAYS PRECEDING", "over-arguments", SECONDS),
        ("ORDER BY a RANGE BETWEEN 1 PRECEDING AND 1 + 1 PRECEDING", "over-arguments", "RANGE BETWEEN"),
        ("ORDER BY a RANGE BETWEEN 1.5 FOLLOWING AND 1 FOLLOWING", "over-arguments", "RANGE BETWEEN"),
        ("ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 + 1 PRECEDING", "over-arguments", "ROWS BETWEEN"),
        ("ORDER BY ts RANGE INTERVAL -1 SECOND PRECEDING", "over-arguments", "INTERVAL -1 SECOND"),
        ("ORDER BY a RANGE 1 - 2 PRECEDING", "over-arguments", "1 - 2"),
        ("ORDER BY a RANGE NULL PRECEDING", "over-arguments", "NULL"),
        ("ORDER BY ts ROWS 2147483648 PRECEDING", "over-arguments", "2147483648"),
        ("ORDER BY ts ROWS 1 - 2 PRECEDING", "over-arguments", "1 - 2"),
        ("ORDER BY ts ROWS 4 / 2 PRECEDING", "over-arguments", "4 / 2"),
        ("ORDER BY ts ROWS a PRECEDING", "over-arguments", "a"),
        ("ORDER BY ts ROWS -1 PRECEDING", "over-arguments", "-1"),
        ("ORDER BY ts ROWS 1.5 PRECEDING", "over-arguments", "1.5"),
        ("ORDER BY ts ROWS INTERVAL 1 DAY PRECEDING", "over-arguments", "INTERVAL 1 DAY"),
        ("ORDER BY ts RANGE a PRECEDING", "over-arguments", "a"),
        ("ORDER BY ts ROWS BETWEEN 1 PRECEDING", "parse-error", "ROWS BETWEEN 1 PRECEDING"),
        ("ORDER BY ts ROWS PRECEDING", "parse-error", "PRECEDING"),
        ("ORDER BY ts ROWS 1", "parse-error", "1"),
        ("PARTITION BY", "parse-error", "PARTITION BY"),
        ("ORDER BY", "parse-error", "ORDER BY"),
        ("WHEN", "parse-error", "WHEN"),
        ("PARTITION BY a PARTITION BY b", "parse-error", "PARTITION BY"),
        ("ORDER BY a ORDER BY b", "parse-error", "ORDER BY"),
        ("PARTITION BY a,", "parse-error", "a"),
        ("a + b", "parse-error", "a"),
        ("w ORDER BY ts", "parse-error", "w"),
    ],
)
def test_refused(inside: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        over(inside)
    assert caught.value.code == code
    assert present(caught.value.span).text.startswith(place)
