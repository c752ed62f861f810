"""The type that a user's stateful function says it returns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from panes.errors import PanesError
from panes.functions.stateful import StatefulFunction
from panes.spark.expressions import NOT_HELD, with_nested


def returned_type(function: StatefulFunction, types: Sequence[str], spark: SparkSession) -> str:
    """The type of the values, if it is one of Spark's that kernels can hold."""
    try:
        given = function.return_type(types)
    except Exception as error:
        raise PanesError("function-failed", f"{function.name}: return_type of {list(types)}: {error!r}") from error
    found = _parsed(given, spark)
    if found is None or any(isinstance(one, NOT_HELD) for one in with_nested(found)):
        hint = "Name a type of Spark: bigint, double, string, decimal(20,2), array<string>, …"
        problem = "which is no type of Spark" if found is None else "which no kernel can hold"
        raise PanesError("function-arguments", f"{function.name} returns {given!r}, {problem}", None, hint)
    return found.simpleString()


def _parsed(given: object, spark: SparkSession) -> DataType | None:
    if not isinstance(given, str):
        return None
    try:
        return spark.sql(f"SELECT CAST(NULL AS {given}) AS x").schema["x"].dataType
    except PySparkException:
        return None
