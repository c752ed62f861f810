"""The registries: names without case, each once, and everything that the language promises is there."""

import re
from pathlib import Path

import pytest
from present import present
from pyspark.sql import functions as spark

from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.refused import REFUSED
from panes.functions.registry import Registry
from panes.functions.taken import BOUNDS, WINDOWS, taken
from panes.sql.windows import USAGE


def test_names_have_no_case() -> None:
    registry = Registry[int]("number")
    registry.register("One", 1)
    assert (registry.get("ONE"), registry.get("two"), "oNe" in registry, 1 in registry) == (1, None, True, False)
    assert list(registry) == ["one"]


def test_a_name_is_registered_once() -> None:
    registry = Registry[int]("number")
    registry.register("one", 1)
    with pytest.raises(PanesError) as caught:
        registry.register("ONE", 2)
    assert caught.value.code == "duplicate-name"
    assert registry.get("one") == 1


def test_every_window_and_bound_is_taken() -> None:
    assert frozenset(USAGE) == WINDOWS
    assert all(taken(name) for name in (*WINDOWS, *BOUNDS, *Functions().aggregates, *Functions().over))
    assert not any(taken(name) for name in ("streak", "total", "count_calls", "top", "format_row"))


STATEFUL = "lag latest changed_col had_changed acc_sum acc_avg acc_min acc_max acc_count row_number"
AGGREGATES = """
    count sum avg min max stddev stddev_samp stddev_pop var_samp var_pop variance first last last_row any_value min_by
    max_by collect_list array_agg collect_set bool_and bool_or approx_count_distinct median percentile
    percentile_approx approx_percentile
"""
RANKS = "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value"


def test_everything_promised_is_there() -> None:
    functions = Functions()
    assert set(STATEFUL.split()) <= set(functions.stateful.names())
    assert set(functions.over) == set(RANKS.split())
    assert set(AGGREGATES.split()) <= set(functions.aggregates)
    assert {"first_value", "last_value"} <= set(functions.aggregates)


def test_what_spark_alone_has_is_not_ours() -> None:
    functions = Functions()
    assert not [name for name in REFUSED if name in functions.aggregates]


def test_every_aggregate_of_spark_is_known() -> None:
    """One that is not would be taken for a scalar function. Some of PySpark's are no functions of SQL."""
    known = {*Functions().aggregates, *REFUSED, "listagg_distinct", "product", "string_agg_distinct", "sum_distinct"}
    aggregates = [name for name in spark.__all__ if "Aggregate function" in (getattr(spark, name).__doc__ or "")]
    assert len(aggregates) > 50 and not set(aggregates) - known


def test_what_takes_distinct() -> None:
    functions = Functions()
    entries = [present(functions.aggregates.get(name)) for name in functions.aggregates]
    distinct = {entry.name for entry in entries if entry.distinct}
    assert distinct == {"count", "sum", "avg", "try_sum", "try_avg", "listagg"}


def test_what_grows_with_its_input() -> None:
    functions = Functions()
    entries = [present(functions.aggregates.get(name)) for name in functions.aggregates]
    holding = {entry.name for entry in entries if entry.holds_rows}
    percentiles = {"median", "percentile", "percentile_cont", "percentile_disc"}
    assert holding == {"collect_list", "collect_set", "listagg", "mode", *percentiles}


def test_the_page_names_every_aggregate() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/aggregates.md").read_text()
    named = set(re.findall(r"`(\w+)", page))
    assert not {*Functions().aggregates, *REFUSED} - named
