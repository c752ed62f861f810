"""What became of rows that came and gave no result."""

from __future__ import annotations

from collections.abc import Iterator

from panes.why.facts import Query, Totals
from panes.why.finding import Cause, Finding
from panes.why.words import MICROS, ago, length, listed, several, time

FORMAT = "Look at how the time is read: text in another format than the reader expects becomes NULL."
LATE = "LATE ROWS INTO keeps them, and a longer delay waits for them."
BEFORE = ", from before the run began; the latest row since then"
FUTURE = (
    "A time that cannot be right moves the watermark for good: let such times become NULL where the stream computes "
    "its time column, and start with a new checkpoint."
)


def lost(query: Query, now: float) -> Iterator[Finding]:
    """Rows that are in no result, by what became of them."""
    totals = query.totals
    if totals is None:
        return
    if totals.null_time:
        yield _without_time(query, totals)
    if totals.late:
        yield _late(query, totals, now)
    if totals.no_window:
        text = f"{_of_all(totals.no_window, totals)} in no window: between two hopping windows, or before one opened"
        yield Finding(Cause.NO_WINDOW, text)
    if totals.expired:
        text = f"{several(totals.expired, 'row')} went with keys that state_ttl gave up"
        yield Finding(Cause.EXPIRED, text)
    if totals.malformed:
        yield Finding(Cause.MALFORMED, f"{several(totals.malformed, 'malformed record')} came besides")


def filtered(query: Query) -> Iterator[Finding]:
    """Conditions that nothing has passed; whether rows wait has been looked at before."""
    totals, plan = query.totals, query.plan
    if totals is None or not totals.rows_in:
        return
    lost = totals.late or totals.null_time or totals.no_window or totals.expired
    if not totals.rows_out and not lost and plan.where and _holds_nothing(query):
        where = " AND ".join(plan.where)
        text = f"{several(totals.rows_in, 'row')} came, and none has passed WHERE {where}"
        yield Finding(Cause.FILTERED, text)
    if totals.rows_out and plan.having:
        text = f"{several(totals.rows_out, 'result')} came out of {plan.operators[-1].name}: "
        yield Finding(Cause.HAVING, f"{text}of these only those are written that pass {listed(plan.having)}")


def _holds_nothing(query: Query) -> bool:
    held = [(one.open_windows, one.waiting, one.kept, one.groups) for one in query.operators]
    return all(number == 0 for numbers in held for number in numbers)


def _of_all(number: int, totals: Totals) -> str:
    """How many of the rows that came, with the verb."""
    if number >= totals.rows_in:
        return "the only row was" if number == 1 else f"all {several(number, 'row')} were"
    return f"{number:,} of {several(totals.rows_in, 'row')} {'was' if number == 1 else 'were'}"


def _without_time(query: Query, totals: Totals) -> Finding:
    clock = query.plan.clock
    column = f"{clock.time}, the time column of {clock.name}," if clock is not None else "the time column"
    them = "it" if totals.null_time == 1 else "them"
    text = f"{_of_all(totals.null_time, totals)} dropped, because {column} is NULL in {them}"
    if totals.null_time >= totals.rows_in:
        text += ": without a time there is no watermark and no window"
    return Finding(Cause.NULL_TIME, text, FORMAT)


def _late(query: Query, totals: Totals, now: float) -> Finding:
    text = f"{_of_all(totals.late, totals)} late"
    if query.watermark is None:
        return Finding(Cause.LATE, text, LATE)
    text += f": the watermark is at {time(query.watermark)}"
    clock, latest, last = query.plan.clock, query.latest, query.latest_now
    if clock is None or clock.delay is None or latest is None:
        return Finding(Cause.LATE, text, LATE)
    if latest - clock.delay < query.watermark // 1000 * 1000:
        since = "; the latest row since the run began" if clock.idle_timeout is not None else BEFORE
        return Finding(Cause.LATE, f"{text}{since} is of {time(latest, query.watermark)}", LATE)
    text += f", moved there by a row of {time(latest, query.watermark)}"
    ahead = latest - round(now * MICROS)
    if ahead > 0:
        text += f", {ago(ahead / MICROS)} ahead of the clock on the wall"
    if last is not None and latest - last > clock.delay:
        text += f"; the last rows are of {time(last, latest)} and before, {length((latest - last) // MICROS * MICROS)} "
        return Finding(Cause.LATE, f"{text}earlier", FUTURE)
    return Finding(Cause.LATE, text, FUTURE if ahead > 0 else LATE)
