"""How the queries of a script are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from panes.functions import Functions
from panes.spark.report import Report
from panes.spark.rows import ShowRows
from panes.why.plan import QueryPlan


@dataclass(frozen=True)
class Run:
    """How a script's queries are run: `shards` is None where none was asked for, `stopped` says when to stop.

    `every` is the time between two micro-batches. `failed` is told of each query that fails; the others run on if they
    are to `keep_going`. `rows` gets the rows of each SELECT, `plans` what each query can wait for.
    """

    spark: SparkSession
    frames: Mapping[str, DataFrame]
    shards: int | None
    functions: Functions
    once: bool
    flush: bool
    report: Callable[[Report], None]
    stopped: Callable[[], bool]
    every: str | None = None
    keep_going: bool = False
    failed: Callable[[str, Exception], None] = lambda query, error: None
    rows: ShowRows = lambda rows: None
    started: Callable[[list[str]], None] = lambda queries: None
    plans: Callable[[Mapping[str, QueryPlan]], None] = lambda plans: None
