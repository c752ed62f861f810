"""Users' functions: what they are given, and what happens when they fail."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from panes.errors import CODES, PanesError
from panes.functions.stateful import StatefulFunctionInstance
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.user_functions import UserFunction

from .definitions import X, at_once, outputs, typed


@dataclass
class Odd(StatefulFunctionInstance):
    """Does what its parts do."""

    parts: dict[str, Any]

    def __getattribute__(self, name: str) -> Any:
        parts = object.__getattribute__(self, "parts")
        return parts[name] if name in parts else object.__getattribute__(self, name)


@dataclass
class OddFunction:
    name: str
    create_instance: Any


@pytest.fixture
def code(monkeypatch: Any) -> Any:
    if "function-failed" not in CODES:
        monkeypatch.setitem(CODES, "function-failed", "a user's function failed")
    return "function-failed"


def _raise(*args: Any) -> Any:
    raise KeyError("oh")


OK: dict[str, Any] = {"eval": lambda args: 1, "save": lambda: b"", "load": lambda saved: None}
FAILING: dict[str, Any] = {
    "eval": ({"eval": lambda args: 1 // (args[0] - 3)}, "odd(3, 'three'): ZeroDivisionError", ZeroDivisionError),
    "result": ({"eval": lambda args: args[1] if args[0] == 3 else 1}, "odd(3, 'three'): 'three' is not of type", None),
    "fraction": ({"eval": lambda args: args[0] / 2}, "odd(1, 'one'): 0.5 is not of type int64", None),
    "inside": ({"eval": lambda args: [Decimal(args[0]) / 2]}, "odd(1, 'one'): [Decimal('0.5')] is not of type", None),
    "batch": ({"eval_batch": _raise}, "odd(1, 'one'): eval_batch of 2 rows from here: KeyError('oh')", KeyError),
    "length": ({"eval_batch": lambda args: pa.array([1])}, "eval_batch of 2 rows from here gave 1 values", None),
    "cast": ({"eval_batch": lambda args: args[1]}, "odd(1, 'one'): eval_batch of 2 rows", pa.ArrowInvalid),
    "save": ({"save": _raise}, "odd: save: KeyError('oh')", KeyError),
    "text": ({"save": lambda: "text"}, "odd: save gave 'text', not bytes", None),
    "load": ({"load": _raise}, "odd: load: KeyError('oh')", KeyError),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_function_that_fails_is_named_with_its_arguments(name: Any, code: Any) -> None:
    parts, text, cause = FAILING[name]
    function = OddFunction("odd", lambda: Odd(OK | parts))
    one = at_once([StatefulCall("odd", (X, "name"), "o", user=UserFunction(function, pa.int64()))])
    tables = [typed([1, 3], pa.int64()).append_column("name", pa.array(["one", "three"]))]
    with pytest.raises(PanesError) as caught:
        outputs(one, [*tables, *tables])
    assert caught.value.code == code
    assert text in caught.value.message
    assert cause is None or isinstance(caught.value.__cause__, cause)


def test_creating_an_instance_may_fail(code: Any) -> None:
    one = at_once([StatefulCall("odd", (), "o", user=UserFunction(OddFunction("odd", _raise), pa.int64()))])
    with pytest.raises(PanesError, match="odd: create_instance: KeyError"):
        outputs(one, [typed([1], pa.int64())])


def test_a_map_is_a_dict_for_a_user() -> None:
    type_ = pa.map_(pa.string(), pa.int64())
    gets = OddFunction("gets", lambda: Odd(OK | {"eval": lambda args: args[0]["a"]}))
    one = at_once([StatefulCall("gets", (X,), "o", user=UserFunction(gets, pa.int64()))])
    assert outputs(one, [typed([[("a", 5)]], type_)])["o"].to_pylist() == [5]
