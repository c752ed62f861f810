"""The clock of an idle stream: it waits for its timeout, then follows the micro-batches, and never goes back."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.idle import Heard, Idle, Quiet, latest

SECOND = 1_000_000
IDLE = Idle(30 * SECOND, 5 * SECOND)


def after(*heard: Heard, watermark: int | None = 0, idle: Idle | None = IDLE) -> Quiet:
    quiet = Quiet()
    for one in heard:
        quiet = quiet.after(one, idle, watermark)
    return quiet


def rows(second: int, started: int | None = 0) -> Heard:
    return Heard(second * SECOND, True, None if started is None else started * SECOND)


def beat(second: int, started: int | None = 0) -> Heard:
    return Heard(second * SECOND, False, None if started is None else started * SECOND)


def test_it_waits_for_the_timeout() -> None:
    assert after(rows(100), beat(129)).clock is None
    assert after(rows(100), beat(130)).clock == 95 * SECOND
    assert after(rows(100), beat(130), beat(141)).clock == 106 * SECOND


def test_rows_end_it_and_the_clock_stays() -> None:
    assert after(rows(100), beat(130), rows(131), beat(140)).clock == 95 * SECOND


def test_nothing_moves_before_the_first_row() -> None:
    assert after(beat(100), watermark=None) == Quiet()


def test_a_run_waits_anew() -> None:
    """Rows that came while nothing ran are still to be read."""
    assert after(rows(100), beat(1000, started=990)).clock is None
    assert after(rows(100), beat(1020, started=990)).clock == 985 * SECOND


def test_a_checkpoint_without_memory_counts_from_its_start() -> None:
    assert after(beat(30, started=10)).clock is None
    assert after(beat(40, started=10)).clock == 5 * SECOND
    assert after(beat(40, started=None)).clock is None


def test_the_clock_of_an_operator_below_is_taken_over() -> None:
    assert after(Heard(clock=7), Heard(clock=5), idle=None).clock == 7


def test_whole_milliseconds_before_1970_too() -> None:
    assert Quiet(since=-(10**9)).after(Heard(-1_500, False), Idle(1, 0), 0).clock == -2_000


@dataclass(frozen=True)
class Tick:
    forward: int
    came: bool


@given(st.lists(st.builds(Tick, st.integers(0, 40), st.booleans()), max_size=20), st.integers(1, 50))
def test_it_is_its_definition(ticks: list[Tick], timeout: int) -> None:
    now, since, clock, quiet = 0, 0, None, Quiet()
    for tick in ticks:
        now += tick.forward * 1000
        if tick.came:
            since = now
        elif now - since >= timeout * 1000:
            clock = latest(clock, now - timeout * 1000)
        before = quiet.clock
        quiet = quiet.after(Heard(now, tick.came, 0), Idle(timeout * 1000, 0), 0)
        assert quiet.clock == clock
        assert before is None or (quiet.clock is not None and quiet.clock >= before)


def test_what_is_heard_adds_up_in_any_order() -> None:
    one, other = Heard(5, True, None, 3), Heard(6, False, 2, None)
    assert one | other == other | one == Heard(6, True, 2, 3)
