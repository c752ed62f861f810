"""The lengths of a window, from the arguments of its call: a unit and numbers, or intervals.

hoppingwindow('ss', 10, 2)      hoppingwindow(INTERVAL 10 SECONDS, INTERVAL 2 SECONDS)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from panes.errors import PanesError, suggestion
from panes.sql.calls import Call
from panes.sql.constants import Length
from panes.sql.duration import LONGEST, TimeUnit
from panes.sql.expr import Expr


@dataclass(frozen=True)
class Wanted:
    """A length that a window takes, and what it must be at least."""

    name: str
    least: int = 1
    optional: bool = False


def lengths(call: Call, wanted: Sequence[Wanted], usage: str) -> tuple[TimeUnit, list[int]]:
    """The unit, and the lengths in it; an optional one that is not given is left out."""
    as_intervals = bool(call.args) and call.args[0].string is None and isinstance(call.args[0].constant, Length)
    args = call.args if as_intervals else call.args[1:]
    least = sum(not one.optional for one in wanted)
    if not call.args or not least <= len(args) <= len(wanted):
        more = 0 if as_intervals else 1
        counts = " or ".join(str(number + more) for number in range(least, len(wanted) + 1))
        noun = "argument" if counts == "1" else "arguments"
        raise PanesError(
            "window-arguments", f"{call.name} takes {counts} {noun}, not {len(call.args)}", call.span, usage
        )
    named = list(zip(args, wanted, strict=False))
    if as_intervals:
        return _largest_unit([_microseconds(call, arg, one, usage) for arg, one in named])
    unit = _unit(call, call.args[0], usage)
    return unit, [number(call, arg, one, usage, unit) for arg, one in named]


def number(call: Call, arg: Expr, wanted: Wanted, usage: str, unit: TimeUnit | None = None) -> int:
    """An unsigned literal; without a unit it counts rows."""
    value = arg.unsigned
    if value is None:
        message = f"{wanted.name} of {call.name} must be an unsigned integer literal"
        raise PanesError("window-arguments", message, arg.span, usage)
    if value < wanted.least:
        raise PanesError("window-arguments", f"{wanted.name} of {call.name} must be above 0", arg.span, usage)
    if value * (unit.microseconds if unit is not None else 1) > LONGEST:
        beyond = "beyond 10,000 years" if unit is not None else f"more than {LONGEST} rows"
        raise PanesError("window-arguments", f"{wanted.name} of {call.name} is {beyond}", arg.span, usage)
    return value


def _microseconds(call: Call, arg: Expr, wanted: Wanted, usage: str) -> int:
    value = arg.constant
    if not isinstance(value, Length):
        raise PanesError("window-arguments", f"{wanted.name} of {call.name} must be an interval too", arg.span, usage)
    if value.months:
        hint = "Months differ in length: count in days, hours or less."
        raise PanesError("window-arguments", f"{wanted.name} of {call.name} is in months", arg.span, hint)
    least = wanted.least * TimeUnit.MILLISECONDS.microseconds
    if value.microseconds % TimeUnit.MILLISECONDS.microseconds or value.microseconds < least:
        atleast = "above 0" if wanted.least else "not negative"
        message = f"{wanted.name} of {call.name} must be whole milliseconds, {atleast}"
        raise PanesError("window-arguments", message, arg.span, usage)
    if value.microseconds > LONGEST:
        raise PanesError("window-arguments", f"{wanted.name} of {call.name} is beyond 10,000 years", arg.span, usage)
    return int(value.microseconds)


def _largest_unit(found: Sequence[int]) -> tuple[TimeUnit, list[int]]:
    """Lengths in the largest unit that divides them all."""
    divides = [unit for unit in TimeUnit if not any(length % unit.microseconds for length in found)]
    unit = max(divides, key=lambda one: one.microseconds)
    return unit, [length // unit.microseconds for length in found]


def _unit(call: Call, arg: Expr, usage: str) -> TimeUnit:
    text = arg.string
    if text is None:
        message = f"the unit of {call.name} must be a string literal"
        raise PanesError("window-arguments", message, arg.span, usage)
    word = f"{text.upper().removesuffix('S')}S"
    if word in TimeUnit.__members__:
        return TimeUnit[word]
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
