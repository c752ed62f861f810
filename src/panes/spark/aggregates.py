"""Aggregates on Spark: what is projected for them, what the kernel folds, and how Spark finishes their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from pyspark.sql import DataFrame

from panes.errors import PanesError
from panes.functions.aggregates import Cast, aggregate
from panes.functions.signature import LIMITS, Takes
from panes.functions.within import Direction
from panes.kernels.aggregates.accumulator import Accumulator, Constant, Finish
from panes.kernels.aggregates.accumulators import accumulator, argument_cast
from panes.kernels.aggregates.grouping import Fold
from panes.kernels.spark_types import INTEGRAL, decimal, ranked_type
from panes.physical import plan as physical
from panes.spark.expressions import compared_type, known_type, quoted, type_of
from panes.spark.projection import Projection


@dataclass(frozen=True)
class Finished:
    """A value of the result: its name, its call in the query, the kernel's value and what Spark makes of it (`$v`)."""

    output: str
    call: str
    value: str
    finish: Finish


class Aggregates:
    """The aggregates of an operator. Those that need the same fold share it: avg is made of sum and count."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self._states: dict[tuple[str, tuple[str, ...], str | None], Fold] = {}
        self.finished: list[Finished] = []

    @property
    def folds(self) -> tuple[Fold, ...]:
        return tuple(self._states.values())

    @property
    def ordered(self) -> bool:
        return any(fold.accumulator.ordered for fold in self.folds)

    def outputs(self) -> list[tuple[str, str]]:
        """The names and Spark types of the kernel's values."""
        return [(fold.state, fold.accumulator.value_type) for fold in self.folds]

    def add(self, argument: physical.Argument) -> None:
        """One aggregate of the query."""
        value, finish = self._value(argument)
        self.projection.functions.setdefault(value, argument.text)
        self.finished.append(Finished(argument.output, argument.text, value, finish))

    def add_rows(self) -> str:
        """The rows themselves as a list, in the stream's order: a window without aggregates is one that collects."""
        names = self.projection.own()
        struct = "named_struct(" + ", ".join(f"'c{i}', {quoted(name)}" for i, name in enumerate(names)) + ")"
        found = accumulator("collect_list", [type_of(struct, self.projection.below)])
        assert found is not None
        return self._state("rows", found, (self.projection.column(struct),), None)

    def _value(self, argument: physical.Argument) -> tuple[str, Finish]:
        given = prepared(argument, self.projection.below)
        args = tuple(self.projection.column(sql) for sql in given.args)
        condition = self.projection.condition(argument.condition)
        parts = aggregate(argument.function).made_of
        if parts and not argument.distinct and decimal(given.types[0]) is None:
            total, count = (self._state(part, accumulated(part, argument, given), args, condition) for part in parts)
            return total, Finish(f"CAST($v AS DOUBLE) / nullif({count}, 0)")
        found = accumulated(argument.function, argument, given)
        options = [
            word for word, given_ in (("distinct", argument.distinct), ("nulls", argument.ignore_nulls)) if given_
        ]
        name = " ".join([argument.function, *options, *given.options])
        return self._state(name, found, args, condition), found.finish

    def _state(self, function: str, found: Accumulator, args: tuple[str, ...], condition: str | None) -> str:
        """The column of an aggregate's state: one for all that are the same function of the same columns."""
        legend = self.projection.legend
        where = f" filter (where {legend[condition]})" if condition is not None else ""
        text = f"{function}({', '.join(legend[arg] for arg in args)}){where}"
        key = text, args, condition
        if key not in self._states:
            self._states[key] = Fold(found, args, condition, self.projection.new_name(text))
        return self._states[key].state


@dataclass(frozen=True)
class Prepared:
    """Arguments as an accumulator takes them: Spark's texts and types, and constants."""

    args: tuple[str, ...]
    types: tuple[str, ...]
    constant: Constant = None
    accuracy: int | None = None
    delimiter: str | None = None
    within: tuple[Direction, ...] = ()

    @property
    def options(self) -> list[str]:
        """The constants as they stand in the name of a state."""
        constant = [*self.constant] if isinstance(self.constant, tuple) else self.constant
        found = [str(given) for given in (constant, self.accuracy) if given is not None]
        found += [repr(self.delimiter)] if self.delimiter is not None else []
        return [*found, *(way.full.lower() for way in self.within)]


