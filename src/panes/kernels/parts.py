"""A step in several smaller ones, so that what is in memory at once is bounded.

    rows wait              the watermark has passed many of them: it gets there in several steps, some rows further
    a micro-batch comes    its rows are taken in some at a time, all with the clock of the whole
    the stream ends        the watermark moves over all rows that wait, before what is left is given out

All are what would have happened in smaller micro-batches, and cuts do not show. New rows are late or wait: it makes no
difference whether they come before or after those that are released. Those of a derived stream are not late before the
watermark, but come in the order of time with those that wait: all are taken in while the clock stands still, and then
it moves.

Only a kernel with a `Release` is run in parts, and if it does not wait, only where rows come in order and nothing
expires. Others fold rows before the shuffle, or give the net effect of a micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from panes.kernels.bounded import MOST_BYTES, MOST_ROWS, gathered_parts
from panes.kernels.kernel import Clock, Kernel, State, Step, run_step
from panes.kernels.state.release import Release

LONG_AGO, AT_LAST = -(2**63), 2**63 - 1  # no row is before the first moment, nor after the last


def run_in_parts(
    kernel: Kernel,
    state: State,
    tables: Iterable[pa.Table],
    clock: Clock,
    put_away: Callable[[State], State] = lambda state: state,
) -> Iterator[Step]:
    """The steps of a micro-batch whose rows come in tables; the last one has its state, gauges, and when to wake.

    `put_away` makes of the state between two steps one that need not be in memory.
    """
    release = release_of(kernel)
    if release is None or not (release.waits or release.in_order):
        yield run_step(kernel, state, _whole(tables), clock)
        return
    parts = gathered_parts(tables, MOST_ROWS, MOST_BYTES)
    part, following = next(parts, None), next(parts, None)
    upto = AT_LAST if clock.flush else clock.watermark
    if following is None and not stops(release, state, upto):
        yield run_step(kernel, state, part, clock)
        return
    run = Run(kernel, state, put_away)
    takes_as_they_come = release.late or not release.waits
    if takes_as_they_come:
        yield from run.over(stops(release, state, clock.watermark), clock)
    intake = replace(clock, flush=False) if takes_as_they_come else Clock(LONG_AGO)
    while following is not None:
        yield run.step(part, intake)
        part, following = following, next(parts, None)
    if release.waits and (clock.flush or not release.late):
        if part is not None:
            yield run.step(part, intake)
        yield from run.over(stops(release, run.state, upto), clock)
        part = None
    yield run.step(part, clock)


@dataclass
class Run:
    """Steps one after the other."""

    kernel: Kernel
    state: State
    put_away: Callable[[State], State]

    def step(self, part: pa.Table | None, clock: Clock) -> Step:
        step = run_step(self.kernel, self.put_away(self.state), part, clock)
        self.state = step.state
        return step

    def over(self, moments: Iterable[int], clock: Clock) -> Iterator[Step]:
        """The watermark moves on; after that of the clock, on the way to a flush, nothing expires by it."""
        for moment in moments:
            yield self.step(None, Clock(moment, expires=clock.watermark is not None and moment <= clock.watermark))


def release_of(kernel: object) -> Release | None:
    found = getattr(kernel, "release", None)
    return found if isinstance(found, Release) else None


def stops(release: Release, state: State, watermark: int | None) -> list[int]:
    """Where the watermark stops on its way, so that not too much is released at once.

    The rows of a chunk are taken as spread evenly over its time. Chunks are small, so that few are read for a stop:

        [ 1 .. 40 ]  [ 41 .. 80 ]         two chunks of one source, and two of another one; with 100 rows at once,
        [ 1 .. 50 ]  [ 51 .. 80 ]         stops at 53
    """
    chunks = [one for one in state.chunks if one.kind == release.kind and watermark is not None and one.low < watermark]
    shares = [max(one.rows / MOST_ROWS, one.bytes / MOST_BYTES) for one in chunks]
    if watermark is None or not release.waits or release.together or sum(shares) <= 1:
        return []
    begin = min(one.low for one in chunks)  # moments are counted from here: they may be far from 1970
    first = np.array([float(one.low - begin) for one in chunks])
    lengths = np.array([float(one.high + 1 - one.low) for one in chunks])
    moments, rises = np.concatenate([first, first + lengths]), np.array(shares) / lengths
    order = np.argsort(moments, kind="stable")
    moments, slope = moments[order], np.cumsum(np.concatenate([rises, -rises])[order])
    released = np.append(0, np.cumsum(np.diff(moments) * slope[:-1]))
    found = {begin + int(moment) for moment in np.interp(np.arange(1, released[-1]), released, moments)}
    return sorted(moment for moment in found if begin < moment < watermark)


def _whole(tables: Iterable[pa.Table]) -> pa.Table | None:
    found = list(tables)
    return pa.concat_tables(found, promote_options="permissive") if found else None
