"""What a sketch can do, and its functions as DuckDB calls them: each takes a whole column at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import duckdb
import pyarrow as pa
from duckdb.func import ARROW, SPECIAL

from panes.kernels.sketches.distinct import Distinct
from panes.kernels.sketches.lists import Column, Places
from panes.kernels.sketches.moments import STATE_SQL as MOMENTS_SQL
from panes.kernels.sketches.moments import Moments
from panes.kernels.sketches.quantiles import STATE_SQL, Quantiles


class Sketch(Protocol):
    """A summary of values. `sql` is the text of one of its functions, over what is folded, merged or evaluated."""

    @property
    def state_type(self) -> pa.DataType: ...

    def fold(self, values: Column) -> pa.Array:
        """The state of each list of values."""
        ...

    def merge(self, states: Column) -> pa.Array:
        """The state of each list of states."""
        ...

    def evaluate(self, states: Column) -> pa.Array:
        """The value of each state; one that is NULL has seen nothing."""
        ...

    def running(self, values: Column, segment: Places, before: Column) -> pa.Array:
        """At each row the value of its segment's rows up to it, with the state before; NULLs do not count."""
        ...

    def sql(self, step: str, column: str) -> str: ...


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Make the functions known to a connection."""
    options = ["BIGINT", "BIGINT"]
    _register(con, "distinct_fold", _step(Distinct, "fold"), ["BIGINT[]", *options], "BIGINT[]")
    _register(con, "distinct_merge", _step(Distinct, "merge"), ["BIGINT[][]", *options], "BIGINT[]")
    _register(con, "distinct_evaluate", _step(Distinct, "evaluate"), ["BIGINT[]", *options], "BIGINT")
    options = ["BIGINT", "DOUBLE[]"]
    _register(con, "quantiles_fold", _step(Quantiles, "fold"), ["DOUBLE[]", *options], STATE_SQL)
    _register(con, "quantiles_merge", _step(Quantiles, "merge"), [f"{STATE_SQL}[]", *options], STATE_SQL)
    _register(con, "quantiles_evaluate", _step(Quantiles, "evaluate"), [STATE_SQL, *options], "DOUBLE[]")
    _register(con, "moments_fold", _step_of_one(Moments, "fold"), ["DOUBLE[]", "BIGINT"], MOMENTS_SQL)
    _register(con, "moments_merge", _step_of_one(Moments, "merge"), [f"{MOMENTS_SQL}[]", "BIGINT"], MOMENTS_SQL)
    _register(con, "moments_evaluate", _step_of_one(Moments, "evaluate"), [MOMENTS_SQL, "BIGINT"], "DOUBLE")


def _register(
    con: duckdb.DuckDBPyConnection, name: str, function: Callable[..., pa.Array], takes: list[str], gives: str
) -> None:
    con.create_function(name, function, [*takes], gives, type=ARROW, null_handling=SPECIAL)


def _step(make: Callable[..., Any], step: str) -> Callable[..., pa.Array]:
    """A step of a sketch, whose options are the same in all rows."""

    def function(column: Column, first: Column, second: Column) -> pa.Array:
        sketch = make(first[0].as_py(), _option(second[0].as_py()))
        return getattr(sketch, step)(column)

    return function


def _step_of_one(make: Callable[..., Any], step: str) -> Callable[..., pa.Array]:
    """A step of a sketch that has one option."""

    def function(column: Column, option: Column) -> pa.Array:
        return getattr(make(option[0].as_py()), step)(column)

    return function


def _option(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
