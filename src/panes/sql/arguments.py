"""Whether a call's arguments fit the signature of its function."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from sqlglot import exp

from panes.errors import PanesError
from panes.functions.signature import Signature, Takes
from panes.sql.calls import Call
from panes.sql.constants import MOST_ROWS, Constant, fold, is_null
from panes.sql.expr import Expr, number_expr
from panes.sql.tokens import TokenType, top_level


def checked(call: Call, signature: Signature, usage: str | None = None) -> Call:
    """The call with its numbers computed: `lag(a, 0 + 1)` is `lag(a, 1)`; refused if an argument does not fit."""
    usage = usage or f"Usage: {signature.usage(call.name)}."
    given, most = len(call.args), signature.maximum
    if given < signature.minimum or (most is not None and given > most):
        message = f"{call.name} takes {_number(signature)}, not {given}"
        raise PanesError("function-arguments", message, call.span, usage)
    args: list[Expr] = []
    for index, arg in enumerate(call.args):
        if any(arg.tokens[at].kind == TokenType.FARROW for at in top_level(arg.tokens)):
            raise PanesError("function-arguments", f"{call.name} takes no named arguments", arg.span, usage)
        param = signature.param(index)
        if not _fits(arg, param.takes):
            message = f"{param.name} of {call.name} must be {param.takes.value}"
            raise PanesError("function-arguments", message, arg.span, usage)
        args.append(arg)
        if param.takes in (Takes.COUNT, Takes.POSITIVE) and isinstance(arg.constant, int):
            if arg.constant > MOST_ROWS:
                message = f"{param.name} of {call.name} must be at most {MOST_ROWS}"
                raise PanesError("function-arguments", message, arg.span, usage)
            args[-1] = number_expr(arg.constant, arg.span)
    return replace(call, args=tuple(args))


def _number(signature: Signature) -> str:
    least, most = signature.minimum, signature.maximum
    if most is None:
        return f"{least} or more arguments"
    if least == most:
        return f"{least} argument{'' if least == 1 else 's'}" if least else "no arguments"
    return f"{least} to {most} arguments"


def _fits(arg: Expr, takes: Takes) -> bool:
    match takes:
        case Takes.VALUE | Takes.CONDITION:
            return True
        case Takes.BOOLEAN:
            return arg.boolean is not None
        case Takes.TEXT:
            return not arg.columns
        case Takes.COUNT:
            return isinstance(arg.constant, int) and arg.constant >= 0
        case Takes.POSITIVE:
            return isinstance(arg.constant, int) and arg.constant > 0
        case Takes.PERCENTAGE:
            several = arg.tree.expressions if isinstance(arg.tree, exp.Array) else [arg.tree]
            return not arg.columns and bool(several) and all(_may_be(one, Fraction(0), Fraction(1)) for one in several)
        case Takes.ERROR:
            return not arg.columns and _may_be(arg.tree, Fraction(1, 1000), Fraction(39, 100))
        case _:
            assert_never(takes)


def _may_be(tree: exp.Expr, least: Fraction, most: Fraction) -> bool:
    """Whether a constant lies between two others, as far as that can be told without Spark."""
    value: Constant | None = fold(tree)
    if value is None:
        return not is_null(tree)
    return isinstance(value, int | Fraction) and least <= value <= most
