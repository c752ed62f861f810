"""`@panes.stateful`: classes and functions, their names, signatures, states and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql.types import DecimalType, LongType

import panes
from panes import PanesError
from panes.functions.stateful import StatefulFunction, StatefulFunctionRegistry
from panes.kernels.stateful.user_functions import UserFunction


@panes.stateful(returns="bigint")
class RunningTotal:
    """The sum so far."""

    def __init__(self) -> None:
        self.sum = 0

    def eval(self, x: int) -> int:
        self.sum += x
        return self.sum


@panes.stateful(returns="bigint")
class SavedTotal:
    """The same, with a save of its own."""

    def __init__(self) -> None:
        self.sum = 0

    def eval(self, x: int) -> int:
        self.sum += x
        return self.sum

    def save(self) -> bytes:
        return str(self.sum).encode()

    def load(self, saved: bytes) -> None:
        self.sum = int(saved)


@panes.stateful(returns="bigint")
class ArrowTotal:
    """The same, for all rows at once."""

    def __init__(self) -> None:
        self.sum = 0

    def eval_batch(self, x: pa.Array) -> pa.Array:
        totals = pc.add(pc.cumulative_sum(x), self.sum)
        self.sum = totals[-1].as_py()
        return totals


@panes.stateful(returns="bigint", initial=0)
def function_total(state: int, x: int) -> tuple[int, int]:
    return state + x, state + x


@panes.stateful(returns="bigint", initial=0, vectorized=True)
def arrow_function_total(state: int, x: pa.Array) -> tuple[int, pa.Array]:
    totals = pc.add(pc.cumulative_sum(x), state)
    return totals[-1].as_py(), totals


FORMS: list[Any] = [RunningTotal, SavedTotal, ArrowTotal, function_total, arrow_function_total]


def forms(test: Callable[..., None]) -> Any:
    return pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)(test)


def run(function: Any, values: Sequence[int], cuts: Sequence[int]) -> list[int]:
    """The values for rows that come in parts; between two parts there is only what was saved."""
    user, saved, out = UserFunction(function, pa.int64()), None, []
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(values)}), len(values)]
    for start, stop in pairwise(edges):
        found, saved = user.run(saved, [pa.array(values[start:stop], pa.int64())], stop - start)
        out += found.to_pylist()
    return out


@forms
@given(st.lists(st.integers(-99, 99), min_size=1, max_size=12), st.lists(st.integers(1, 11)))
def test_every_form_is_the_running_sum_however_the_rows_are_cut(form: Any, values: list[int], cuts: list[int]) -> None:
    assert run(form, values, cuts) == list(accumulate(values))


@forms
def test_a_decorated_function_goes_by_value(form: Any) -> None:
    """What a worker gets names no module of the user's."""
    pickled: bytes = cloudpickle.dumps(form)  # type: ignore[no-untyped-call]
    assert __name__.encode() + b"\x94\x8c" + form.made.__name__.encode() not in pickled
    assert run(pickle.loads(pickled), [1, 2, 3], [1]) == [1, 3, 6]


def test_the_name_is_that_of_sql() -> None:
    assert [form.name for form in FORMS][:2] == ["running_total", "saved_total"]
    assert panes.stateful(returns="int", name="mine")(lambda state: (state, 1)).name == "mine"
    assert RunningTotal.__doc__ == "The sum so far."


def test_what_is_decorated_can_be_called_as_before() -> None:
    total = RunningTotal()
    assert (total.eval(1), total.eval(2), function_total(5, 1)) == (1, 3, (6, 6))


@pytest.mark.parametrize(
    ("returns", "type_"),
    [
        ("bigint", "bigint"),
        (LongType(), "bigint"),
        (DecimalType(9, 2), "decimal(9,2)"),
        (lambda types: f"array<{types[0]}>", "array<string>"),
    ],
)
def test_returns_is_a_type_or_made_from_the_types_of_the_arguments(returns: Any, type_: str) -> None:
    assert panes.stateful(returns=returns)(lambda state, x: (state, x)).return_type(["string"]) == type_


