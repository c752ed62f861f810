"""Stateful functions: their contract, the registry, and the signatures of the built-in ones."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from panes.errors import PanesError
from panes.functions.registry import Registry
from panes.functions.signature import Param, Signature, Takes


class StatefulFunctionInstance(ABC):
    """The state of one call in one partition."""

    @abstractmethod
    def eval(self, args: Sequence[Any]) -> Any:
        """The value for the next row."""

    @abstractmethod
    def save(self) -> bytes:
        """The state, for a checkpoint."""

    @abstractmethod
    def load(self, saved: bytes) -> None:
        """Take up the state that `save` returned."""


class StatefulFunction(ABC):
    """A function whose value depends on the rows before; a user's own derives from this."""

    name: str
    signature: Signature = Signature((Param("x", optional=True, repeated=True),))

    @abstractmethod
    def return_type(self, input_types: Sequence[str]) -> str:
        """The Spark type of the value, for the Spark types of the arguments."""

    @abstractmethod
    def create_instance(self) -> StatefulFunctionInstance:
        """A fresh state, for a partition that was not seen before."""


class StatefulFunctionRegistry:
    """Stateful functions by name; names are case-insensitive and each is taken once."""

    def __init__(self) -> None:
        self._functions = Registry[StatefulFunction | BuiltIn]("stateful function")

    def register_function(self, function: StatefulFunction | BuiltIn) -> None:
        name = getattr(function, "name", None)
        if not isinstance(name, str) or not name.isidentifier():
            raise PanesError("function-arguments", f"a stateful function needs a name, not {name!r}")
        self._functions.register(name, function)

    def get(self, name: str) -> StatefulFunction | BuiltIn | None:
        return self._functions.get(name)

    def is_registered(self, name: str) -> bool:
        return name in self._functions

    def names(self) -> tuple[str, ...]:
        return tuple(self._functions)


@dataclass(frozen=True)
class BuiltIn:
    """A stateful function that a vectorised kernel of its own computes."""

    name: str
    signature: Signature
    result: Callable[[Sequence[str]], str]

    def return_type(self, input_types: Sequence[str]) -> str:
        return self.result(input_types)


def _first(types: Sequence[str]) -> str:
    return types[0]


def _second(types: Sequence[str]) -> str:
    return types[1]


def _always(result: str) -> Callable[[Sequence[str]], str]:
    return lambda types: result


def _sum(types: Sequence[str]) -> str:
    """The type of Spark's sum."""
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", types[0])
    if decimal:
        return f"decimal({min(38, int(decimal[1]) + 10)},{decimal[2]})"
    return "bigint" if types[0] in ("tinyint", "smallint", "int", "bigint") else "double"


def _avg(types: Sequence[str]) -> str:
    """The type of Spark's avg."""
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", types[0])
    if decimal:
        return f"decimal({min(38, int(decimal[1]) + 4)},{min(38, int(decimal[2]) + 4)})"
    return "double"


_X = Param("x")
_LAG = Signature((_X, Param("n", Takes.COUNT, optional=True), Param("default", optional=True)))
_LATEST = Signature((_X, Param("default", optional=True)))
_CHANGED = Signature((Param("ignore_null", Takes.BOOLEAN), _X))
_HAD_CHANGED = Signature((Param("ignore_null", Takes.BOOLEAN), Param("x", repeated=True)))
_ACC = Signature((_X, Param("begin", Takes.CONDITION, optional=True), Param("reset", Takes.CONDITION, optional=True)))

BUILT_INS = (
    BuiltIn("lag", _LAG, _first),
    BuiltIn("latest", _LATEST, _first),
    BuiltIn("changed_col", _CHANGED, _second),
    BuiltIn("had_changed", _HAD_CHANGED, _always("boolean")),
    BuiltIn("acc_sum", _ACC, _sum),
    BuiltIn("acc_avg", _ACC, _avg),
    BuiltIn("acc_min", _ACC, _first),
    BuiltIn("acc_max", _ACC, _first),
    BuiltIn("acc_count", _ACC, _always("bigint")),
    BuiltIn("row_number", Signature(), _always("bigint")),
)
