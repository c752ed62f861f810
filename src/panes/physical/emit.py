"""The EMIT table: which emit mode each feature of a query has, and which EMIT it accepts.

| feature | EMIT |
|---|---|
| tumbling, hopping, session | ON WINDOW CLOSE (default), CHANGES |
| OVER | ON WINDOW CLOSE (default in event time), CHANGES (needed in arrival mode; always so on a changelog) |
| stateful functions, count, state, sliding | on release (default); in event time IMMEDIATELY |

EMIT speaks of the last feature that the statement evaluates; those below it keep their default.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias, assert_never

from panes.errors import PanesError
from panes.logical.plan import OverWindow, Plan, StatefulFunction, Window, children
from panes.logical.traits import Clock, traits
from panes.sql.statements import Emit, EmitClause
from panes.sql.window_kinds import TimeWindow
from panes.sql.window_kinds import Window as Kinds

Feature: TypeAlias = StatefulFunction | Window | OverWindow


@dataclass(frozen=True)
class EmitDecision:
    """The features that emit changes, or whether the order-sensitive ones emit immediately."""

    changes: tuple[Feature, ...] = ()
    immediately: bool = False

    def emits_changes(self, feature: Feature) -> bool:
        return any(feature is one for one in self.changes)


def decide(plan: Plan, clause: EmitClause | None) -> EmitDecision:
    """Check the EMIT of a statement against the features of its plan."""
    if clause is None:
        return EmitDecision()
    found = features(plan)
    if not found:
        hint = "EMIT says when a window or an OVER comes out: leave it out here."
        raise PanesError("unsupported-clause", f"EMIT {clause.emit.value} without a window", clause.span, hint)
    last = found[0]
    match clause.emit:
        case Emit.ON_WINDOW_CLOSE:
            if not (is_time_window(last) or isinstance(last, OverWindow)):
                raise _refused(clause, last, "It emits as soon as its rows are released: leave EMIT out.")
            if isinstance(last, OverWindow) and traits(last.input).changelog:
                raise _refused(clause, last, "The result of a changelog is a changelog: leave EMIT out.")
            if isinstance(last, OverWindow) and _has_no_clock(last):
                raise _refused(clause, last, "In arrival mode no row is ever final: EMIT CHANGES.")
            return EmitDecision()
        case Emit.CHANGES:
            if not (is_time_window(last) or isinstance(last, OverWindow)):
                raise _refused(clause, last, "Its results are final when they come out: leave EMIT out.")
            top = takewhile(lambda feature: isinstance(feature, OverWindow), found)
            return EmitDecision(changes=tuple(top) or (last,))
        case Emit.IMMEDIATELY:
            for feature in found:
                if is_time_window(feature) or isinstance(feature, OverWindow):
                    raise _refused(clause, feature, "EMIT CHANGES shows results before they are final.")
                if isinstance(feature, Window) and _looks_ahead(feature):
                    raise _refused(clause, feature, "A lookahead waits for the rows to come: leave EMIT out.")
            if traits(found[-1].input).clock != Clock.EVENT_TIME:
                raise _refused(clause, last, "In arrival mode nothing waits: leave EMIT out.")
            return EmitDecision(immediately=True)
        case _:
            assert_never(clause.emit)


def _has_no_clock(over: OverWindow) -> bool:
    inner = traits(over.input)
    bounded = any(expr.column is not None and expr.column.lower() in inner.bounds for expr in over.partition_by)
    return inner.streaming and inner.clock != Clock.EVENT_TIME and not bounded


def _looks_ahead(window: Window) -> bool:
    return isinstance(window.kind, Kinds.Sliding) and window.kind.lookahead is not None


def features(plan: Plan) -> list[Feature]:
    """Everything in the plan that keeps state, last evaluated first."""
    own: list[Feature] = [plan] if isinstance(plan, StatefulFunction | Window | OverWindow) else []
    return own + [feature for child in children(plan) for feature in features(child)]


def is_time_window(feature: Feature) -> bool:
    return isinstance(feature, Window) and isinstance(feature.kind, TimeWindow)


def _refused(clause: EmitClause, feature: Feature, hint: str) -> PanesError:
    match feature:
        case OverWindow():
            what = "an OVER window"
        case StatefulFunction():
            what = "a stateful function"
        case Window(kind=kind):
            what = f"a {type(kind).__name__.lower()} window"
        case _:
            assert_never(feature)
    return PanesError("unsupported-clause", f"EMIT {clause.emit.value} on {what}", clause.span, hint)