def test_sql_gives_as_many_arguments_as_python_asks_for() -> None:
    def usage(made: Callable[..., Any]) -> str:
        return panes.stateful(returns="int", name="f")(made).signature.usage("f")

    assert usage(lambda state: (state, 1)) == "f()"
    assert usage(lambda state, x, y=1: (state, 1)) == "f(x [, y])"
    assert usage(lambda state, x, *rest: (state, 1)) == "f(x [, rest, …])"
    assert usage(lambda state, x, *, scale=2: (state, 1)) == "f(x)"


def test_each_partition_begins_with_a_state_of_its_own() -> None:
    @panes.stateful(returns="int", initial=[])
    def seen(state: list[int], x: int) -> tuple[list[int], int]:
        state.append(x)
        return state, len(state)

    assert [seen.create_instance().eval([x]) for x in (1, 2)] == [1, 1]


class NoEval:
    pass


class HalfSaved:
    def eval(self, x: int) -> int:
        return x

    def save(self) -> bytes:
        return b""


class ByBatch:
    def eval_batch(self) -> None:
        pass


REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "neither eval nor eval_batch": (NoEval, {}),
    "one of save and load": (HalfSaved, {}),
    "eval_batch without an argument": (ByBatch, {}),
    "is vectorised without an argument": (lambda state: (state, 1), {"vectorized": True}),
    "begins as its __init__ says": (HalfSaved, {"initial": 1}),
    "takes nothing": (lambda: 1, {}),
    "asks for y by name": (lambda state, *, y: (state, y), {}),
    "asks for more by name": (lambda state, **more: (state, more), {}),
    "not a class or a function": (5, {}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused_where_it_is_decorated(why: str) -> None:
    made, options = REFUSED[why]
    with pytest.raises(PanesError) as caught:
        panes.stateful(returns="int", name="f", **options)(made)
    assert caught.value.code == "function-arguments" and why in caught.value.message


def test_a_state_that_json_cannot_hold_is_refused_where_it_is_decorated() -> None:
    with pytest.raises(PanesError) as caught:
        panes.stateful(returns="int", initial={1, 2})(lambda state, x: (state, x))
    assert caught.value.code == "function-failed"


class Addressed:
    """Saved as another text each time."""

    def eval(self, x: int) -> int:
        return x

    def save(self) -> bytes:
        return repr(self).encode()

    def load(self, saved: bytes) -> None:
        pass


class Forgetful(Addressed):
    """What it takes up is another state."""

    def __init__(self) -> None:
        self.loads = 0

    def save(self) -> bytes:
        return str(self.loads).encode()

    def load(self, saved: bytes) -> None:
        self.loads += 1


class Asking(Addressed):
    def __init__(self, size: int) -> None:
        self.size = size


class Texting(Addressed):
    def save(self) -> bytes:
        return "text"  # type: ignore[return-value]


class Holding:
    def __init__(self) -> None:
        self.lock = object()

    def eval(self, x: int) -> int:
        return x


@pytest.mark.parametrize("made", [Addressed, Forgetful, Asking, Texting, Holding])
def test_a_state_that_cannot_be_kept_is_refused_where_it_is_registered(made: Any) -> None:
    with pytest.raises(PanesError) as caught:
        StatefulFunctionRegistry().register_function(panes.stateful(returns="int")(made))
    assert caught.value.code == "function-failed"


def test_a_name_is_taken_once() -> None:
    registry = StatefulFunctionRegistry()
    registry.register_function(RunningTotal)
    for taken in (RunningTotal, panes.stateful(returns="int", name="sum")(lambda state, x: (state, x))):
        with pytest.raises(PanesError) as caught:
            registry.register_function(taken)
        assert caught.value.code == "duplicate-name"


@pytest.mark.parametrize("given", [NoEval, len, 5, type("Mine", (StatefulFunction,), {})])
def test_what_is_not_decorated_is_not_registered(given: Any) -> None:
    with pytest.raises(PanesError) as caught:
        StatefulFunctionRegistry().register_function(given)
    assert caught.value.code == "function-arguments"


def test_a_function_that_returns_no_pair_names_the_row() -> None:
    one = panes.stateful(returns="int", name="f")(lambda state, x: x)
    with pytest.raises(PanesError) as caught:
        run(one, [7], [])
    assert (caught.value.code, caught.value.message) == (
        "function-failed",
        "f(7): TypeError('returns (state, value), not 7')",
    )
