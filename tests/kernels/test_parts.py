"""One step of a micro-batch = several steps of its parts, for every kernel: rows, counters, open windows and wake.

Not the gauges `groups` and `buffered_rows`: they count rows in chunks, also those that newer ones hide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from panes.kernels import bounded, parts
from panes.kernels.kernel import Clock, Kernel, State, Step, new_chunk, numbered_chunks
from panes.kernels.parts import release_of, run_in_parts, stops
from panes.kernels.state.release import Release
from panes.spark.blob import from_bytes, to_bytes
from panes.spark.counters import OLDEST

from .harness import plain, restarted, written
from .test_attempts import BATCH, BATCHES, KERNELS, PARTITIONS, PLACE, SECOND, TIME, rows

ARRIVAL = Release(TIME, (BATCH, PLACE), waits=False, late=False, in_order=True)


def with_release(kernel: Any, **changes: bool) -> Any:
    return replace(kernel, release=replace(kernel.release, **changes))


def arriving(kernel: Any) -> Any:
    return replace(kernel, release=ARRIVAL, ttl=None)


RELEASING = {name: kernel for name, kernel in KERNELS.items() if release_of(kernel) is not None}
CASES: dict[str, Kernel] = {
    **KERNELS,
    **{f"{name}, nothing late": with_release(kernel, late=False) for name, kernel in RELEASING.items()},
    **{
        f"{name}, as rows arrive": arriving(kernel) for name, kernel in RELEASING.items() if not name.startswith("over")
    },
}
CLOCKS = [None, 0, 10, 10, 25, 26]  # seconds, of micro-batches; those without rows come last


def micro_batches(kernel: Kernel) -> Iterator[tuple[list[pa.Table], Clock]]:
    """Tables of a hundred rows, and the flush in the end."""
    for number, second in enumerate(CLOCKS):
        packed = [kernel.pack(rows(number, part)) for part in range(PARTITIONS)] if number < BATCHES else []
        slices = [table.slice(at, 100) for table in packed for at in range(0, table.num_rows, 100)]
        tables = [from_bytes(to_bytes(table)) for table in slices]  # as blobs
        yield tables, Clock(None if second is None else second * SECOND, flush=number == len(CLOCKS) - 1)


def trace(kernel: Kernel, most: int, again: Any = lambda state: state) -> list[Any]:
    """What each micro-batch gives, and in how many steps."""
    state, found = State(), []
    with patch.object(parts, "MOST_ROWS", most), patch.object(bounded, "MOST_ROWS", most):
        for tables, clock in micro_batches(kernel):
            steps = list(run_in_parts(kernel, state, tables, clock, again))
            said = told(steps)
            if getattr(kernel, "ttl", None) is not None:
                said = said[:2]  # what has expired may be removed late: gauges and wake may differ
            found.append((said, len(steps)))
            state = again(steps[-1].state)
    return found


def told(steps: Sequence[Step]) -> Any:
    out = Counter(tuple(map(rounded, row)) for step in steps for table in step.tables() for row in plain(table))
    counted: Counter[str] = Counter()
    for step in steps:
        counted.update({name: step.counters.get(name) or 0 for name in ("late_rows", "expired_rows")})
    return out, counted, {name: steps[-1].counters.get(name) for name in ("open_windows", OLDEST)}, steps[-1].wake


def rounded(value: Any) -> Any:
    """Sums of floating-point numbers depend on the order in their last digits."""
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


@pytest.mark.parametrize("name", CASES)
def test_one_step_is_several_of_its_parts(name: str) -> None:
    kernel = CASES[name]
    whole, cut = trace(kernel, 10**9), trace(kernel, 300)
    assert [one for one, _ in cut] == [one for one, _ in whole]
    assert whole[0][1] <= 2
    release = release_of(kernel)
    if release is not None and (release.late or not release.waits):
        assert cut[0][1] >= 5, "the first micro-batch has 1,600 rows"


@pytest.mark.parametrize("name", ["sliding groups", "over on close", "stateful"])
def test_state_may_be_put_away_between_parts(name: str) -> None:
    assert trace(CASES[name], 300, restarted) == trace(CASES[name], 300, written) == trace(CASES[name], 300)


def test_rows_in_no_order_are_taken_at_once() -> None:
    kernel = with_release(arriving(KERNELS["count"]), in_order=False)
    assert [count for _, count in trace(kernel, 300)] == [1] * len(CLOCKS)


def test_the_watermark_stops_where_enough_is_released() -> None:
    release = Release(TIME, (TIME,), True, True)

    def chunk(first: int, last: int) -> Any:
        times = pa.array(range(first, last), pa.timestamp("us", "UTC"))
        return new_chunk(pa.table({TIME: times}), TIME, release.kind)

    with numbered_chunks(), patch.object(parts, "MOST_ROWS", 25):
        state = State((chunk(40, 50), chunk(0, 10), chunk(10, 20), chunk(10, 22), chunk(20, 60), chunk(70, 80)))
        assert stops(release, state, None) == []
        assert stops(release, state, 5) == []
        assert stops(release, state, 40) == [10, 20]
        assert stops(release, state, 100) == [10, 20, 40]
        assert stops(replace(release, waits=False), state, 100) == []
