"""Aggregates on Spark: what is projected for them, what the kernel folds, and how Spark finishes their values."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

from pyspark.sql import DataFrame

from panes.errors import PanesError
from panes.kernels.aggregates.accumulators import Accumulator, accumulator, argument_cast, decimal
from panes.kernels.aggregates.grouping import Fold
from panes.physical import plan as physical
from panes.spark.expressions import compared_type, known_type, quoted, type_of
from panes.spark.projection import Projection

COMPARING = frozenset(("min", "max", "min_by", "max_by", "collect_set", "approx_count_distinct"))


@dataclass(frozen=True)
class Finished:
    """A value of the result: its name, its call in the query, the kernel's value and what Spark makes of it (`$v`)."""

    output: str
    call: str
    value: str
    finish: str


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

    def _value(self, argument: physical.Argument) -> tuple[str, str]:
        given = prepared(argument, self.projection.below)
        args = tuple(self.projection.column(sql) for sql in given.args)
        condition = self.projection.condition(argument.condition)
        if argument.function == "avg" and not argument.distinct and decimal(given.types[0]) is None:
            total = self._state("sum", _found("sum", argument, given), args, condition)
            count = self._state("count", _found("count", argument, given), args, condition)
            return total, f"CAST($v AS DOUBLE) / nullif({count}, 0)"
        found = _found(argument.function, argument, given)
        options = [
            word for word, given_ in (("distinct", argument.distinct), ("nulls", argument.ignore_nulls)) if given_
        ]
        name = " ".join([argument.function, *options, *filter(None, [given.constant])])
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
    """Arguments as an accumulator takes them: Spark's texts and types, and a constant for DuckDB."""

    args: tuple[str, ...]
    types: tuple[str, ...]
    constant: str = ""


def prepared(argument: physical.Argument, below: DataFrame) -> Prepared:
    """The arguments of an aggregate, cast where it takes only a few types."""
    args = () if argument.args == ("*",) else argument.args
    constant = ""
    if argument.function in ("percentile", "approx_count_distinct"):
        args, constant = args[:1], (argument.args[1] if len(argument.args) > 1 else "")
    types = [known_type(arg, below) for arg in args]
    for arg in args if argument.distinct else args[-1:] if argument.function in COMPARING else ():
        compared_type(arg, below)
    wanted = [argument_cast(argument.function, type_) or type_ for type_ in types]
    cast = [as_type(*given) for given in zip(args, types, wanted, strict=True)]
    types = wanted
    if argument.function == "approx_count_distinct":
        hash_ = f"CASE WHEN {cast[0]} IS NOT NULL THEN xxhash64({cast[0]}) END"
        return Prepared((hash_,), ("bigint",), _as_duck(argument, (0.001, 0.39), below) if constant else "")
    if argument.function == "percentile":
        return Prepared(tuple(cast), (*types, type_of(constant, below)), _as_duck(argument, (0, 1), below))
    return Prepared(tuple(cast), tuple(types))


def as_type(sql: str, type_: str, wanted: str) -> str:
    """An expression cast where it must be: uncast, a column is the one that others read too.

    >>> as_type("v", "float", "double"), as_type("v", "double", "double")
    ('CAST(v AS double)', '(v)')
    """
    return f"({sql})" if type_ == wanted else f"CAST({sql} AS {wanted})"


def accumulated(argument: physical.Argument, given: Prepared) -> Accumulator:
    """The accumulator of an aggregate by itself."""
    return _found(argument.function, argument, given)


def _found(function: str, argument: physical.Argument, given: Prepared) -> Accumulator:
    found = accumulator(function, given.types, argument.distinct, argument.ignore_nulls, given.constant)
    if found is None:
        raise PanesError("not-executable", f"{argument.text} has no accumulator yet")
    return found


def _as_duck(argument: physical.Argument, between: tuple[float, float], below: DataFrame) -> str:
    """The second argument, a constant of Spark's, as text for DuckDB."""
    value = below.sparkSession.sql(f"SELECT {argument.args[1]} AS v").collect()[0]["v"]
    several = isinstance(value, list)
    numbers = [float(one) if one is not None else nan for one in (value if several else [value])]
    if not numbers or not all(between[0] <= one <= between[1] for one in numbers):
        message = f"{argument.args[1]} in {argument.text} is not from {between[0]} to {between[1]}"
        raise PanesError("function-arguments", message)
    return str(numbers if several else numbers[0])
