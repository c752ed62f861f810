"""`window_start()`, `window_end()` and `window_trigger()`: each becomes a placeholder that the window fills."""

from __future__ import annotations

from collections.abc import Sequence

from panes.errors import PanesError
from panes.functions.signature import Signature
from panes.functions.taken import BOUNDS
from panes.sql.arguments import checked
from panes.sql.calls import Call, calls_in, rewrite_calls
from panes.sql.stateful import Mappings
from panes.sql.tokens import Token, span_of
from panes.sql.window_kinds import Window
from panes.sql.windows import Kind


def rewrite_bounds(tokens: Sequence[Token], window: Kind | None, mappings: Mappings) -> tuple[Token, ...]:
    """The tokens with a placeholder for each bound of the window."""

    def placeholder(call: Call) -> Token:
        checked(call, Signature())
        if call.over is not None or call.filter is not None:
            raise PanesError("over-not-allowed", f"{call.name} stands alone", call.span)
        if window is None:
            hint = f"Add GROUP BY tumblingwindow('ss', 10) or another window, or select {call.name}() in the sub-query."
            raise PanesError("window-not-in-group-by", f"{call.name}() without a window", call.span, hint)
        if call.name == "window_trigger" and not isinstance(window, Window.Sliding):
            hint = "Only a slidingwindow has triggers."
            raise PanesError("window-not-in-group-by", "window_trigger() without a slidingwindow", call.span, hint)
        return mappings.placeholder(call)

    return rewrite_calls(tokens, lambda _, place: place.name in BOUNDS, placeholder)


def refuse_bounds(tokens: Sequence[Token], where: str) -> None:
    """Refuse a bound where the window does not exist yet."""
    for place in calls_in(tokens):
        if place.name in BOUNDS:
            at = span_of(tokens[place.start : place.end + 1])
            hint = "A window's bounds are known after GROUP BY: in SELECT, HAVING and QUALIFY."
            raise PanesError("window-not-in-group-by", f"{place.name}() in {where}", at, hint)
