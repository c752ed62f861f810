"""A step in several smaller ones, so that what is in memory at once is bounded.

    rows wait              the watermark has passed many of them: it gets there in several steps, some chunks further
    a micro-batch comes    its rows are taken in some at a time, all with the clock of the whole

Both are what would have happened in smaller micro-batches, and cuts do not show. New rows are late or wait: it makes no
difference whether they come before or after those that are released.

Only a kernel with a `Release` is run in parts, and if it does not wait, only where rows come in order and nothing
expires. Others fold rows before the shuffle, or give the net effect of a micro-batch. Nor is that of a derived stream,
where rows before the watermark are not late: they come in the order of time with those that wait, so all must be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from panes.kernels.bounded import MOST_BYTES, MOST_ROWS, gathered_parts
from panes.kernels.kernel import Clock, Kernel, State, Step, run_step
from panes.kernels.state.release import Release


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
    if release is None or not (release.late if release.waits else release.in_order):
        yield run_step(kernel, state, _whole(tables), clock)
        return
    parts = iter(gathered_parts(tables, MOST_ROWS, MOST_BYTES))
    for moment in stops(release, state, clock.watermark):
        yield (step := run_step(kernel, state, None, Clock(moment)))
        state = put_away(step.state)
    part, following = next(parts, None), next(parts, None)
    while following is not None:
        yield (step := run_step(kernel, state, part, replace(clock, flush=False)))
        state, part, following = put_away(step.state), following, next(parts, None)
    yield run_step(kernel, state, part, clock)


def release_of(kernel: object) -> Release | None:
    found = getattr(kernel, "release", None)
    return found if isinstance(found, Release) else None


def stops(release: Release, state: State, watermark: int | None) -> list[int]:
    """Where the watermark stops on its way, so that not too much is released at once."""
    if watermark is None or not release.waits:
        return []
    found: list[int] = []
    rows = size = 0
    for chunk in sorted((one for one in state.chunks if one.kind == release.kind), key=lambda one: (one.low, one.id)):
        if chunk.low >= watermark:
            break
        if rows and (rows + chunk.rows > MOST_ROWS or size + chunk.bytes > MOST_BYTES) and chunk.low not in found[-1:]:
            found.append(chunk.low)
            rows = size = 0
        rows, size = rows + chunk.rows, size + chunk.bytes
    return found


def _whole(tables: Iterable[pa.Table]) -> pa.Table | None:
    found = list(tables)
    return pa.concat_tables(found, promote_options="permissive") if found else None
