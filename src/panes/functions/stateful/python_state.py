"""The state of one call of a decorated function in one partition: what stands between it and the kernels.

Kernels know `eval(args)`, `eval_batch(args)`, `save()` and `load(bytes)`; a user's class or function takes its
arguments one by one, as Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from panes.functions.stateful.contract import StatefulFunctionInstance, saved_attributes
from panes.functions.stateful.saved_state import from_json, to_json


class OfClass(StatefulFunctionInstance):
    """An object of the user's class, called row by row."""

    def __init__(self, kind: type) -> None:
        self.made: Any = kind()

    def eval(self, args: Sequence[Any]) -> Any:
        return self.made.eval(*args)

    def save(self) -> bytes:
        saved: bytes = self.made.save() if hasattr(self.made, "save") else saved_attributes(self.made)
        return saved

    def load(self, saved: bytes) -> None:
        if hasattr(self.made, "load"):
            self.made.load(saved)
        else:
            vars(self.made).update(from_json(saved.decode()))


class OfVectorizedClass(OfClass):
    """An object of the user's class that takes all rows of its partition at once."""

    def eval_batch(self, args: Sequence[Any]) -> Any:
        return self.made.eval_batch(*args)


class OfFunction(StatefulFunctionInstance):
    """The state that the user's function takes and gives back, row by row."""

    def __init__(self, name: str, function: Callable[..., Any], initial: str) -> None:
        self.name, self.function = name, function
        self.state: Any = _loaded(initial.encode())

    def eval(self, args: Sequence[Any]) -> Any:
        self.state, value = _pair(self.function(self.state, *args))
        return value

    def save(self) -> bytes:
        return saved_value(self.name, self.state).encode()

    def load(self, saved: bytes) -> None:
        self.state = _loaded(saved)


class OfVectorizedFunction(OfFunction):
    """The same, for all rows of the partition at once."""

    def eval_batch(self, args: Sequence[Any]) -> Any:
        return self.eval(args)


def saved_value(name: str, state: Any) -> str:
    """The state of a function as JSON.

    >>> saved_value("total", (1, None))
    '{"state": {"tuple": [1, null]}}'
    """
    return to_json(name, {"state": state})


def _loaded(saved: bytes) -> Any:
    return from_json(saved.decode())["state"]


def _pair(given: Any) -> tuple[Any, Any]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(f"returns (state, value), not {given!r:.100}")
    return given
