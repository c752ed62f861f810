"""What fails in Spark, read from its text. No Spark."""

from __future__ import annotations

import pytest

from panes.catalog import Catalog, Column, Sink
from panes.compile import Compiled, compile_query
from panes.declare import declare
from panes.functions import Functions
from panes.options import StreamOptions
from panes.spark.failures import failure

QUERY = "INSERT INTO out SELECT k, CAST( max(s) AS int) AS m, sum(1/(v-1)) FROM t GROUP BY tumblingwindow('ss', 10), k"
FAILED = "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure: Task 0 failed: "
TRACE = "\n\n\tat org.apache.spark.sql.Division.divideByZeroError(Division.scala:1)\nDriver stacktrace: SQLSTATE: XXKST"


@pytest.fixture
def compiled() -> Compiled:
    catalog = Catalog()
    columns = [Column(name, type_) for name, type_ in (("ts", "timestamp"), ("k", "string"), ("v", "int"))]
    columns.append(Column("s", "string"))
    catalog.streams.put(declare("t", columns, StreamOptions(time="ts", watermark="0 seconds"), streaming=True))
    catalog.sinks.put(Sink("out", {"connector": "noop"}))
    return compile_query(QUERY, catalog, Functions())


def quoted(line: str, part: str, state: str = "22012") -> str:
    """As Spark tells where a value failed."""
    carets = " " * line.index(part) + "^" * len(part)
    message = f"org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] By zero. SQLSTATE: {state}"
    return f"{FAILED}{message}\n== SQL (line 1, position 1) ==\n{line}\n{carets}\n{TRACE}"


def test_an_error_of_ours(compiled: Compiled) -> None:
    text = (
        f"{FAILED}Traceback …\npanes.errors.PanesError: stream-ended: it is over\nhint: Begin anew.\n SQLSTATE: 38000"
    )
    found = failure(text, compiled)
    assert str(found) == "stream-ended: it is over (INSERT INTO out)\nhint: Begin anew."


def test_an_error_that_spark_raises_for_us(compiled: Compiled) -> None:
    text = (
        f"{FAILED}[USER_RAISED_EXCEPTION] PanesError: value-failed: sum(v) is beyond BIGINT: 9 SQLSTATE: P0001{TRACE}"
    )
    assert str(failure(text, compiled)) == "value-failed: sum(v) is beyond BIGINT: 9 (INSERT INTO out)"


@pytest.mark.parametrize(
    ("line", "part", "place"),
    [
        ("CASE WHEN panes_keep THEN CAST((1 / (v - 1)) AS DOUBLE) END AS panes_c1", "1 / (v - 1)", "1/(v-1)"),
        ("CAST(col_1 AS INT) AS m", "CAST(col_1 AS INT)", "CAST( max(s) AS int)"),
    ],
)
def test_the_place_of_a_value(line: str, part: str, place: str, compiled: Compiled) -> None:
    found = failure(quoted(line, part), compiled)
    assert found is not None and found.span is not None
    assert (found.code, found.message) == ("value-failed", "[DIVIDE_BY_ZERO] By zero. (INSERT INTO out)")
    assert found.span.text == place


def test_a_value_without_a_place(compiled: Compiled) -> None:
    found = failure(quoted("a / b AS c", "a / b"), compiled)
    assert found is not None and found.span is None
    assert found.message == "[DIVIDE_BY_ZERO] By zero. In a / b (INSERT INTO out)"
    nowhere = failure(f"{FAILED}[CAST_OVERFLOW] It is beyond. SQLSTATE: 22003{TRACE}", compiled)
    assert nowhere is not None and nowhere.message == "[CAST_OVERFLOW] It is beyond. (INSERT INTO out)"


def test_what_a_check_in_the_plan_would_say_has_not_happened(compiled: Compiled) -> None:
    plan = "\n=== Streaming Query ===\nLogical Plan:\nProject [raise_error(PanesError: value-failed: sum(v) is beyond"
    assert failure(f"{FAILED}Python worker failed to connect back.{TRACE}{plan}", compiled) is None


def test_anything_else_is_sparks(compiled: Compiled) -> None:
    assert failure(quoted("a / b AS c", "a / b", state="58030"), compiled) is None
