"""Whether an expression is a Boolean, as far as that can be told without Spark."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from panes.errors import PanesError
from panes.sql.expr import Expr

YES = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.And, exp.Or, exp.Not,
    exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Exists, exp.Boolean, exp.Null,
)  # fmt: skip
NO = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.Literal, exp.Interval)

TypeOf = Callable[[str], str | None]


def is_boolean(tree: exp.Expr, type_of: TypeOf) -> bool | None:
    """True, False, or None where only Spark can tell; a NULL literal is a Boolean."""
    if isinstance(tree, exp.Paren):
        return is_boolean(tree.this, type_of)
    if isinstance(tree, YES):
        return True
    if isinstance(tree, NO):
        return False
    if isinstance(tree, exp.Cast | exp.TryCast):
        return bool(tree.to.this == exp.DType.BOOLEAN)
    if isinstance(tree, exp.Column) and len(tree.parts) == 1:
        known = type_of(tree.name)
        return None if known is None else known == "boolean"
    return None


def check_boolean(condition: Expr, what: str, type_of: TypeOf, code: str = "not-boolean") -> None:
    """Refuse a condition that cannot be a Boolean."""
    if is_boolean(condition.tree, type_of) is False:
        hint = f"Compare it: {condition.sql} <> 0, or {condition.sql} IS NOT NULL."
        raise PanesError(code, f"{what} is not a Boolean", condition.span, hint)
