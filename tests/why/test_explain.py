"""What is said of a query as a whole."""

from __future__ import annotations

from dataclasses import replace

from panes.why.facts import State
from panes.why.finding import Cause
from panes.why.plan import QueryPlan

from .queries import NOW, hint, query, said, sentence, window


def test_a_query_that_has_failed() -> None:
    found = query(window(), state=State.FAILED, error="store-failed: no disk")
    assert said(found) == {"failed": "it has failed: store-failed: no disk"}


def test_a_query_that_nobody_runs() -> None:
    found = query(window(), state=State.STOPPED, batch_at=NOW - 3_700, totals=None)
    assert sentence(found, Cause.NOT_RUNNING) == (
        "nothing runs on it here: this is what it held after micro-batch 7, which began 1 h 1 min ago"
    )
    assert "open-windows" in said(found)
    assert (
        hint(found, Cause.NOT_RUNNING) == "A checkpoint does not count late, filtered and malformed rows: a run does."
    )


def test_a_checkpoint_that_holds_nothing() -> None:
    found = query(window(open_windows=0), state=State.STOPPED, totals=None)
    assert sentence(found, Cause.NOTHING) == "nothing waits: no window is open, and no row is held back"


def test_before_the_first_micro_batch() -> None:
    assert said(query(window(), batch=None, batch_at=None, rows_at=None)) == {
        "no-micro-batch": "no micro-batch has been done in the 10 min since the run began: no row has come, or the "
        "first one is still being worked on"
    }


def test_nothing_waits() -> None:
    assert said(query(window(open_windows=0))) == {
        "nothing-waits": "nothing waits: no window is open, and no row is held back (5 rows in, 0 results out since "
        "the run began)"
    }


def test_state_that_spark_keeps() -> None:
    found = query(plan={"spark_keeps_state": True})
    assert said(found) == {"state-of-spark": "Spark keeps state of its own for it: what waits there is not known"}


def test_what_is_known_of_a_query_survives_json() -> None:
    plan = query(window(), plan={"where": ("v > 0",)}).plan
    assert QueryPlan.of(plan.document()) == plan
    later = {**plan.document(), "more": 1}
    later["operators"][0] |= {"more": 1, "waits": "for a word of a later version"}
    assert replace(QueryPlan.of(later), operators=()) == replace(plan, operators=())
    assert QueryPlan.of(later).operators[0].waits == "unknown"
