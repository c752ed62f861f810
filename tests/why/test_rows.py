"""What became of rows that gave no result, in sentences."""

from __future__ import annotations

from dataclasses import replace

from panes.why.facts import Operator, Totals
from panes.why.finding import Cause

from .queries import MINUTES, NOW, ORDERS, SECOND, at, hint, query, said, sentence, window

EMPTY = Operator(MINUTES, 0, None, 0, 0, 0)


def test_rows_without_time() -> None:
    text = sentence(query(EMPTY, watermark=None, latest=None, totals=Totals(40, null_time=40)), Cause.NULL_TIME)
    assert text == (
        "all 40 rows were dropped, because ts, the time column of orders, is NULL in them: without a time there is no "
        "watermark and no window"
    )
    some = sentence(query(EMPTY, totals=Totals(40, null_time=1)), Cause.NULL_TIME)
    assert some == "1 of 40 rows was dropped, because ts, the time column of orders, is NULL in it"
    unnamed = query(EMPTY, totals=Totals(40, null_time=2))
    unnamed = replace(unnamed, plan=replace(unnamed.plan, streams=()))
    assert sentence(unnamed, Cause.NULL_TIME) == "2 of 40 rows were dropped, because the time column is NULL in them"


def test_late_rows() -> None:
    found = query(EMPTY, totals=Totals(5, 0, late=5))
    assert sentence(found, Cause.LATE) == (
        "all 5 rows were late: the watermark is at 2024-01-01 12:00:40, moved there by a row of 12:00:50"
    )
    assert "LATE ROWS INTO" in (hint(found, Cause.LATE) or "")


def test_one_time_in_the_future_makes_all_others_late() -> None:
    ahead = at(366 * 86_400 + 10)  # a leap year
    found = query(EMPTY, totals=Totals(41, 0, late=40), watermark=ahead - 10 * SECOND, latest=ahead)
    assert sentence(found, Cause.LATE) == (
        "40 of 41 rows were late: the watermark is at 2025-01-01 12:00:00, moved there by a row of "
        "12:00:10, 365 d 23 h ahead of the clock on the wall; the last rows are of 2024-01-01 12:00:50 and before, "
        "365 d 23 h 59 min 20 s earlier"
    )
    assert "start with a new checkpoint" in (hint(found, Cause.LATE) or "")


def test_a_row_that_is_ahead_by_less_than_the_delay_is_an_ordinary_one() -> None:
    text = sentence(query(EMPTY, totals=Totals(5, 0, late=1), latest_now=at(40)), Cause.LATE)
    assert text == ("1 of 5 rows was late: the watermark is at 2024-01-01 12:00:40, moved there by a row of 12:00:50")


def test_a_watermark_from_an_earlier_run() -> None:
    found = query(EMPTY, totals=Totals(3, 0, late=3), latest=at(20), latest_now=at(20))
    assert sentence(found, Cause.LATE) == (
        "all 3 rows were late: the watermark is at 2024-01-01 12:00:40, from before the run began; the "
        "latest row since then is of 12:00:20"
    )


def test_an_idle_clock_is_not_said_to_come_from_before() -> None:
    stream = replace(ORDERS, idle_timeout=30 * SECOND)
    found = query(EMPTY, stream=stream, totals=Totals(3, 0, late=3), latest=at(20), latest_now=at(20))
    assert sentence(found, Cause.LATE) == (
        "all 3 rows were late: the watermark is at 2024-01-01 12:00:40; the latest row since the run "
        "began is of 12:00:20"
    )


def test_rows_in_no_window() -> None:
    text = sentence(query(EMPTY, totals=Totals(5, 0, no_window=5)), Cause.NO_WINDOW)
    assert text == "all 5 rows were in no window: between two hopping windows, or before one opened"


def test_rows_that_where_rejects() -> None:
    found = query(EMPTY, plan={"where": ("v > 100", "k <> 'a'")}, totals=Totals(1_200, 0))
    assert said(found) == {"rows-filtered": "1,200 rows came, and none has passed WHERE v > 100 AND k <> 'a'"}
    assert "rows-filtered" not in said(query(window(), plan={"where": ("v > 100",)}, totals=Totals(1_200, 0)))


def test_results_that_having_rejects() -> None:
    found = query(EMPTY, plan={"having": ("sum(v) > 9",)}, totals=Totals(5, 2))
    text = "2 results came out of tumblingwindow: of these only those are written that pass sum(v) > 9"
    assert said(found) == {"results-filtered": text}


def test_a_query_that_keeps_nothing() -> None:
    assert said(query(), NOW) == {
        "nothing-waits": "nothing waits: what becomes of a row comes out with the micro-batch that brings it (5 rows "
        "since the run began)"
    }


def test_rows_that_went_otherwise() -> None:
    found = said(query(EMPTY, totals=Totals(5, 0, expired=1, malformed=2)))
    assert found["expired-rows"] == "1 row went with keys that state_ttl gave up"
    assert found["malformed-rows"] == "2 malformed records came besides"
