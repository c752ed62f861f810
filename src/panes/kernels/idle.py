"""Idle streams: when no row has come for a while, the clock goes on without one, so that the last windows come out.

    idle_timeout 30 s, delay 5 s      rows until 12:00:00, then nothing; a heartbeat every 10 s
    12:00:20                          20 s without a row: nothing moves
    12:00:30                          the clock is at 11:59:55, 30 s and the delay ago
    12:00:40                          and at 12:00:05

Times are those of micro-batches, which are the same when one runs again. Before the first row nothing moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Idle:
    """How long a stream may be without a row, and how late its rows may be, in microseconds."""

    timeout: int
    delay: int


@dataclass(frozen=True)
class Heard:
    """What a micro-batch tells every shard: its moment, whether rows came, when the run started that it began in.

    `clock` is that of an operator below, which has heard the rest.
    """

    moment: int | None = None
    came: bool = False
    started: int | None = None
    clock: int | None = None

    def __or__(self, other: Heard) -> Heard:
        return Heard(
            latest(self.moment, other.moment),
            self.came or other.came,
            latest(self.started, other.started),
            latest(self.clock, other.clock),
        )


@dataclass(frozen=True)
class Quiet:
    """What a shard remembers: when rows came last, and how far the clock has gone without any."""

    since: int | None = None
    clock: int | None = None

    def after(self, heard: Heard, idle: Idle | None, watermark: int | None) -> Quiet:
        """What it remembers after a micro-batch; `watermark` is None before the first row."""
        quiet = replace(self, clock=latest(self.clock, heard.clock))
        if idle is None or heard.moment is None:
            return quiet
        if heard.came:
            return replace(quiet, since=latest(self.since, heard.moment))
        since = latest(self.since, heard.started)
        if watermark is None or since is None or heard.moment - since < idle.timeout:
            return quiet
        moved = (heard.moment - idle.timeout - idle.delay) // 1000 * 1000
        return replace(quiet, clock=latest(quiet.clock, moved))


def latest(one: int | None, other: int | None) -> int | None:
    """The later of two moments, either of which may not be known."""
    return max((moment for moment in (one, other) if moment is not None), default=None)
