"""What open windows and waiting rows wait for, in sentences."""

from __future__ import annotations

from dataclasses import replace

from panes.why.facts import Operator
from panes.why.finding import Cause
from panes.why.plan import OperatorPlan, QueryPlan, StreamPlan, Waits

from .queries import LEAD, MINUTES, ORDERS, SECOND, at, query, said, sentence, window

AT = "it is at 12:00:40, since the latest row is of 12:00:50 and the delay is 10 s"


def test_a_window() -> None:
    assert said(query(window())) == {
        "open-windows": "window 2024-01-01 12:00:00–12:01:00, with 3 groups in state, closes when the watermark "
        f"reaches 12:01:00; {AT}"
    }


def test_several_windows() -> None:
    text = sentence(query(window(open_windows=18, groups=54)), Cause.OPEN_WINDOWS)
    begins = "18 windows are open, with 54 groups in state: the oldest, 2024-01-01 12:00:00–12:01:00, closes when "
    assert text == f"{begins}the watermark reaches 12:01:00; {AT}"


def test_the_end_of_a_window_that_a_checkpoint_does_not_say() -> None:
    assert "–12:01:00, with 3 groups in state, closes" in sentence(query(window(due=None)), Cause.OPEN_WINDOWS)


def test_a_window_of_a_zone_has_no_one_size() -> None:
    text = sentence(query(window(plan=replace(MINUTES, size=None))), Cause.OPEN_WINDOWS)
    assert text.startswith(
        "1 window is open, the oldest from 2024-01-01 12:00:00 on, with 3 groups in state: the next c"
    )


def test_a_session() -> None:
    gap = replace(MINUTES, size=None, gap=1800 * SECOND, name="sessionwindow")
    text = sentence(query(window(plan=gap, open_windows=2, groups=2, due=at(1840))), Cause.OPEN_WINDOWS)
    begins = (
        "2 sessions are open, the oldest from 2024-01-01 12:00:00 on, with 2 groups in state: the next closes when "
    )
    assert text == f"{begins}the watermark reaches 12:30:40; {AT}; a row less than 30 min after its last one extends it"


def test_when_it_closes_is_not_guessed() -> None:
    unknown = window(plan=replace(MINUTES, size=None), due=None)
    text = sentence(query(unknown), Cause.OPEN_WINDOWS)
    assert text.startswith(
        "1 window is open, the oldest from 2024-01-01 12:00:00 on: when the next closes is not known"
    )


def test_before_there_is_a_watermark() -> None:
    text = sentence(query(window(), watermark=None), Cause.OPEN_WINDOWS)
    assert text.endswith("closes when the watermark reaches 12:01:00; there is none yet")


def test_the_watermark_alone_where_no_row_of_the_run_explains_it() -> None:
    for latest in (None, at(30)):
        text = sentence(query(window(), latest=latest), Cause.OPEN_WINDOWS)
        assert text.endswith("reaches 12:01:00; it is at 12:00:40"), latest


def test_a_clock_that_went_on_without_rows() -> None:
    idle = replace(ORDERS, idle_timeout=30 * SECOND)
    text = sentence(query(window(), stream=idle, watermark=at(55)), Cause.OPEN_WINDOWS)
    assert text.endswith("it is at 12:00:55, moved on without rows by idle_timeout (30 s)")


def test_the_clock_of_two_streams() -> None:
    asked = query(window())
    both = QueryPlan((ORDERS, StreamPlan("users", "at", 0)), asked.plan.operators)
    text = sentence(replace(asked, plan=both), Cause.OPEN_WINDOWS)
    assert text.endswith("it is at 12:00:40, the earliest of those of orders and users")


def test_rows_that_wait_for_the_watermark() -> None:
    lag = OperatorPlan(0, "stateful functions", Waits.WATERMARK, True, "on-release")
    text = sentence(query(Operator(lag, waiting=3, kept=3, due=at(45))), Cause.WAITING_ROWS)
    begins = (
        "3 rows of stateful functions wait until the watermark has passed them: nothing comes out before it reaches "
    )
    assert text == f"{begins}2024-01-01 12:00:45; {AT}"
    one = sentence(query(Operator(lag, waiting=1, kept=1)), Cause.WAITING_ROWS)
    assert one.startswith("1 row of stateful functions waits until the watermark has passed it; it is at ")


