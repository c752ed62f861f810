"""All that is to be said about a query: what waits, for what, and what became of rows that are in no result."""

from __future__ import annotations

from collections.abc import Iterator

from panes.why.facts import Query, State
from panes.why.finding import Cause, Finding
from panes.why.operators import waiting
from panes.why.plan import Waits
from panes.why.rows import filtered, lost
from panes.why.source import backlog, silent, standing_still
from panes.why.words import ago, several


def why(query: Query, now: float) -> list[Finding]:
    """What a query waits for; `now` is in seconds since 1970."""
    if query.state is State.FAILED:
        return [Finding(Cause.FAILED, f"it has failed: {query.error or 'its error is not known'}")]
    found = list(_state(query, now))
    if query.batch is None:
        return found
    found += backlog(query)
    held = [one for operator in query.operators for one in waiting(query, operator)]
    found += held
    found += standing_still(query, now, held)
    found += lost(query, now)
    found += filtered(query)
    found += silent(query, now)
    if query.plan.spark_keeps_state:
        found.append(Finding(Cause.SPARK_STATE, "Spark keeps state of its own for it: what waits there is not known"))
    if all(one.cause is Cause.NOT_RUNNING for one in found):
        found.append(_nothing(query))
    return found


def _state(query: Query, now: float) -> Iterator[Finding]:
    if query.state is State.STOPPED:
        if query.batch is None:
            yield Finding(Cause.NOT_RUNNING, "nothing runs on it, and no micro-batch of it has been committed")
            return
        when = f", which began {ago(now - query.batch_at)} ago" if query.batch_at is not None else ""
        text = f"nothing runs on it here: this is what it held after micro-batch {query.batch:,}{when}"
        hint = "A checkpoint does not count late, filtered and malformed rows: a run does."
        yield Finding(Cause.NOT_RUNNING, text, hint)
    elif query.batch is None:
        since = f" in the {ago(now - query.began)} since the run began" if query.began is not None else " yet"
        text = f"no micro-batch has been done{since}: no row has come, or the first one is still being worked on"
        yield Finding(Cause.NO_BATCH, text)


def _nothing(query: Query) -> Finding:
    plan, totals = query.plan, query.totals
    if not plan.operators:
        text = "nothing waits: what becomes of a row comes out with the micro-batch that brings it"
    elif all(one.waits is Waits.NOTHING for one in plan.operators):
        text = "nothing waits: each micro-batch gives out what it changes"
    else:
        text = "nothing waits: no window is open, and no row is held back"
    if totals is not None:
        came, out = several(totals.rows_in, "row"), several(totals.rows_out, "result")
        text += f" ({came} in, {out} out since the run began)" if plan.operators else f" ({came} since the run began)"
    return Finding(Cause.NOTHING, text)
