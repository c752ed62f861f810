"""`@panes.stateful`: a class or a function of the user's as a stateful function for SQL."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from panes.errors import PanesError
from panes.functions.signature import Param, Signature
from panes.functions.stateful.contract import StatefulFunction, StatefulFunctionInstance
from panes.functions.stateful.python_state import (
    OfClass,
    OfFunction,
    OfVectorizedClass,
    OfVectorizedFunction,
    saved_value,
)


class SparkType(Protocol):
    """A type of `pyspark.sql.types`."""

    def simpleString(self) -> str: ...  # noqa: N802


Returns: TypeAlias = str | SparkType | Callable[[Sequence[str]], str]


def stateful(
    *, returns: Returns, name: str | None = None, initial: Any = None, vectorized: bool = False
) -> Callable[[Any], Decorated]:
    """Make a class or a function a stateful function for SQL, to be given to `engine.register`.

    A class has `eval`, which is called for each row with the call's arguments and gives the value; the state of one
    partition is an object of it, which begins as `__init__` leaves it. Its attributes are saved as JSON, or what its
    own `save() -> bytes` and `load(bytes)` say. With `eval_batch` it takes all rows of its partition that a micro-batch
    has, as Arrow arrays, and gives an array: several times faster.

        @panes.stateful(returns="bigint")
        class Streak:
            def __init__(self):
                self.value, self.length = None, 0

            def eval(self, x):
                self.length = self.length + 1 if x == self.value else 1
                self.value = x
                return self.length

    A function takes the state and the arguments, and returns the new state and the value. The state begins as
    `initial`; with `vectorized` the arguments are Arrow arrays, and so is the value.

        @panes.stateful(returns="double", initial=0.0)
        def smoothed(state, x):
            state = 0.9 * state + 0.1 * x
            return state, state

    `returns` is a Spark type: a text, one of `pyspark.sql.types`, or a function from the types of the arguments to the
    type of the value. `name` is what SQL calls it: unless given, the name of the class or function in SQL's spelling
    (`RunningTotal` is `running_total`). SQL must give as many arguments as Python asks for; those with a default may be
    left out. What is decorated can still be called as before, to be tested alone:

    >>> @stateful(returns="bigint", initial=0)
    ... def running(state, x):
    ...     return state + x, state + x
    >>> running(2, 5), running.name, running.return_type(["int"]), running.signature.usage(running.name)
    ((7, 7), 'running', 'bigint', 'running(x)')
    """

    def decorate(made: Any) -> Decorated:
        called = name or _sql_name(getattr(made, "__name__", ""))
        if inspect.isclass(made):
            return _of_class(made, called, returns, initial, vectorized)
        if callable(made):
            return _of_function(made, called, returns, initial, vectorized)
        raise _refused(called, f"is {made!r:.100}, not a class or a function")

    return decorate


class Decorated(StatefulFunction):
    """A class or function that `@panes.stateful` has made a stateful function; calling it calls what was decorated."""

    def __init__(
        self,
        made: Any,
        name: str,
        returns: Returns,
        signature: Signature,
        instance: Callable[[], StatefulFunctionInstance],
    ) -> None:
        self.made, self.name, self.returns, self.signature = made, name, returns, signature
        self.instance = instance
        self.__doc__ = getattr(made, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.made(*args, **kwargs)

    def return_type(self, input_types: Sequence[str]) -> str:
        if isinstance(self.returns, str):
            return self.returns
        if callable(self.returns):
            return self.returns(input_types)
        return self.returns.simpleString()

    def create_instance(self) -> StatefulFunctionInstance:
        return self.instance()


def _of_class(made: type, name: str, returns: Returns, initial: Any, vectorized: bool) -> Decorated:
    if initial is not None or vectorized:
        raise _refused(name, "is a class, which begins as its __init__ says and is vectorised by its eval_batch")
    methods = [method for method in ("eval", "eval_batch") if callable(getattr(made, method, None))]
    if not methods:
        raise _refused(name, "has neither eval nor eval_batch")
    if hasattr(made, "save") != hasattr(made, "load"):
        raise _refused(name, "has one of save and load: give it both, or neither")
    signature = _signature(name, getattr(made, methods[0]))
    by_batch = "eval_batch" in methods
    if methods == ["eval_batch"] and not signature.params:
        raise _refused(name, "has eval_batch without an argument, which would say how many rows there are")
    return Decorated(made, name, returns, signature, partial(OfVectorizedClass if by_batch else OfClass, made))


def _of_function(made: Callable[..., Any], name: str, returns: Returns, initial: Any, vectorized: bool) -> Decorated:
    signature = _signature(name, made)
    if vectorized and not signature.params:
        raise _refused(name, "is vectorised without an argument, which would say how many rows there are")
    kind = OfVectorizedFunction if vectorized else OfFunction
    return Decorated(made, name, returns, signature, partial(kind, name, made, saved_value(name, initial)))


def _signature(name: str, function: Callable[..., Any]) -> Signature:
    """The parameters behind the first, which is `self` or the state."""
    found = list(inspect.signature(function).parameters.values())
    if not found or found[0].kind not in (found[0].POSITIONAL_ONLY, found[0].POSITIONAL_OR_KEYWORD):
        raise _refused(name, "takes nothing: its first parameter is the state (or self)")
    params = []
    for one in found[1:]:
        if (one.kind is one.KEYWORD_ONLY and one.default is one.empty) or one.kind is one.VAR_KEYWORD:
            raise _refused(name, f"asks for {one.name} by name: SQL gives arguments in order")
        if one.kind is not one.KEYWORD_ONLY:
            repeated = one.kind is one.VAR_POSITIONAL
            params.append(Param(one.name, optional=repeated or one.default is not one.empty, repeated=repeated))
    return Signature(tuple(params))


def _sql_name(name: str) -> str:
    """
    >>> _sql_name("RunningTotal"), _sql_name("streak")
    ('running_total', 'streak')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _refused(name: str, why: str) -> PanesError:
    hint = "Decorate a class with eval(self, x, …), or a function (state, x, …) that returns (state, value)."
    return PanesError("function-arguments", f"the stateful function {name} {why}", None, hint)