def test_an_unfinished_lead() -> None:
    text = sentence(query(Operator(LEAD, waiting=0, kept=3)), Cause.UNFINISHED_ROWS)
    assert text == (
        "3 rows wait for 1 more row of their key (k), which lead(v) looks at, or for the end of the input; "
        "there is no state_ttl"
    )
    kept = replace(LEAD, state_ttl=86_400 * SECOND, follows=2, partition_by=())
    text = sentence(query(Operator(kept, waiting=0, kept=1)), Cause.UNFINISHED_ROWS)
    assert text == (
        "1 row waits for 2 more rows of the stream, which lead(v) looks at, for the end of the input, "
        "or for state_ttl (1 d)"
    )


def test_a_lead_whose_rows_the_watermark_has_not_passed_either() -> None:
    found = said(query(Operator(LEAD, waiting=2, kept=3, due=at(45))))
    assert found["waiting-rows"].startswith("2 rows of OVER wait until the watermark has passed them: nothing")
    assert found["unfinished-rows"].startswith("1 row waits for 1 more row of its key (k), which lead(v) looks at, ")
    assert "unfinished-rows" not in said(query(Operator(LEAD, waiting=3, kept=3, due=at(45))))


def test_rows_that_only_serve_later_ones_are_not_said_to_wait() -> None:
    both = replace(LEAD, keeps_passed=True)
    assert sentence(query(Operator(both, kept=3)), Cause.UNFINISHED_ROWS).startswith("up to 3 rows wait for 1 more row")
    assert sentence(query(Operator(both, kept=1)), Cause.UNFINISHED_ROWS).startswith("1 row may wait for 1 more row")


def test_a_lead_that_skips_nulls() -> None:
    skips = replace(LEAD, follows=None)
    assert "3 rows wait for more rows of their key" in sentence(query(Operator(skips, kept=3)), Cause.UNFINISHED_ROWS)


def test_frames_that_reach_into_the_future() -> None:
    over = OperatorPlan(0, "OVER", Waits.WATERMARK, True, "on-window-close")
    text = sentence(query(Operator(over, waiting=0, kept=4, due=at(65))), Cause.WAITING_ROWS)
    begins = "up to 4 rows of OVER wait for the end of their frames: nothing comes out before the watermark reaches "
    assert text == f"{begins}2024-01-01 12:01:05; {AT}"
    assert "waiting-rows" not in said(query(Operator(over, waiting=0, kept=4)))  # rows that lag needs


def test_a_state_window_without_its_emit_condition() -> None:
    plan = OperatorPlan(
        0, "statewindow", Waits.CONDITION, True, "on-release", opens="a > 0", condition="b = 1", partition_by=("user",)
    )
    text = sentence(query(Operator(plan, 2, at(0), 0, 5, 2)), Cause.CONDITION)
    begins = "2 windows are open, the oldest since 2024-01-01 12:00:00: each waits for a row of its key (user) where "
    assert text == f"{begins}b = 1, or for the end of the input; there is no state_ttl"


def test_a_count_window_that_is_not_full() -> None:
    plan = OperatorPlan(0, "countwindow", Waits.COUNT, True, "on-release", count=10, partition_by=("k",))
    text = sentence(query(Operator(plan, 4, None, 0, 0, 4)), Cause.COUNT)
    assert text == (
        "4 windows of 10 rows are open: each lacks 1 to 9 rows of its key (k), and waits for them, or for the end of "
        "the input; there is no state_ttl"
    )
    pairs = sentence(query(Operator(replace(plan, count=2), 1, None, 0, 0, 1)), Cause.COUNT)
    assert pairs.startswith("1 window of 2 rows is open: it lacks 1 row of its key (k), and waits for")


def test_nothing_waits_where_changes_come_out_at_once() -> None:
    plan = replace(MINUTES, waits=Waits.NOTHING, emits="changes")
    assert said(query(window(plan=plan))) == {
        "nothing-waits": "nothing waits: each micro-batch gives out what it changes (5 rows in, 0 results out since "
        "the run began)"
    }


def test_what_an_operator_holds_may_not_be_known() -> None:
    text = "what tumblingwindow holds is not known before a micro-batch with rows has come in this run"
    assert said(query(Operator(MINUTES))) == {"not-known": text}


def test_what_the_state_does_not_say_is_not_known() -> None:
    plan = OperatorPlan(0, "OVER", Waits.UNKNOWN, True)
    text = sentence(query(Operator(plan, 0, None, 1, 3, 0)), Cause.UNKNOWN)
    assert text == "OVER keeps 2 rows: whether something waits for rows that follow, its state does not say"
