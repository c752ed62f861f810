"""Which types kernels can hold, and which of them they can compare; told from the schema alone, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegerType,
    MapType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    VariantType,
    YearMonthIntervalType,
)

from panes.errors import PanesError
from panes.spark.expressions import compared_type, known_type


@dataclass(frozen=True)
class Typed:
    """Rows whose every expression is of one type."""

    type: DataType

    def selectExpr(self, text: str) -> Typed:  # noqa: N802
        return self

    @property
    def schema(self) -> StructType:
        return StructType().add("x", self.type)


def rows(type_: DataType) -> DataFrame:
    return cast(DataFrame, Typed(type_))


def struct(name: str, type_: DataType) -> StructType:
    return StructType().add(name, type_)


COLLATED = StringType("UTF8_LCASE")
COMPARED = [
    IntegerType(), DoubleType(), DecimalType(10, 2), StringType(), TimestampNTZType(), ArrayType(StringType()),
    struct("interval", IntegerType()), struct("variant", ArrayType(struct("map", StringType()))),
]  # fmt: skip
HELD = [
    COLLATED,
    ArrayType(COLLATED),
    MapType(StringType(), IntegerType()),
    struct("a", MapType(StringType(), COLLATED)),
]
NOT_HELD = [
    VariantType(), NullType(), CalendarIntervalType(), DayTimeIntervalType(), YearMonthIntervalType(),
    ArrayType(DayTimeIntervalType()), MapType(StringType(), VariantType()), struct("a", YearMonthIntervalType()),
]  # fmt: skip


def refused(of: Any, type_: DataType) -> str:
    with pytest.raises(PanesError) as caught:
        of("k", rows(type_))
    return caught.value.code


@pytest.mark.parametrize("type_", COMPARED, ids=DataType.simpleString)
def test_types_that_are_compared(type_: Any) -> None:
    assert compared_type("k", rows(type_)) == known_type("k", rows(type_)) == type_.simpleString()


@pytest.mark.parametrize("type_", HELD, ids=DataType.simpleString)
def test_types_that_go_through_but_are_not_compared(type_: DataType) -> None:
    assert known_type("k", rows(type_)) == type_.simpleString()
    assert refused(compared_type, type_) == "not-executable"


@pytest.mark.parametrize("type_", NOT_HELD, ids=DataType.simpleString)
def test_types_that_are_not_held(type_: Any) -> None:
    assert refused(known_type, type_) == refused(compared_type, type_) == "not-executable"
