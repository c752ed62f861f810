"""The built-in stateful functions: a row of BUILT_INS holds everything that is asked about one.

A row's kernel function stands under the same name in `panes.kernels.stateful.table`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from panes.functions.signature import Param, Signature, Takes


class Role(Enum):
    """What an argument is to its function. A parameter has the role of its name."""

    VALUE = "x"
    OFFSET = "n"
    DEFAULT = "default"
    IGNORE_NULL = "ignore_null"
    BEGIN = "begin"
    RESET = "reset"


@dataclass(frozen=True)
class BuiltIn:
    """A stateful function that a kernel function computes.

    result                    the Spark type of what it gives, for the Spark types of its values x
    ignores_nulls_on_request  whether it takes IGNORE NULLS
    compares                  whether it compares its values with those of other rows
    accumulates               the aggregate of which it gives the running value
    """

    name: str
    signature: Signature
    result: Callable[[Sequence[str]], str]
    ignores_nulls_on_request: bool = False
    compares: bool = False
    accumulates: str | None = None

    def return_type(self, input_types: Sequence[str]) -> str:
        """The Spark type of what it gives, for the Spark types of all its arguments."""
        return self.result([type_ for index, type_ in enumerate(input_types) if self.role(index) is Role.VALUE])

    def role(self, index: int) -> Role:
        """The role of an argument."""
        return Role(self.signature.param(index).name)


def _first(types: Sequence[str]) -> str:
    return types[0]


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
_DEFAULT = Param("default", optional=True)
_IGNORE_NULL = Param("ignore_null", Takes.BOOLEAN)
_LAG = Signature((_X, Param("n", Takes.COUNT, optional=True), _DEFAULT))
_LATEST = Signature((_X, _DEFAULT))
_CHANGED = Signature((_IGNORE_NULL, _X))
_HAD_CHANGED = Signature((_IGNORE_NULL, Param("x", repeated=True)))
_ACC = Signature((_X, Param("begin", Takes.CONDITION, optional=True), Param("reset", Takes.CONDITION, optional=True)))

BUILT_INS = (
    BuiltIn("lag", _LAG, _first, ignores_nulls_on_request=True),
    BuiltIn("latest", _LATEST, _first),
    BuiltIn("changed_col", _CHANGED, _first, compares=True),
    BuiltIn("had_changed", _HAD_CHANGED, _always("boolean"), compares=True),
    BuiltIn("acc_sum", _ACC, _sum, accumulates="sum"),
    BuiltIn("acc_avg", _ACC, _avg, accumulates="avg"),
    BuiltIn("acc_min", _ACC, _first, compares=True, accumulates="min"),
    BuiltIn("acc_max", _ACC, _first, compares=True, accumulates="max"),
    BuiltIn("acc_count", _ACC, _always("bigint"), accumulates="count"),
    BuiltIn("row_number", Signature(), _always("bigint")),
)
