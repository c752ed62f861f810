"""Named options of a window's call: `tumblingwindow('dd', 1, offset => INTERVAL 8 HOURS, zone => 'Europe/Berlin')`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias
from zoneinfo import available_timezones

from panes.errors import PanesError, suggestion
from panes.sql.calls import Call
from panes.sql.constants import Length
from panes.sql.duration import TimeUnit
from panes.sql.expr import Expr
from panes.sql.window_kinds import Aligned, Window

EXAMPLE = "Write offset => INTERVAL 8 HOURS or zone => 'Europe/Berlin'."


Moved: TypeAlias = Window.Tumbling | Window.Hopping


def options_of(call: Call) -> dict[str, Expr]:
    """The options of a call, which stand after its other arguments."""
    options: dict[str, Expr] = {}
    for arg in call.args:
        if arg.named is None:
            if options:
                raise _wrong(f"an argument of {call.name} after its options", arg, "Write options last.")
            continue
        name, value = arg.named
        if name not in _READ:
            raise _wrong(f"{name} is not an option of {call.name}", arg, suggestion(name, _READ))
        if name in options:
            raise _wrong(f"{name} of {call.name} is given twice", arg, "Write each option once.")
        if not value.tokens:
            raise _wrong(f"{name} of {call.name} has no value", arg, EXAMPLE)
        options[name] = value
    return options


def with_options(kind: Moved, call: Call, options: Mapping[str, Expr]) -> Moved:
    """The window with options of its call."""
    return replace(kind, **{name: _READ[name](kind, call, value) for name, value in options.items()})


def no_options(call: Call, option: Expr) -> PanesError:
    """The error for an option of a window that takes none."""
    hint = "Only tumblingwindow and hoppingwindow take offset and zone."
    return _wrong(f"{call.name} takes no named options", option, hint)


def _offset(kind: Moved, call: Call, value: Expr) -> int:
    length = value.constant
    what = f"offset of {call.name}"
    if not isinstance(length, Length):
        raise _wrong(f"{what} must be an interval", value, EXAMPLE)
    if length.months:
        raise _wrong(f"{what} is in months", value, "Months differ in length: count in days, hours or less.")
    if length.microseconds % TimeUnit.MILLISECONDS.microseconds:
        raise _wrong(f"{what} must be whole milliseconds", value, EXAMPLE)
    hop = kind.length if isinstance(kind, Window.Tumbling) else kind.hop
    if abs(length.microseconds) >= kind.microseconds(hop):
        which = "length" if isinstance(kind, Window.Tumbling) else "hop"
        hint = f"Windows repeat with the {which}: take what is left of the offset when it is divided by that."
        raise _wrong(f"{what} must be shorter than its {which}", value, hint)
    return int(length.microseconds)


def _zone(kind: Aligned, call: Call, value: Expr) -> str:
    name = value.string
    if name is None:
        raise _wrong(f"zone of {call.name} must be a string literal", value, EXAMPLE)
    if kind.time_unit is not TimeUnit.DAYS:
        hint = "Only days begin by a zone's clock: write 'dd', or intervals of whole days."
        raise _wrong(f"{call.name} with a zone counts in days", value, hint)
    if name not in _zones():
        raise _wrong(f"{name!r} is not a time zone", value, suggestion(name, _zones()))
    return name


_READ: dict[str, Callable[[Any, Call, Expr], Any]] = {"offset": _offset, "zone": _zone}


@lru_cache
def _zones() -> frozenset[str]:
    """All but the machine's own, which is another one elsewhere."""
    return frozenset(available_timezones() - {"localtime"})


def _wrong(message: str, at: Expr, hint: str | None) -> PanesError:
    return PanesError("window-arguments", message, at.span, hint)
