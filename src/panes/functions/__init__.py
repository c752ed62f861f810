"""The registries: which names are stateful functions, aggregates and OVER functions, and how each is called."""

from __future__ import annotations

from dataclasses import dataclass, field

from panes.functions.aggregates import AGGREGATES, Aggregate
from panes.functions.over import OVER_FUNCTIONS, OverFunction
from panes.functions.registry import Registry
from panes.functions.stateful import BUILT_INS, StatefulFunctionRegistry


def _stateful() -> StatefulFunctionRegistry:
    registry = StatefulFunctionRegistry()
    for function in BUILT_INS:
        registry.register_function(function)
    return registry


def _aggregates() -> Registry[Aggregate]:
    registry = Registry[Aggregate]("aggregate")
    for aggregate in AGGREGATES:
        for name in (aggregate.name, *aggregate.aliases):
            registry.register(name, aggregate)
    return registry


def _over_functions() -> Registry[OverFunction]:
    registry = Registry[OverFunction]("OVER function")
    for function in OVER_FUNCTIONS:
        registry.register(function.name, function)
    return registry


@dataclass(frozen=True)
class Functions:
    """The three registries that a compilation looks names up in."""

    stateful: StatefulFunctionRegistry = field(default_factory=_stateful)
    aggregates: Registry[Aggregate] = field(default_factory=_aggregates)
    over: Registry[OverFunction] = field(default_factory=_over_functions)
