"""Stateful functions by name: each name once, and none that means something else."""

from typing import Any

import pytest

from panes import Engine
from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.stateful import StatefulFunction, StatefulFunctionRegistry

from .test_contract import Counter


class CountCalls(StatefulFunction):
    name = "Count_Calls"

    def return_type(self, input_types: Any) -> Any:
        return "bigint"

    def create_instance(self) -> Any:
        return Counter()


def test_a_user_s_function() -> None:
    registry = StatefulFunctionRegistry()
    function = CountCalls()
    registry.register_function(function)
    assert registry.is_registered("COUNT_CALLS") and registry.get("count_calls") is function
    assert not registry.is_registered("lag") and registry.get("lag") is None
    with pytest.raises(PanesError) as caught:
        registry.register_function(CountCalls())
    assert caught.value.code == "duplicate-name"


def test_a_built_in_s_name_is_taken() -> None:
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
def test_a_name_that_means_something_is_taken(registry: Any, name: Any) -> None:
    function = CountCalls()
    function.name = name
    with pytest.raises(PanesError) as caught:
        registry.register_function(function)
    assert (caught.value.code, caught.value.message) == ("duplicate-name", f"{name.lower()} is {TAKEN[name]} already")
    assert not registry.is_registered(name)


@pytest.mark.parametrize("name", ["upper", "Transform", "date_trunc", "session_window"])
def test_a_function_of_spark_is_taken(name: Any) -> None:
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


@pytest.mark.parametrize("name", ["", "two words", "1st", None, "a.b"])
def test_a_function_needs_a_name(name: Any) -> None:
    function = CountCalls()
    function.name = name
    with pytest.raises(PanesError) as caught:
        StatefulFunctionRegistry().register_function(function)
    assert caught.value.code == "function-arguments"


def test_registries_are_not_shared() -> None:
    Functions().stateful.register_function(CountCalls())
    assert not Functions().stateful.is_registered("count_calls")
