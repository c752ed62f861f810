"""The windows of GROUP BY: how each is read from its call."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TypeAlias

from panes.errors import PanesError, suggestion
from panes.sql.calls import Call
from panes.sql.duration import LONGEST, TimeUnit
from panes.sql.expr import Expr
from panes.sql.over import Over
from panes.sql.window_kinds import Window, WindowKind

Kind: TypeAlias = WindowKind[Expr]

USAGE = {
    "tumblingwindow": "tumblingwindow(unit, length)",
    "hoppingwindow": "hoppingwindow(unit, size, hop)",
    "sessionwindow": "sessionwindow(unit, gap)",
    "countwindow": "countwindow(n [, every]) [OVER (PARTITION BY …)]",
    "slidingwindow": "slidingwindow(unit, lookback [, lookahead]) [OVER ([PARTITION BY …] [WHEN …])]",
    "statewindow": "statewindow(open, emit) [OVER (PARTITION BY …)]",
}


def is_window(name: str) -> bool:
    return name.lower() in USAGE


def parse_window(call: Call) -> Kind:
    """A window from its call; every restriction of its arguments and its OVER is checked here."""
    if call.distinct or call.filter is not None or call.ignore_nulls is not None:
        raise PanesError("window-arguments", f"{call.name} takes plain arguments", call.span, _usage(call))
    return _PARSERS[call.name](call)


def _tumbling(call: Call) -> Kind:
    _arity(call, 2, 2)
    _no_over(call)
    return Window.Tumbling(_unit(call, 0), _number(call, 1, "length"))


def _hopping(call: Call) -> Kind:
    _arity(call, 3, 3)
    _no_over(call)
    return Window.Hopping(_unit(call, 0), _number(call, 1, "size"), _number(call, 2, "hop"))


def _session(call: Call) -> Kind:
    _arity(call, 2, 2)
    _no_over(call)
    return Window.Session(_unit(call, 0), _number(call, 1, "gap"))


def _count(call: Call) -> Kind:
    _arity(call, 1, 2)
    every = _number(call, 1, "every") if len(call.args) == 2 else None
    return Window.Count(_number(call, 0, "n"), every, _over(call).partition_by)


def _sliding(call: Call) -> Kind:
    _arity(call, 2, 3)
    over = _over(call, when=True)
    lookahead = _number(call, 2, "lookahead", least=0) if len(call.args) == 3 else None
    lookback = _number(call, 1, "lookback", least=0)
    return Window.Sliding(_unit(call, 0), lookback, lookahead, over.partition_by, over.when)


def _state(call: Call) -> Kind:
    _arity(call, 2, 2)
    return Window.State(call.args[0], call.args[1], _over(call).partition_by)


_PARSERS: dict[str, Callable[[Call], Kind]] = {
    "tumblingwindow": _tumbling,
    "hoppingwindow": _hopping,
    "sessionwindow": _session,
    "countwindow": _count,
    "slidingwindow": _sliding,
    "statewindow": _state,
}


def _usage(call: Call) -> str:
    return f"Usage: {USAGE[call.name]}."


def _arity(call: Call, least: int, most: int) -> None:
    given = len(call.args)
    if not least <= given <= most:
        wanted = f"{least} arguments" if least == most else f"{least} or {most} arguments"
        raise PanesError("window-arguments", f"{call.name} takes {wanted}, not {given}", call.span, _usage(call))


def _unit(call: Call, index: int) -> TimeUnit:
    arg = call.args[index]
    text = arg.string
    if text is None:
        raise PanesError(
            "window-arguments", f"the unit of {call.name} must be a string literal", arg.span, _usage(call)
        )
    try:
        return TimeUnit(text)
    except ValueError:
        raise PanesError("unknown-time-unit", f"{text!r} is not a unit of time", arg.span, _unit_meant(text)) from None


def _unit_meant(text: str) -> str | None:
    """A hint for a unit that is written as a word, whole or cut short: `mins` and `m` are minutes."""
    word = text.lower()
    often = sorted(TimeUnit, key=lambda unit: unit is TimeUnit.MILLISECONDS)
    found = [unit.value for unit in often if word and unit.name.lower().startswith(word.removesuffix("s"))]
    found += [unit.value for unit in often if get_close_matches(word, [unit.name.lower()], n=1)]
    return f"Did you mean {found[0]}?" if found else suggestion(text, [unit.value for unit in TimeUnit])


def _number(call: Call, index: int, name: str, least: int = 1) -> int:
    arg = call.args[index]
    value = arg.unsigned
    if value is None:
        message = f"{name} of {call.name} must be an unsigned integer literal"
        raise PanesError("window-arguments", message, arg.span, _usage(call))
    if value < least:
        raise PanesError("window-arguments", f"{name} of {call.name} must be above 0", arg.span, _usage(call))
    unit = call.args[0].string if call.name != "countwindow" else None
    scale = next((one.microseconds for one in TimeUnit if one.value == unit), 1)
    if value * scale > LONGEST:
        beyond = "beyond 10,000 years" if unit is not None else f"more than {LONGEST} rows"
        raise PanesError("window-arguments", f"{name} of {call.name} is {beyond}", arg.span, _usage(call))
    return value


def _no_over(call: Call) -> None:
    if call.over is not None:
        raise PanesError(
            "over-not-allowed",
            f"{call.name} takes no OVER",
            call.over.span,
            f"A {call.name} is kept per key of GROUP BY: write GROUP BY {call.name}(…), key.",
        )


def _over(call: Call, when: bool = False) -> Over:
    """The OVER of a count, sliding or state window: PARTITION BY, and WHEN for a sliding one."""
    over = call.over
    if over is None:
        return Over()
    name, span = call.name, over.span
    whole = "or leave OVER out for one window over the whole stream."
    if over.name is not None:
        raise PanesError(
            "over-not-allowed",
            f"{name} takes no named window",
            span,
            f"Write OVER (PARTITION BY key), {whole}",
        )
    if over.order_by:
        hint = f"{name} sees rows in the stream's order; write OVER (PARTITION BY key)."
        raise PanesError("over-order-by-not-allowed", f"ORDER BY in the OVER of {name}", over.order_span, hint)
    if over.frame is not None:
        raise PanesError("over-not-allowed", f"{name} takes no frame", over.frame.span, _usage(call))
    if over.when is not None and not when:
        raise PanesError("over-not-allowed", f"{name} takes no WHEN", over.when.span, _usage(call))
    if not over.partition_by and over.when is None:
        raise PanesError(
            "over-needs-partition-by",
            f"{name} OVER () has no PARTITION BY",
            span,
            f"Write OVER (PARTITION BY key), {whole}",
        )
    return over
