"""Why the watermark does not move, and which part of a source is silent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from panes.why.facts import Partition, Query, State
from panes.why.finding import CLOCKED, WAITING, Cause, Finding
from panes.why.words import ago, length, listed, several, time

IDLE = 10.0  # seconds without a row
TIMEOUT = (
    "Declare idle_timeout on {}: then its clock goes on without rows. An input that has an end: run it with --flush."
)
DELAY = "Take the age below which nearly all rows come, WATERMARK FOR {0} AS {0} - INTERVAL …; later ones are counted."


def backlog(query: Query) -> Iterator[Finding]:
    """Rows that are there and have not been read."""
    if query.backlog:
        behind = [(one, one.behind) for one in query.partitions if one.behind]
        where = f": {listed([f'{_name(one)} {rows:,}' for one, rows in behind])}" if len(behind) > 1 else ""
        text = f"{several(query.backlog, 'row')} of the source had not been read after the last micro-batch{where}"
        yield Finding(Cause.BACKLOG, text)


def standing_still(query: Query, now: float, held: Sequence[Finding]) -> Iterator[Finding]:
    """What keeps the clock from moving, if something waits."""
    if not any(one.cause in WAITING for one in held):
        return
    due = min((one.due for one in held if one.due is not None), default=None)
    if due is not None:
        yield from _delay(query, due)
    if query.state is State.RUNNING:
        yield from _idle(query, now, due, any(one.cause in CLOCKED for one in held))


def _delay(query: Query, due: int) -> Iterator[Finding]:
    clock, first, last = query.plan.clock, query.earliest, query.latest
    if clock is None or clock.delay is None or first is None or last is None or query.watermark is None:
        return
    if query.watermark >= first or clock.delay <= max(last - first, due - first):
        return
    text = (
        f"the delay of {clock.name}, {length(clock.delay)}, is longer than the time between the first row and the last "
        f"one that have come, {length(last - first)} ({time(first)} to {time(last, first)}): the watermark is still "
        f"before the first, and reaches {time(due, first)} with a row of {time(due + clock.delay, first)}"
    )
    yield Finding(Cause.DELAY, text, DELAY.format(clock.time))


def _idle(query: Query, now: float, due: int | None, clocked: bool) -> Iterator[Finding]:
    since = query.rows_at if query.rows_at is not None else query.began
    if since is None or now - since < IDLE:
        return
    ever = "" if query.rows_at is not None else ", since the run began"
    text = f"no micro-batch has brought a row for {ago(now - since)}{ever}"
    clock = query.plan.clock
    if not clocked:
        yield Finding(Cause.IDLE, text)
    elif clock is None or clock.delay is None:
        yield Finding(Cause.IDLE, f"{text}: the watermark stands still")
    elif clock.idle_timeout is not None:
        text += f": idle_timeout, {length(clock.idle_timeout)}, moves the clock of {clock.name} on, at heartbeats"
        yield Finding(Cause.IDLE, text, "A run with --once or --flush has no heartbeat.")
    else:
        text += ": the watermark stands still until one comes"
        if due is not None:
            text += f", and reaches {time(due)} with a row of {time(due + clock.delay, due)}"
        yield Finding(Cause.IDLE, text, TIMEOUT.format(clock.name))


def silent(query: Query, now: float) -> Iterator[Finding]:
    """Partitions and topics without rows while others have some."""
    if query.state is not State.RUNNING:
        return
    moved = [one.still_since for one in query.partitions if one.still_since is not None and not one.is_empty]
    if not moved:
        return
    newest = max(moved)
    quiet = [one for one in query.partitions if _is_quiet(one, newest, now)]
    for topic, found in groupby(quiet, lambda one: one.topic):
        yield _silent(query, topic, list(found), now)


def _is_quiet(one: Partition, newest: float, now: float) -> bool:
    if one.is_empty:
        return True
    return one.still_since is not None and newest - one.still_since >= IDLE and now - one.still_since >= IDLE


def _silent(query: Query, topic: str, quiet: Sequence[Partition], now: float) -> Finding:
    every = [one for one in query.partitions if one.topic == topic]
    what = f"topic {topic}" if len(quiet) == len(every) else listed([_name(one) for one in quiet])
    have = "has" if len(quiet) in (1, len(every)) else "have"
    if all(one.is_empty for one in quiet):
        text = f"{what} {have} never had a row, while others have"
    else:
        since = max(one.still_since for one in quiet if one.still_since is not None and not one.is_empty)
        at = f" (read to offset {quiet[0].offset:,})" if len(quiet) == 1 else ""
        text = f"{what} {have} had no row for {ago(now - since)}{at}, while others have"
    behind = sum(one.behind or 0 for one in quiet)
    if behind:
        text += f", and {several(behind, 'row')} of it had not been read"
    if len(query.plan.clocks) > 1:
        return Finding(Cause.SILENT_PARTITION, f"{text}: the watermark is that of the slowest stream")
    text += ": what waits for rows of its keys waits for it. The watermark does not: it goes by the latest row of all"
    return Finding(Cause.SILENT_PARTITION, text)


def _name(one: Partition) -> str:
    return f"partition {one.number} of topic {one.topic}"
