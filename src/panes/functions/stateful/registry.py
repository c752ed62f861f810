"""Stateful functions by name, built-in ones and users' own."""

from __future__ import annotations

from collections.abc import Callable

from panes.errors import PanesError
from panes.functions.registry import Registry
from panes.functions.stateful.built_ins import BuiltIn
from panes.functions.stateful.contract import StatefulFunction
from panes.functions.stateful.decorator import Decorated
from panes.functions.stateful.trial import try_state
from panes.functions.taken import taken


class StatefulFunctionRegistry:
    """Names are case-insensitive and each is taken once."""

    def __init__(self) -> None:
        self._functions = Registry[StatefulFunction | BuiltIn]("stateful function")

    def register_function(
        self,
        function: StatefulFunction | BuiltIn | type,
        is_spark_function: Callable[[str], bool] = lambda name: False,
    ) -> None:
        """Add a function under its name, which must mean nothing else in SQL; `is_spark_function` tells for Spark.

        A decorated class is still a class to type checkers, so that classes are taken and looked at here.
        """
        if not isinstance(function, StatefulFunction | BuiltIn):
            raise _not_a_function(function)
        name = getattr(function, "name", None)
        if not isinstance(name, str) or not name.isidentifier():
            raise PanesError("function-arguments", f"a stateful function needs a name, not {name!r}")
        if not isinstance(function, BuiltIn) and not self.is_registered(name):
            means = taken(name) or ("a function of Spark" if is_spark_function(name) else None)
            if means is not None:
                hint = "Queries that use it would mean something else: give the function another name."
                raise PanesError("duplicate-name", f"{name.lower()} is {means} already", None, hint)
        if isinstance(function, Decorated):
            try_state(function)
        self._functions.register(name, function)

    def get(self, name: str) -> StatefulFunction | BuiltIn | None:
        return self._functions.get(name)

    def is_registered(self, name: str) -> bool:
        return name in self._functions

    def names(self) -> tuple[str, ...]:
        return tuple(self._functions)


def _not_a_function(given: object) -> PanesError:
    """What is registered is an instance of a StatefulFunction, or decorated."""
    if isinstance(given, type) and issubclass(given, StatefulFunction):
        hint = f"Register one of its instances: {given.__name__}()."
    else:
        hint = "Decorate it: @panes.stateful(returns='bigint')."
    return PanesError("function-arguments", f"{given!r:.100} is not a stateful function", None, hint)
