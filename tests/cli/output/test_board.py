"""What a run has done so far: rates, sums, and what they are when nothing comes."""

from __future__ import annotations

from panes.cli.output.board import RECENT, Board
from panes.spark.report import Report

from ..reports import report


def test_rates_are_those_of_the_last_seconds() -> None:
    board = Board()
    query = board.query("out", 0.0)
    for second in range(1, 21):
        board.batch(report(batch=second, rows_in=100, rows_out=10), float(second))
    rows_in, rows_out = query.rates(20.0)
    assert (round(rows_in), round(rows_out)) == (110, 11)  # 11 reports in 10 seconds
    assert query.rates(20.0 + RECENT + 1) == (0.0, 0.0)
    assert (query.batches, query.rows_in, query.rows_out) == (20, 2000, 200)


def test_the_first_second_is_no_rate_of_its_own() -> None:
    board = Board()
    board.query("out", 0.0)
    board.batch(report(rows_in=100), 0.1)
    assert board.queries["out"].rates(0.1)[0] == 100.0


def test_a_query_of_sparks_own_counts_what_it_reads() -> None:
    board = Board()
    board.batch(Report("out", 0, 1.0, {}, rows_read=7), 1.0)
    assert board.queries["out"].rows_in == 7


def test_late_rows_add_up_and_gauges_do_not() -> None:
    board = Board()
    for batch in range(3):
        board.batch(report(batch=batch, late_rows=2, open_windows=5 - batch), float(batch))
    query = board.queries["out"]
    assert (query.late_rows, query.gauge("open_windows"), query.gauge("nothing")) == (6, 3, None)


def test_how_far_the_watermark_is_behind() -> None:
    board = Board()
    assert board.query("out", 0.0).behind(100.0) is None
    board.batch(report(watermark=40_000_000), 1.0)
    assert board.queries["out"].behind(100.0) == 60.0


def test_a_document_says_what_failed() -> None:
    board = Board()
    board.batch(report("a", backlog=9, watermark=1, rows_in=1), 1.0)
    board.failed("b", "no disk", 2.0)
    a, b = board.document(2.0)
    assert (a["query"], a["state"], a["backlog"], a["error"]) == ("a", "running", 9, None)
    assert (b["query"], b["state"], b["batch"], b["error"]) == ("b", "failed", None, "no disk")
