"""Running values: a row's numbers and sums so far, from one row per partition that is carried."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.kernel import Chunk, Clock
from panes.kernels.over.calls import RUNNING, OrderKey
from panes.kernels.over.running import DENSE, NUMBER, RANK, Running
from panes.kernels.state.carry import SEEN
from panes.kernels.state.expiry import GENERATION

from .test_functions import KEEP, K, Row, X, aggregate, not_null

AT = "at"
CALLS = (aggregate("sum", RUNNING), aggregate("max_by", RUNNING), aggregate("count", RUNNING, KEEP))
SMALL = st.none() | st.integers(-3, 3)
ROW = st.fixed_dictionaries(
    {
        AT: st.integers(0, 60),
        K: st.sampled_from(["a", "b", None]),
        X: SMALL,
        "y": SMALL,
        KEEP: st.sampled_from([True, False, None]),
    }
)
ROWS = st.lists(ROW, max_size=14).map(lambda rows: sorted(rows, key=itemgetter(AT)))
KINDS = [(AT, pa.timestamp("us", "UTC")), (K, pa.string()), (X, pa.int64()), ("y", pa.int64()), (KEEP, pa.bool_())]


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), pa.schema(KINDS))


def expected(rows: list[Row], ttl: int | None) -> list[tuple[Any, ...]]:
    """For each row its number, ranks and sums among those of its partition since a gap of more than the ttl."""
    found = []
    for at, row in enumerate(rows):
        life: list[Row] = []
        for one in [one for one in rows[: at + 1] if one[K] == row[K]]:
            forgotten = life and ttl is not None and one[AT] - life[-1][AT] > ttl
            life = [one] if forgotten else [*life, one]
        times = [one[AT] for one in life]
        ranks = (len(life), times.index(row[AT]) + 1, len(set(times)), times[0])
        known = [(one["y"], place) for place, one in enumerate(life) if one["y"] is not None]
        beside = life[max(known)[1]][X] if known else None
        found.append(
            (*ranks, sum(not_null(life)) if not_null(life) else None, beside, sum(bool(r[KEEP]) for r in life))
        )
    return found


@settings(max_examples=40)
@given(ROWS, st.sets(st.integers(0, 60), max_size=3), st.sampled_from([None, 0, 5, 20]))
def test_rows_go_on_from_what_is_carried(rows: list[Row], cuts: set[int], ttl: int | None) -> None:
    """Micro-batches end between times, as the watermark releases rows; partitions that were forgotten begin anew."""
    running = Running((K,), (OrderKey(AT),), CALLS, AT, ttl)
    chunks: tuple[Chunk, ...] = ()
    facts: dict[str, Any] = {}
    found: list[tuple[Any, ...]] = []
    for _, some in groupby(rows, lambda row: sum(row[AT] >= at for at in cuts)):
        batch = list(some)
        out, chunks, facts = running.take(chunks, facts, arrow(batch), Clock(batch[-1][AT] + 1))
        assert out is not None
        names = [NUMBER, RANK, DENSE, GENERATION, *(call.output for call in CALLS)]
        found += [tuple(row.values()) for row in out.select(names).to_pylist()]
        partitions = {row[K] for row in rows[: len(found)]}
        assert held(running, chunks).keys() <= partitions
    assert found == expected(rows, ttl)
    assert running.take(chunks, facts, None, Clock(flush=True)) == (None, (), {})


def test_partitions_leave_when_the_watermark_is_past_their_ttl() -> None:
    """ttl 8: `a` is last seen at 0 and `b` at 2, and at W = 9 only `b` can be asked for again."""
    running = Running((K,), (OrderKey(AT),), CALLS, AT, 8)
    rows = arrow([{AT: 0, K: "a"}, {AT: 2, K: "b"}])
    _, chunks, facts = running.take((), {}, rows, Clock(3))
    _, chunks, facts = running.take(chunks, facts, None, Clock(8))
    assert held(running, chunks) == {"a": 0, "b": 2}
    _, chunks, facts = running.take(chunks, facts, None, Clock(9))
    assert held(running, chunks) == {"b": 2}


def held(running: Running, chunks: Sequence[Chunk]) -> dict[str | None, int]:
    rows = running.carry.all(chunks)
    return {} if rows is None else dict(zip(rows[K].to_pylist(), rows[SEEN].to_pylist(), strict=True))
