"""Stateful functions: their contract, the registry, and the signatures of the built-in ones."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from panes.errors import PanesError
from panes.functions.registry import Registry
from panes.functions.signature import Param, Signature, Takes
from panes.functions.taken import taken


class StatefulFunctionInstance:
    """The state of one call in one partition: its attributes, unless `save` and `load` say otherwise.

    An instance has `eval`, or the vectorised form `eval_batch(args: list[pa.Array]) -> pa.Array`, which gets all rows
    of its partition that a micro-batch has, in order, and is used instead wherever the call has arguments.
    """

    def eval(self, args: Sequence[Any]) -> Any:
        """The value for the next row."""
        raise NotImplementedError(f"{type(self).__name__} has neither eval nor eval_batch")

    def save(self) -> bytes:
        """The state, for a checkpoint."""
        return to_json(type(self).__name__, _attributes(self)).encode()

    def load(self, saved: bytes) -> None:
        """Take up the state that `save` returned."""
        vars(self).update(from_json(saved.decode()))


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


def _attributes(instance: StatefulFunctionInstance) -> dict[str, Any]:
    slots = [name for kind in type(instance).__mro__ for name in getattr(kind, "__slots__", ())]
    if slots:
        raise _cannot_save(type(instance).__name__, f"has __slots__ ({', '.join(slots)})")
    return vars(instance)


def _cannot_save(owner: str, why: str) -> PanesError:
    hint = f"Give {owner} a save and a load of its own."
    return PanesError("function-failed", f"the state of {owner} cannot be saved: it {why}", hint=hint)


def to_json(owner: str, attributes: dict[str, Any]) -> str:
    """Attributes as JSON; what JSON has not is a one-key object that names its type.

    >>> to_json("Streak", {"n": 2, "value": Decimal("1.50"), "seen": (1, b"x")})
    '{"n": 2, "value": {"decimal": "1.50"}, "seen": {"tuple": [1, {"bytes": "eA=="}]}}'
    """
    tagged = {}
    for name, value in attributes.items():
        try:
            tagged[name] = _tagged(value)
        except TypeError as error:
            raise _cannot_save(owner, f"has {name} = {value!r:.100}, with a {error}") from error
    return json.dumps(tagged)


def from_json(text: str) -> dict[str, Any]:
    """The attributes that `to_json` wrote."""
    return {name: _untagged(value) for name, value in json.loads(text).items()}


def _tagged(value: Any) -> Any:
    """A value as JSON can hold it. Only the exact types: one derived from them would come back as another."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_tagged(one) for one in value]
    if kind is tuple:
        return {"tuple": [_tagged(one) for one in value]}
    if kind is dict:
        return {"dict": [[_tagged(key), _tagged(one)] for key, one in value.items()]}
    if kind is bytes:
        return {"bytes": b64encode(value).decode()}
    if kind is Decimal:
        return {"decimal": str(value)}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if kind is date:
        return {"date": value.isoformat()}
    if kind is datetime:
        zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
        return {"datetime": [value.isoformat(), zone, value.fold]}
    raise TypeError(kind.__name__)


def _untagged(value: Any) -> Any:
    if isinstance(value, list):
        return [_untagged(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    match kind:
        case "tuple":
            return tuple(_untagged(one) for one in inner)
        case "dict":
            return {_untagged(key): _untagged(one) for key, one in inner}
        case "bytes":
            return b64decode(inner)
        case "decimal":
            return Decimal(inner)
        case "timedelta":
            return timedelta(*inner)
        case "date":
            return date.fromisoformat(inner)
        case "datetime":
            return _datetime(*inner)
    raise ValueError(f"no type {kind}")


def _datetime(text: str, zone: str | None, fold: int) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=ZoneInfo(zone) if zone is not None else moment.tzinfo, fold=fold)


class StatefulFunctionRegistry:
    """Stateful functions by name; names are case-insensitive and each is taken once."""

    def __init__(self) -> None:
        self._functions = Registry[StatefulFunction | BuiltIn]("stateful function")

    def register_function(
        self, function: StatefulFunction | BuiltIn, is_spark_function: Callable[[str], bool] = lambda name: False
    ) -> None:
        """Add a function under its name, which must mean nothing else in SQL; `is_spark_function` tells for Spark."""
        name = getattr(function, "name", None)
        if not isinstance(name, str) or not name.isidentifier():
            raise PanesError("function-arguments", f"a stateful function needs a name, not {name!r}")
        if not isinstance(function, BuiltIn) and not self.is_registered(name):
            means = taken(name) or ("a function of Spark" if is_spark_function(name) else None)
            if means is not None:
                hint = "Queries that use it would mean something else: give the function another name."
                raise PanesError("duplicate-name", f"{name.lower()} is {means} already", None, hint)
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
