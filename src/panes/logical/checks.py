"""What the compiler itself must know of expressions: conditions are Booleans."""

from __future__ import annotations

from dataclasses import dataclass

from panes.functions import Functions
from panes.functions.signature import Takes
from panes.logical.booleans import TypeOf, check_boolean
from panes.sql.calls import Call
from panes.sql.expr import Expr

MOST_QUERIES = 1_000


@dataclass(frozen=True)
class Checks:
    """What the compiler itself must know of expressions."""

    functions: Functions
    type_of: TypeOf

    def boolean(self, condition: Expr, what: str, code: str = "not-boolean") -> None:
        check_boolean(condition, what, self.type_of, code)

    def call(self, call: Call) -> None:
        """Conditions of a call are Booleans, and everything in it parses."""
        for condition in (call.filter, call.over.when if call.over else None):
            if condition is not None:
                self.boolean(condition, "the condition")
        function = (
            (self.functions.stateful.get(call.name) if call.over and not call.over.order_by else None)
            or self.functions.over.get(call.name)
            or self.functions.aggregates.get(call.name)
        )
        if function is None:
            return
        for index, arg in enumerate(call.args):
            if function.signature.params and function.signature.param(index).takes == Takes.CONDITION:
                self.boolean(arg, f"an argument of {call.name}", "function-arguments")
