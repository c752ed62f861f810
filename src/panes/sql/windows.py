"""The windows of GROUP BY: how each is read from its call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from panes.errors import PanesError
from panes.sql.calls import Call
from panes.sql.expr import Expr
from panes.sql.lengths import Wanted, lengths, number
from panes.sql.named_options import no_options, options_of, with_options
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
COUNTED = (Wanted("n"), Wanted("every"))
AROUND = (Wanted("lookback", least=0), Wanted("lookahead", least=0, optional=True))


def is_window(name: str) -> bool:
    return name.lower() in USAGE


def parse_window(call: Call) -> Kind:
    """A window from its call; every restriction of its arguments and its OVER is checked here."""
    if call.distinct or call.within or call.filter is not None or call.ignore_nulls is not None:
        raise PanesError("window-arguments", f"{call.name} takes plain arguments", call.span, _usage(call))
    named = [arg for arg in call.args if arg.named is not None]
    if call.name not in _ALIGNED:
        if named:
            raise no_options(call, named[0])
        return _PARSERS[call.name](call)
    options = options_of(call) if named else {}
    kind = _ALIGNED[call.name](replace(call, args=tuple(arg for arg in call.args if arg.named is None)))
    return with_options(kind, call, options) if options else kind


def _tumbling(call: Call) -> Window.Tumbling:
    _no_over(call)
    unit, (length,) = lengths(call, [Wanted("length")], _usage(call))
    return Window.Tumbling(unit, length)


def _hopping(call: Call) -> Window.Hopping:
    _no_over(call)
    unit, (size, hop) = lengths(call, [Wanted("size"), Wanted("hop")], _usage(call))
    return Window.Hopping(unit, size, hop)


def _session(call: Call) -> Kind:
    _no_over(call)
    unit, (gap,) = lengths(call, [Wanted("gap")], _usage(call))
    return Window.Session(unit, gap)


def _count(call: Call) -> Kind:
    _arity(call, 1, 2)
    n, *every = (number(call, *one, _usage(call)) for one in zip(call.args, COUNTED, strict=False))
    return Window.Count(n, every[0] if every else None, _over(call).partition_by)


def _sliding(call: Call) -> Kind:
    over = _over(call, when=True)
    unit, (lookback, *lookahead) = lengths(call, AROUND, _usage(call))
    return Window.Sliding(unit, lookback, lookahead[0] if lookahead else None, over.partition_by, over.when)


def _state(call: Call) -> Kind:
    _arity(call, 2, 2)
    return Window.State(call.args[0], call.args[1], _over(call).partition_by)


_ALIGNED: dict[str, Callable[[Call], Window.Tumbling | Window.Hopping]] = {
    "tumblingwindow": _tumbling,
    "hoppingwindow": _hopping,
}
_PARSERS: dict[str, Callable[[Call], Kind]] = {
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
