"""The rows of the built-in stateful functions."""

from typing import Any

import pytest

from panes.functions import Functions
from panes.functions.signature import Takes
from panes.functions.stateful.built_ins import BUILT_INS, Role


@pytest.mark.parametrize("row", BUILT_INS, ids=lambda row: row.name)
def test_every_parameter_has_a_role(row: Any) -> None:
    """The roles of constants and conditions agree with what the parameters take."""
    takes = {Role.OFFSET: Takes.COUNT, Role.IGNORE_NULL: Takes.BOOLEAN, Role.BEGIN: Takes.CONDITION}
    takes |= {Role.RESET: Takes.CONDITION}
    for index, param in enumerate(row.signature.params):
        assert param.takes is takes.get(row.role(index), Takes.VALUE)


@pytest.mark.parametrize("row", BUILT_INS, ids=lambda row: row.name)
def test_what_accumulates_names_an_aggregate(row: Any) -> None:
    assert row.accumulates is None or row.accumulates in Functions().aggregates


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("lag", ["string"], "string"),
        ("latest", ["timestamp"], "timestamp"),
        ("changed_col", ["boolean", "int"], "int"),
        ("had_changed", ["boolean", "int", "string"], "boolean"),
        ("acc_sum", ["tinyint"], "bigint"),
        ("acc_sum", ["bigint"], "bigint"),
        ("acc_sum", ["float"], "double"),
        ("acc_sum", ["decimal(10,2)"], "decimal(20,2)"),
        ("acc_sum", ["decimal(35,2)"], "decimal(38,2)"),
        ("acc_avg", ["int"], "double"),
        ("acc_avg", ["decimal(10,2)"], "decimal(14,6)"),
        ("acc_avg", ["decimal(38,2)"], "decimal(38,6)"),
        ("acc_min", ["date"], "date"),
        ("acc_max", ["string"], "string"),
        ("acc_count", ["string"], "bigint"),
        ("row_number", [], "bigint"),
    ],
)
def test_types_of_stateful_results(name: Any, types: Any, result: Any) -> None:
    function = Functions().stateful.get(name)
    assert function is not None and function.return_type(types) == result
