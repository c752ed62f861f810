"""Whether a call's arguments fit the signature of its function."""

from __future__ import annotations

from typing import assert_never

from panes.errors import PanesError
from panes.functions.signature import Signature, Takes
from panes.sql.calls import Call
from panes.sql.expr import Expr
from panes.sql.over import MOST_ROWS


def check_arguments(call: Call, signature: Signature, code: str = "function-arguments") -> None:
    """Refuse a wrong number of arguments, and a literal parameter that is not a literal."""
    usage = f"Usage: {signature.usage(call.name)}."
    given, most = len(call.args), signature.maximum
    if given < signature.minimum or (most is not None and given > most):
        raise PanesError(code, f"{call.name} takes {_number(signature)}, not {given}", call.span, usage)
    for index, arg in enumerate(call.args):
        param = signature.param(index)
        if not _fits(arg, param.takes):
            raise PanesError(code, f"{param.name} of {call.name} must be {param.takes.value}", arg.span, usage)
        if param.takes in (Takes.COUNT, Takes.POSITIVE) and (arg.unsigned or 0) > MOST_ROWS:
            raise PanesError(code, f"{param.name} of {call.name} must be at most {MOST_ROWS}", arg.span, usage)


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
        case Takes.COUNT:
            return arg.unsigned is not None
        case Takes.POSITIVE:
            return bool(arg.unsigned)
        case Takes.CONSTANT:
            return not arg.columns
        case _:
            assert_never(takes)
