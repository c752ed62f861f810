"""Random whole queries on Spark: as a stream, as a batch, as the double runs them, and as the oracle says.

What the double says of a query is so held against Spark, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.catalog import View
from panes.testing import Stream, replay

from .choices import Choices
from .double.engine import no_spark
from .double.types import spark_type
from .fuzz import attempt, random_seed
from .law import CHANGE, Case, added_up_rows, compare, known_names, known_rows
from .recipes import Generated, generated
from .rows import Cut, Row

pytestmark = pytest.mark.spark
MOST_ROWS, MOST_BATCHES = 12, 2  # a micro-batch takes a second


@pytest.mark.parametrize("number", range(20))
def test_queries_on_spark(spark: SparkSession, number: int) -> None:
    check_on_spark(spark, small(number))


@pytest.mark.slow
def test_many_queries_on_spark(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    """300 of them, other ones in every run; `--seed` repeats one."""
    first = request.config.getoption("--seed")
    first = random_seed() if first is None else first
    wrong: dict[int, str] = {}
    for number, seed in enumerate(range(first, first + 300)):
        if number % 20 == 0:
            print(f"\n{number} of 300, from seed {first}")
        try:
            check_on_spark(spark, small(seed))
        except Exception as error:
            wrong[seed] = f"{type(error).__name__}: {error}"
            print(f"seed {seed}: {wrong[seed]}")
    assert not wrong


def small(seed: int) -> Generated:
    """The query of a seed over a few rows in two micro-batches."""
    made = generated(Choices(seed), Choices(~seed & 0xFFFFFFFF))
    case = made.case
    cut = next((one for one in case.cuts), Cut(()))
    return replace(made, case=replace(case, rows=case.rows[:MOST_ROWS], cuts=[cut]))


def check_on_spark(spark: SparkSession, made: Generated) -> None:
    """Refused here as there, and else the same rows and types by all of them."""
    case = made.case
    with no_spark():
        refused, wrong = attempt(made)
        assert wrong is None, wrong
        if refused is not None:
            return
        double = case.batch(case.rows)
    result = batch_on_spark(spark, case)
    expected = made.expected()
    if expected is not None:
        compare("batch", result, "oracle", known_rows(expected), known_names(expected))
    compare("batch", result, "double", added_up_rows(double.to_pylist()))
    done = stream_on_spark(spark, case)
    compare("stream", added_up_rows(done.rows), "batch", plain(result))
    assert done.counter("late_rows") == 0
    types = [spark_type(one.type) for one in double.schema]
    given = ",".join(f"{name}:{type_}" for name, type_ in zip(double.column_names, types, strict=True))
    assert set(done.schemas) == {f"struct<{given}>"}


def batch_on_spark(spark: SparkSession, case: Case) -> list[Row]:
    engine = Engine(spark, shards=2)
    schema = ", ".join(f"{name} {type_}" for name, type_ in case.stream.types.items())
    rows = [tuple(row[name] for name in case.stream.types) for row in case.rows]
    engine.stream("t", spark.createDataFrame(rows, schema), **case.stream.options(False))
    setup(engine, case)
    return added_up_rows(engine.sql(case.sql).toArrow().to_pylist())


def stream_on_spark(spark: SparkSession, case: Case) -> Any:
    sizes = [sum(parts) for parts in case.cuts[0].sizes]
    half = min(sizes[0] if sizes else 0, len(case.rows))
    names = [name for name in case.stream.types if name != CHANGE]
    first = [CHANGE] if case.stream.changelog else []
    rows = [tuple(row[name] for name in (*first, *names)) for row in case.rows]
    schema = ", ".join(f"{name} {case.stream.types[name]}" for name in names)
    options = case.stream.options(True)
    stream = Stream(schema, [rows[:half], rows[half:]][:MOST_BATCHES], **options)
    restarts = [0] if case.cuts[0].restarts else []
    return replay(
        case.sql,
        spark=spark,
        restart_after=restarts,
        shards=case.cuts[0].shards,
        setup=lambda engine: setup(engine, case),
        t=stream,
    )


def setup(engine: Engine, case: Case) -> None:
    """The tables and views of a case."""
    for name, table in case.tables.items():
        engine.spark.createDataFrame(table).createOrReplaceTempView(name)
    for name, sql in case.views.items():
        engine.catalog.views.put(View(name, sql))


def plain(rows: list[Row]) -> list[Row]:
    """Times as `replay` gives them: without a zone."""
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value
