"""What identifies a row of a result that changes: the key of its stream, or its window and the keys of GROUP BY."""

from __future__ import annotations

from collections.abc import Sequence

from panes.logical.plan import Aggregation, Plan, Window, children
from panes.logical.traits import traits


def missing_of_key(plan: Plan, key: Sequence[str]) -> str | None:
    """What these columns of a result lack to identify its rows; None if they do."""
    given = {name.lower() for name in key}
    known = traits(plan)
    window = next((one for one in _below(plan) if isinstance(one, Window)), None)
    grouped = next((one for one in _below(plan) if isinstance(one, Aggregation)), None)
    if window is not None and grouped is None:
        return "what tells the rows of overlapping windows apart: nothing does"
    if grouped is not None:
        if not known.bounds & given:
            return "a bound of the window"
        if len(known.key) < len(grouped.keys):
            return "a key of GROUP BY that is not selected"
    elif not known.key:
        return "the key of the stream, which is not declared or not selected"
    return ", ".join(name for name in known.key if name not in given) or None


def result_key(plan: Plan) -> tuple[str, ...]:
    """The columns of a result that identify its rows, in lower case; none if they do not.

    Of a window's bounds one is enough: the other follows from it, but for sessions, where one is as good as the other.
    """
    known = traits(plan)
    key = (*sorted(known.bounds)[:1], *known.key)
    return key if missing_of_key(plan, key) is None else ()


def _below(plan: Plan) -> list[Plan]:
    """A plan and all below it, from the top."""
    return [plan, *(one for child in children(plan) for one in _below(child))]
