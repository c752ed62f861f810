"""One step of a micro-batch = several steps of its parts, for every kernel: rows, counters, open windows and wake.

Not the gauges `groups` and `buffered_rows`: they count rows in chunks, also those that newer ones hide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels import bounded, parts
from panes.kernels.kernel import Clock, Kernel, State, Step, new_chunk, numbered_chunks
from panes.kernels.parts import release_of, run_in_parts, stops
from panes.kernels.state.release import Release
from panes.spark.blob import from_bytes, to_bytes
from panes.spark.counters import OLDEST

from .harness import plain, restarted, written
from .test_attempts import BATCH, BATCHES, KERNELS, KEY, PARTITIONS, PLACE, SECOND, TIME, rows

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
    if release is not None:
        assert cut[0][1] >= 5, "the first micro-batch has 1,600 rows"
        assert not release.waits or cut[-1][1] >= 3, "at the end of the stream 900 rows wait"


@pytest.mark.parametrize("name", ["sliding groups", "over on close", "stateful", "stateful, nothing late"])
def test_state_may_be_put_away_between_parts(name: str) -> None:
    assert trace(CASES[name], 300, restarted) == trace(CASES[name], 300, written) == trace(CASES[name], 300)


def test_partitions_without_a_time_complete_with_the_flush() -> None:
    """As in a batch: rows are taken in some at a time, and all come out in the end."""
    kernel: Any = KERNELS["over on complete"]
    kernel = replace(kernel, partition=(KEY,))
    kernel = with_release(kernel, late=False, together=True)
    tables = [kernel.pack(rows(0, part)) for part in range(PARTITIONS)]
    whole = told(list(run_in_parts(kernel, State(), tables, Clock(None, flush=True))))
    with patch.object(parts, "MOST_ROWS", 300):
        steps = list(run_in_parts(kernel, State(), tables, Clock(None, flush=True)))
    assert (told(steps), len(steps)) == (whole, PARTITIONS + 1)


def test_rows_in_no_order_are_taken_at_once() -> None:
    kernel = with_release(arriving(KERNELS["count"]), in_order=False)
    assert [count for _, count in trace(kernel, 300)] == [1] * len(CLOCKS)


RELEASE = Release(TIME, (TIME,), True, True)


def chunk(*times: int, width: int = 0) -> Any:
    columns = {TIME: pa.array(times, pa.timestamp("us", "UTC")), "v": pa.array([bytes(width)] * len(times))}
    return new_chunk(pa.table(columns), TIME, RELEASE.kind)


def test_the_watermark_stops_where_enough_is_released() -> None:
    with numbered_chunks(), patch.object(parts, "MOST_ROWS", 100):
        state = State((chunk(*range(40)), chunk(*range(50)), chunk(*range(50, 80)), chunk(*range(40, 80))))
        assert stops(RELEASE, state, None) == stops(RELEASE, state, 0) == []
        assert stops(RELEASE, state, 40) == [], "90 rows wait in the chunks that begin before it"
        assert stops(RELEASE, state, 70) == stops(RELEASE, state, 80) == [50]
        assert (
            stops(replace(RELEASE, waits=False), state, 80) == stops(replace(RELEASE, together=True), state, 80) == []
        )


@given(
    st.lists(st.lists(st.integers(0, 999), min_size=1, max_size=60), min_size=1, max_size=12),
    st.integers(0, 1_000),
    st.integers(1, 80),
)
def test_stops_rise_to_the_watermark(times: list[list[int]], watermark: int, most: int) -> None:
    with numbered_chunks(), patch.object(parts, "MOST_ROWS", most):
        found = stops(RELEASE, State(tuple(chunk(*one) for one in times)), watermark)
    assert found == sorted(set(found))
    assert all(min(map(min, times)) < moment < watermark for moment in found)


@given(st.integers(1, 6), st.integers(10, 400), st.integers(50, 400))
def test_between_two_stops_there_are_few_rows(sources: int, rows: int, most: int) -> None:
    """Sources over the same times, whose rows are spread evenly."""
    with numbered_chunks(), patch.object(parts, "MOST_ROWS", most):
        state = State(tuple(chunk(*range(source, 7 * rows, 7)) for source in range(sources)))
        found = stops(RELEASE, state, 2**62)
    every = np.sort([moment for source in range(sources) for moment in range(source, 7 * rows, 7)])
    assert np.diff(np.searchsorted(every, [0, *found, 2**62])).max() <= most + 2 * sources


def test_wide_rows_count_by_their_size() -> None:
    with numbered_chunks(), patch.object(parts, "MOST_BYTES", 10_000):
        assert len(stops(RELEASE, State((chunk(*range(40), width=1_000),)), 100)) == 4
