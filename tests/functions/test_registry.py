"""The registries: names without case, each once, and everything that the language promises is there."""

import pytest
from pyspark.sql import functions as spark

from panes import Engine
from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.aggregates import SPARK_ONLY
from panes.functions.registry import Registry
from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance, StatefulFunctionRegistry
from panes.functions.taken import BOUNDS, WINDOWS, taken
from panes.sql.windows import USAGE


class Counter(StatefulFunctionInstance):
    def __init__(self):
        self.count = 0

    def eval(self, args):
        self.count += 1
        return self.count

    def save(self):
        return str(self.count).encode()

    def load(self, saved):
        self.count = int(saved)


class CountCalls(StatefulFunction):
    name = "Count_Calls"

    def return_type(self, input_types):
        return "bigint"

    def create_instance(self):
        return Counter()


def test_names_have_no_case():
    registry = Registry[int]("number")
    registry.register("One", 1)
    assert (registry.get("ONE"), registry.get("two"), "oNe" in registry, 1 in registry) == (1, None, True, False)
    assert list(registry) == ["one"]


def test_a_name_is_registered_once():
    registry = Registry[int]("number")
    registry.register("one", 1)
    with pytest.raises(PanesError) as caught:
        registry.register("ONE", 2)
    assert caught.value.code == "duplicate-name"
    assert registry.get("one") == 1


def test_a_user_s_function():
    registry = StatefulFunctionRegistry()
    function = CountCalls()
    registry.register_function(function)
    assert registry.is_registered("COUNT_CALLS") and registry.get("count_calls") is function
    assert not registry.is_registered("lag") and registry.get("lag") is None
    with pytest.raises(PanesError) as caught:
        registry.register_function(CountCalls())
    assert caught.value.code == "duplicate-name"


def test_a_built_in_s_name_is_taken():
    function = CountCalls()
    function.name = "LAG"
    with pytest.raises(PanesError) as caught:
        Functions().stateful.register_function(function)
    assert caught.value.code == "duplicate-name"


TAKEN = {
    "sum": "an aggregate",
    "First_Value": "an aggregate",
    "corr": "an aggregate",
    "rank": "an OVER function",
    "lead": "an OVER function",
    "tumblingwindow": "a window",
    "StateWindow": "a window",
    "window_start": "a function of windows",
    "case": "a word of SQL",
    "between": "a word of SQL",
    "in": "a word of SQL",
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("registry", [StatefulFunctionRegistry(), Functions().stateful])
def test_a_name_that_means_something_is_taken(registry, name):
    function = CountCalls()
    function.name = name
    with pytest.raises(PanesError) as caught:
        registry.register_function(function)
    assert (caught.value.code, caught.value.message) == ("duplicate-name", f"{name.lower()} is {TAKEN[name]} already")
    assert not registry.is_registered(name)


@pytest.mark.parametrize("name", ["upper", "Transform", "date_trunc", "session_window"])
def test_a_function_of_spark_is_taken(name):
    """Told by PySpark, while no session runs."""
    engine, function = Engine(), CountCalls()
    function.name = name
    with pytest.raises(PanesError) as caught:
        engine.register(function)
    assert (caught.value.code, caught.value.message) == (
        "duplicate-name",
        f"{name.lower()} is a function of Spark already",
    )
    engine.register(CountCalls())
    assert engine.functions.stateful.is_registered("count_calls")


def test_every_window_and_bound_is_taken():
    assert frozenset(USAGE) == WINDOWS
    assert all(taken(name) for name in (*WINDOWS, *BOUNDS, *Functions().aggregates, *Functions().over))
    assert not any(taken(name) for name in ("streak", "total", "count_calls", "top", "format_row"))


@pytest.mark.parametrize("name", ["", "two words", "1st", None, "a.b"])
def test_a_function_needs_a_name(name):
    function = CountCalls()
    function.name = name
    with pytest.raises(PanesError) as caught:
        StatefulFunctionRegistry().register_function(function)
    assert caught.value.code == "function-arguments"


def test_registries_are_not_shared():
    Functions().stateful.register_function(CountCalls())
    assert not Functions().stateful.is_registered("count_calls")


def test_an_instance_saves_and_loads():
    one, other = Counter(), Counter()
    one.eval([])
    other.load(one.save())
    assert other.eval([]) == 2


STATEFUL = "lag latest changed_col had_changed acc_sum acc_avg acc_min acc_max acc_count row_number"
AGGREGATES = """
    count sum avg min max stddev stddev_samp stddev_pop var_samp var_pop variance first last last_row any_value min_by
    max_by collect_list array_agg collect_set bool_and bool_or approx_count_distinct median percentile
"""
RANKS = "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value"


def test_everything_promised_is_there():
    functions = Functions()
    assert set(functions.stateful.names()) == set(STATEFUL.split())
    assert set(functions.over) == set(RANKS.split())
    assert set(AGGREGATES.split()) <= set(functions.aggregates)
    assert {"first_value", "last_value"} <= set(functions.aggregates)


def test_what_spark_alone_has_is_not_ours():
    functions = Functions()
    assert not [name for name in SPARK_ONLY if name in functions.aggregates]


def test_every_aggregate_of_spark_is_known():
    """One that is not would be taken for a scalar function. Some of PySpark's are no functions of SQL."""
    known = {*Functions().aggregates, *SPARK_ONLY, "listagg_distinct", "product", "string_agg_distinct", "sum_distinct"}
    aggregates = [name for name in spark.__all__ if "Aggregate function" in (getattr(spark, name).__doc__ or "")]
    assert len(aggregates) > 50 and not set(aggregates) - known


def test_distinct_goes_with_count_sum_and_avg():
    functions = Functions()
    distinct = {entry.name for name in functions.aggregates if (entry := functions.aggregates.get(name)).distinct}
    assert distinct == {"count", "sum", "avg"}


def test_what_grows_with_its_input():
    functions = Functions()
    holding = {entry.name for name in functions.aggregates if (entry := functions.aggregates.get(name)).holds_rows}
    assert holding == {"collect_list", "collect_set", "median", "percentile"}


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("lag", ["string"], "string"),
        ("latest", ["timestamp"], "timestamp"),
        ("changed_col", ["boolean", "int"], "int"),
        ("had_changed", ["boolean", "int", "string"], "boolean"),
        ("acc_sum", ["tinyint"], "bigint"),
        ("acc_sum", ["bigint"], "bigint"),
        ("acc_sum", ["float"], "double"),
        ("acc_sum", ["decimal(10,2)"], "decimal(20,2)"),
        ("acc_sum", ["decimal(35,2)"], "decimal(38,2)"),
        ("acc_avg", ["int"], "double"),
        ("acc_avg", ["decimal(10,2)"], "decimal(14,6)"),
        ("acc_avg", ["decimal(38,2)"], "decimal(38,6)"),
        ("acc_min", ["date"], "date"),
        ("acc_max", ["string"], "string"),
        ("acc_count", ["string"], "bigint"),
        ("row_number", [], "bigint"),
    ],
)
def test_types_of_stateful_results(name, types, result):
    assert Functions().stateful.get(name).return_type(types) == result
