"""What the open windows and the waiting rows of an operator wait for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from panes.why.facts import Operator, Query
from panes.why.finding import Cause, Finding
from panes.why.plan import OperatorPlan, Waits
from panes.why.words import length, listed, several, time

AHEAD = "EMIT CHANGES gives results before the rows that follow; --flush ends an input that has an end."


def waiting(query: Query, one: Operator) -> Iterator[Finding]:
    """What waits in an operator, and for what."""
    if one.open_windows is None and one.waiting is None and one.kept is None:
        text = f"what {one.plan.name} holds is not known before a micro-batch with rows has come in this run"
        yield Finding(Cause.UNKNOWN, text)
    if one.plan.waits_for_clock and one.waiting:
        yield _waiting_rows(query, one)
    match one.plan.waits:
        case Waits.WATERMARK:
            yield from _windows(query, one) if one.open_windows else _later_frames(query, one)
        case Waits.ROWS:
            yield from _unfinished(one)
        case Waits.CONDITION:
            yield from _condition(one)
        case Waits.COUNT:
            yield from _count(one)
        case Waits.NOTHING:
            pass
        case Waits.UNKNOWN:
            yield from _unknown(one)
        case _:
            assert_never(one.plan.waits)


def watermark(query: Query, beside: int | None = None) -> str:
    """Where the watermark is, and why it is there, as far as that is known.

    `beside` is a time that the sentence has already.
    """
    if query.watermark is None:
        return "there is none yet"
    words = f"it is at {time(query.watermark, beside)}"
    clock = query.plan.clock
    if clock is None:
        names = [one.name for one in query.plan.clocks]
        return f"{words}, the earliest of those of {listed(names)}" if names else words
    if query.latest is None or clock.delay is None:
        return words
    by_rows = (query.latest - clock.delay) // 1000 * 1000
    if query.watermark == by_rows:
        latest = time(query.latest, query.watermark)
        return f"{words}, since the latest row is of {latest} and the delay is {length(clock.delay)}"
    if query.watermark > by_rows and clock.idle_timeout is not None:
        return f"{words}, moved on without rows by idle_timeout ({length(clock.idle_timeout)})"
    return words


def _waiting_rows(query: Query, one: Operator) -> Finding:
    number = one.waiting or 0
    waits, them = ("waits", "it") if number == 1 else ("wait", "them")
    text = f"{several(number, 'row')} of {one.plan.name} {waits} until the watermark has passed {them}"
    if one.due is None:
        return Finding(Cause.WAITING_ROWS, f"{text}; {watermark(query)}")
    text = f"{text}: nothing comes out before it reaches {time(one.due)}; {watermark(query, one.due)}"
    return Finding(Cause.WAITING_ROWS, text, due=one.due)


def _windows(query: Query, one: Operator) -> Iterator[Finding]:
    number, oldest = one.open_windows or 0, one.oldest
    due = one.due
    if due is None and oldest is not None and one.plan.size is not None:
        due = oldest + one.plan.size
    if due is None:
        since = f", the oldest from {time(oldest)} on" if oldest is not None else ""
        yield Finding(Cause.OPEN_WINDOWS, f"{_are_open(number)}{since}: {_when_not_known(query)}")
        return
    closes = f"closes when the watermark reaches {time(due, oldest)}; {watermark(query, due)}"
    groups = f", with {several(one.groups, 'group')} in state," if one.groups else ""
    if one.plan.gap is not None:
        since = f", the oldest from {time(oldest)} on" if oldest is not None else ""
        extended = f"; a row less than {length(one.plan.gap)} after its last one extends it"
        text = f"{_are_open(number, 'session')}{since}{groups.rstrip(',')}: the next {closes}{extended}"
    elif oldest is None or one.plan.size is None:
        since = f", the oldest from {time(oldest)} on" if oldest is not None else ""
        text = f"{_are_open(number)}{since}{groups.rstrip(',')}: the next {closes}"
    elif number == 1:
        text = f"window {_bounds(oldest, one.plan.size)}{groups} {closes}"
    else:
        text = f"{_are_open(number)}{groups.rstrip(',')}: the oldest, {_bounds(oldest, one.plan.size)}, {closes}"
    yield Finding(Cause.OPEN_WINDOWS, text, due=due)


def _when_not_known(query: Query) -> str:
    return f"when the next closes is not known; the watermark: {watermark(query)}"


def _bounds(start: int, size: int) -> str:
    return f"{time(start)}–{time(start + size, start)}"


def _are_open(number: int, what: str = "window") -> str:
    """Shards count their own: one window may be open in several."""
    return f"{several(number, what)} {'is' if number == 1 else 'are'} open"


def _later_frames(query: Query, one: Operator) -> Iterator[Finding]:
    """Rows of OVER whose frames reach into the future; with a state_ttl what falls due may be an expiry."""
    if one.waiting or not one.kept or one.due is None or one.plan.state_ttl is not None:
        return
    text = f"up to {several(one.kept, 'row')} of {one.plan.name} wait for the end of their frames: nothing comes out "
    text += f"before the watermark reaches {time(one.due)}; {watermark(query, one.due)}"
    yield Finding(Cause.WAITING_ROWS, text, due=one.due)


def _unfinished(one: Operator) -> Iterator[Finding]:
    number = (one.kept or 0) - (one.waiting or 0)
    if number <= 0:
        return
    plan = one.plan
    verb, their = ("waits", "its") if number == 1 else ("wait", "their")
    subject = f"up to {several(number, 'row')}" if plan.keeps_passed and number > 1 else several(number, "row")
    if plan.keeps_passed and number == 1:
        verb = "may wait"
    more = several(plan.follows, "more row") if plan.follows is not None else "more rows"
    text = f"{subject} {verb} for {more} of {_key(plan, their)}, which {listed(plan.calls)} looks at, "
    yield Finding(Cause.UNFINISHED_ROWS, text + _or_the_end(plan), AHEAD)


def _key(plan: OperatorPlan, their: str) -> str:
    return f"{their} key ({', '.join(plan.partition_by)})" if plan.partition_by else "the stream"


def _or_the_end(plan: OperatorPlan) -> str:
    if plan.state_ttl is None:
        return "or for the end of the input; there is no state_ttl"
    return f"for the end of the input, or for state_ttl ({length(plan.state_ttl)})"


def _condition(one: Operator) -> Iterator[Finding]:
    if not one.open_windows:
        return
    plan = one.plan
    since = f", the oldest since {time(one.oldest)}" if one.oldest is not None else ""
    condition = f"where {plan.condition}" if plan.condition is not None else "that fulfils its emit condition"
    text = f"{_are_open(one.open_windows)}{since}: each waits for a row of {_key(plan, 'its')} {condition}, "
    hint = "state_ttl on the stream bounds how long a quiet key stays open." if plan.state_ttl is None else None
    yield Finding(Cause.CONDITION, text + _or_the_end(plan), hint)


def _count(one: Operator) -> Iterator[Finding]:
    if not one.open_windows:
        return
    plan, many = one.plan, one.open_windows > 1
    if plan.count is None:
        lacks = "rows"
    else:
        lacks = "1 row" if plan.count <= 2 else f"1 to {several(plan.count - 1, 'row')}"
    of = f" of {several(plan.count, 'row')}" if plan.count is not None else ""
    subject = f"{several(one.open_windows, 'window')}{of} {'are' if many else 'is'} open"
    text = f"{subject}: {'each' if many else 'it'} lacks {lacks} of {_key(plan, 'its')}, and waits for them, "
    yield Finding(Cause.COUNT, text + _or_the_end(plan))


def _unknown(one: Operator) -> Iterator[Finding]:
    number = (one.kept or 0) - (one.waiting or 0)
    if number > 0 or one.open_windows:
        held = several(number, "row") if number > 0 else several(one.open_windows or 0, "open window")
        text = f"{one.plan.name} keeps {held}: whether something waits for rows that follow, its state does not say"
        yield Finding(Cause.UNKNOWN, text)
