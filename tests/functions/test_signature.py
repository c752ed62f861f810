"""Signatures: how many arguments, what each takes, how it is written."""

from typing import Any

import pytest

from panes.functions import Functions
from panes.functions.signature import Param, Signature, Takes

X = Param("x")
N = Param("n", Takes.COUNT, optional=True)


@pytest.mark.parametrize(
    ("params", "usage", "minimum", "maximum"),
    [
        ((), "f()", 0, 0),
        ((X,), "f(x)", 1, 1),
        ((X, N), "f(x [, n])", 1, 2),
        ((X, N, Param("default", optional=True)), "f(x [, n [, default]])", 1, 3),
        ((X, Param("y", repeated=True)), "f(x, y, …)", 2, None),
        ((Param("x", optional=True, repeated=True),), "f([x, …])", 0, None),
        ((Param("x", repeated=True),), "f(x, …)", 1, None),
    ],
)
def test_usage_and_arity(params: tuple[Param, ...], usage: str, minimum: int, maximum: int | None) -> None:
    signature = Signature(params)
    assert (signature.usage("f"), signature.minimum, signature.maximum) == (usage, minimum, maximum)


def test_the_last_parameter_repeats() -> None:
    signature = Signature((X, Param("y", Takes.BOOLEAN, repeated=True)))
    assert [signature.param(index).name for index in range(4)] == ["x", "y", "y", "y"]


def test_required_parameters_come_first() -> None:
    functions = Functions()
    entries: list[Any] = [functions.stateful.get(name) for name in functions.stateful.names()]
    entries += [functions.aggregates.get(name) for name in functions.aggregates]
    entries += [functions.over.get(name) for name in functions.over]
    for entry in entries:
        optional = [param.optional for param in entry.signature.params]
        assert optional == sorted(optional), entry.name
        assert not any(param.repeated for param in entry.signature.params[:-1]), entry.name