def prepared(argument: physical.Argument, below: DataFrame) -> Prepared:
    """The arguments of an aggregate, cast where it takes only a few types."""
    row = aggregate(argument.function)
    values, keys = values_and_keys(argument)
    types = [known_type(arg, below) for arg in values]
    for arg in (*(values if argument.distinct else values[-1:] if row.compares else ()), *keys):
        compared_type(arg, below)
    _check_types(argument, types)
    wanted = [argument_cast(argument.function, type_) or type_ for type_ in types]
    cast = [as_type(*given) for given in zip(values, types, wanted, strict=True)]
    limited, constant = row.signature.limited, None
    if limited is not None and argument.own > limited:
        constant = _constant(argument, limited, LIMITS[row.signature.params[limited].takes], below)
    if row.hashes:
        return Prepared((f"CASE WHEN {cast[0]} IS NOT NULL THEN xxhash64({cast[0]}) END",), ("bigint",), constant)
    if row.cast is Cast.RANKED and ranked_type(wanted[0]) is None:
        message = f"{argument.text} is of {wanted[0]}; {row.name} takes numbers, dates and timestamps"
        raise PanesError("function-arguments", message)
    given = row.signature.named(argument.args[: argument.own])
    accuracy, delimiter = given.get("accuracy"), given.get("delimiter")
    return Prepared(
        (*cast, *(f"({key})" for key in keys)),
        (*wanted, *(known_type(key, below) for key in keys)),
        constant,
        None if accuracy is None else int(accuracy),
        None if delimiter is None else _text(delimiter, below),
        argument.within,
    )


def values_and_keys(argument: physical.Argument) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is aggregated, and the keys that order it. What WITHIN GROUP orders by may be what is aggregated."""
    row = aggregate(argument.function)
    own, keys = argument.args[: argument.own], argument.args[argument.own :]
    if row.within.is_value and keys:
        return keys, ()
    constants = (Takes.TEXT, Takes.POSITIVE, *LIMITS)
    values = own if own != ("*",) else ()
    return tuple(arg for at, arg in enumerate(values) if row.signature.param(at).takes not in constants), keys


def _check_types(argument: physical.Argument, types: Sequence[str]) -> None:
    """Refuse what Spark would: bits of what is no whole number, texts of what is nested, or binary."""
    cast = aggregate(argument.function).cast
    for type_ in types:
        message = f"{argument.text} is of {type_}"
        if cast is Cast.BITS and type_ not in INTEGRAL:
            hint = "It takes whole numbers: CAST(x AS BIGINT)."
            raise PanesError("function-arguments", message, None, hint)
        if cast is Cast.TEXT and (type_ == "binary" or type_.endswith(">")):
            hint = "It takes texts: unhex(listagg(hex(x))) for bytes, to_json(x) for what is nested."
            raise PanesError("function-arguments", message, None, hint)


def as_type(sql: str, type_: str, wanted: str) -> str:
    """An expression cast where it must be: uncast, a column is the one that others read too.

    >>> as_type("v", "float", "double"), as_type("v", "double", "double")
    ('CAST(v AS double)', '(v)')
    """
    return f"({sql})" if type_ == wanted else f"CAST({sql} AS {wanted})"


def accumulated(function: str, argument: physical.Argument, given: Prepared) -> Accumulator:
    """The accumulator of an aggregate over the arguments of a call, which may be made of several."""
    found = accumulator(
        function,
        given.types,
        argument.distinct,
        argument.ignore_nulls,
        given.constant,
        given.accuracy,
        given.delimiter,
        given.within,
    )
    if found is None:
        raise PanesError("not-executable", f"{argument.text} has no accumulator yet")
    return found


def _constant(argument: physical.Argument, index: int, between: tuple[float, float], below: DataFrame) -> Constant:
    """An argument that is a constant of Spark's, or an array of them."""
    text = argument.args[index]
    value = below.sparkSession.sql(f"SELECT {text} AS v").collect()[0]["v"]
    several = isinstance(value, list)
    numbers = tuple(float(one) if one is not None else nan for one in (value if several else [value]))
    if not numbers or not all(between[0] <= one <= between[1] for one in numbers):
        message = f"{text} in {argument.text} is not from {between[0]:g} to {between[1]:g}"
        raise PanesError("function-arguments", message)
    return numbers if several else numbers[0]


def _text(sql: str, below: DataFrame) -> str:
    """A constant of Spark's as a text."""
    value = below.sparkSession.sql(f"SELECT CAST({sql} AS STRING) AS v").collect()[0]["v"]
    return "" if value is None else str(value)
