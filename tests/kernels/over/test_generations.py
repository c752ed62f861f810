"""Generations: a partition's rows with gaps of no more than the ttl between them, however they are cut and mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.changelog.changes import INSERT
from panes.kernels.kernel import Chunk, Clock, State
from panes.kernels.over.generations import ENDS, EXPIRE, FIRST, LAST, NEW, Assigned, Generations
from panes.kernels.sorted_blocks.former_index import FORMER
from panes.kernels.sorted_blocks.sort_keys import Sorting
from panes.kernels.state.expiry import GENERATION

from ..harness import restarted, step_twice
from ..sorted_blocks.format_1 import former_chunks
from .test_incremental import (
    CUTS,
    KEY,
    PART,
    PLAIN,
    QUERIES,
    RUNNING,
    SEEDS,
    Case,
    Change,
    Query,
    Row,
    any_row,
    arrow,
    cut,
    replayed,
    same,
)

AT = "at"
Timed = Sequence[tuple[Row, int]]


def generation(row: int, rows: Timed, ttl: int) -> int:
    """The definition: the number of gaps of more than the ttl between the rows of its partition before it."""
    own, at = rows[row]
    times = sorted(time for other, time in rows if other.p == own.p and time <= at)
    return sum(after - before > ttl for before, after in pairwise(times))


def punctual(seed: int, length: int) -> tuple[Timed, int]:
    """Rows with their times, some out of order, and the delay with which none of them is late."""
    random = Random(seed)
    delay, now = random.choice([0, 5, 30]), 0
    rows = []
    for number in range(length):
        now += random.choice([0, 0, 1, 4, 12, 40])
        rows.append((replace(any_row(random), id=number), now - random.randint(0, delay)))
    return rows, delay


def timed(rows: Timed, number: int, sign: int = 1) -> pa.Table:
    table = arrow([Change(INSERT, row) for row, _ in rows], number, sign)
    return table.append_column(AT, pa.array([at for _, at in rows], pa.timestamp("us", "UTC")))


TIMED = st.builds(punctual, SEEDS, st.integers(0, 40))
TTLS = st.sampled_from([3, 10])


def together(names: dict[Any, Any]) -> set[frozenset[Any]]:
    """Which rows have the same name."""
    return {frozenset(row for row, name in names.items() if name == one) for one in names.values()}


@settings(max_examples=25)
@given(st.builds(punctual, SEEDS, st.integers(1, 20)), st.lists(st.integers(1, 6), max_size=3), TTLS)
def test_rows_are_in_the_generations_of_the_definition(stream: tuple[Timed, int], cuts: list[int], ttl: int) -> None:
    """After each micro-batch: the generation that each row was given, or to which its own has moved since."""
    generations = Generations((PART,), AT, ttl)
    done = Assigned(pa.table({}), pa.table({}), (), {})
    seen: Timed = []
    found: dict[Any, Any] = {}
    for number, batch in enumerate(one for one in cut(stream[0], cuts) if one):
        done = generations.assign(done.chunks, done.facts, timed(batch, number))
        moved = {(row[PART], row[GENERATION]): (row[PART], row[NEW]) for row in done.moved.to_pylist()}
        found = {row: moved.get(name, name) for row, name in found.items()}
        found |= {row[KEY]: (row[PART], row[GENERATION]) for row in done.rows.to_pylist()}
        seen = [*seen, *batch]
        expected = {row.id: (row.p, generation(place, seen, ttl)) for place, (row, _) in enumerate(seen)}
        assert together(found) == together(expected)
    last = {name: max(at for row, at in seen if found[row.id] == name) for name in found.values()}
    check_expired(generations, done, last)


def check_expired(generations: Generations, assigned: Assigned, last: dict[Any, int]) -> None:
    """A look finds those whose last row is more than the ttl before the watermark; and in the end there is one."""
    ends = sorted(at + generations.ttl for at in last.values())
    for watermark in (ends[len(ends) // 2], ends[len(ends) // 2] + 1, ends[-1] + 1):
        found = generations.expired(assigned.chunks, assigned.facts, Clock(watermark))
        gone = {name for name, at in last.items() if watermark - at > generations.ttl}
        assert found is not None or watermark <= ends[-1]
        assert found is None or {(row[PART], row[GENERATION]) for row in found[0].to_pylist()} == gone


def test_two_generations_become_one_when_a_row_comes_between() -> None:
    """ttl 10: 1, 5, 9 and 25, 30 are apart until 18 comes; then the later ones move."""
    generations = Generations((PART,), AT, 10)
    first = generations.assign((), {}, timed([(Row(at), at) for at in (1, 5, 9, 25, 30)], 0))
    assert first.rows[GENERATION].to_pylist() == [1, 1, 1, 25, 25]
    assert first.moved.num_rows == 0
    then = generations.assign(first.chunks, first.facts, timed([(Row(18), 18)], 1))
    assert then.rows[GENERATION].to_pylist() == [1]
    assert then.moved.select([GENERATION, NEW]).to_pylist() == [{GENERATION: 25, NEW: 1}]


def test_generations_of_format_1_are_read_once_and_kept_otherwise() -> None:
    generations = Generations((PART,), AT, 10)
    rows = pa.table(
        {PART: ["a", "a", "b"], GENERATION: [1, 25, 7], FIRST: [1, 25, 7], LAST: [9, 30, 7]},
        pa.schema([(PART, pa.string()), *((name, pa.int64()) for name in (GENERATION, FIRST, LAST))]),
    )
    old = former_chunks(rows, Sorting((PART,), (), (GENERATION,)), 2, FORMER, first=100)
    facts = {EXPIRE: 18}
    then = generations.assign(old, facts, timed([(Row(18, "a"), 18)], 1))
    assert then.moved.select([GENERATION, NEW]).to_pylist() == [{GENERATION: 25, NEW: 1}]
    assert not any(chunk.kind.startswith(FORMER) for chunk in then.chunks)
    for chunks in (old, then.chunks):
        gone, left = present(generations.expired(chunks, facts, Clock(18)))
        assert gone.to_pylist() == [{PART: "b", GENERATION: 7}]
        gone, _ = present(generations.expired(left, facts, Clock(41)))
        assert len(gone) == (2 if chunks is old else 1)


def test_what_expires_is_found_by_its_end() -> None:
    """Of a thousand generations one may have expired: the entries of the others are not read."""
    generations = Generations((PART,), AT, 10)
    first = generations.assign((), {}, timed([(Row(0, "first"), 0)], 0))
    many = [(Row(number, f"p{number}"), 5) for number in range(1, 1000)]
    then = generations.assign(first.chunks, first.facts, timed(many, 1))
    read: list[int] = []

    def load(chunk: Chunk) -> pa.Table:
        read.append(chunk.rows)
        return chunk.load()

    counted = [replace(chunk, load=partial(load, chunk)) if chunk.kind == ENDS else chunk for chunk in then.chunks]
    gone, _ = present(generations.expired(tuple(counted), then.facts, Clock(11)))
    assert gone.to_pylist() == [{PART: "first", GENERATION: 0}]
    assert read == [1]


def check_expiry(asked: Query, stream: tuple[Timed, int], cuts: Sequence[int], ttl: int, restarts: set[int]) -> None:
    """The law: the replayed changes are the query over the rows so far, each generation on its own."""
    rows, delay = stream
    asked = replace(asked, append=True)
    kernel = replace(asked.kernel, state_ttl=ttl, time=AT)
    state, watermark = State(), None
    seen: Timed = []
    result: dict[Any, dict[str, Any]] = {}
    for number, batch in enumerate(cut(rows, cuts)):
        step = step_twice(kernel, state, timed(batch, number, asked.sign), Clock(watermark))
        seen = [*seen, *batch]
        result = replayed(result, step.rows, asked.partition)
        groups: dict[int, list[Row]] = {}
        for place, (row, _) in enumerate(seen):
            alike = seen if asked.partition else [(replace(one, p="a"), at) for one, at in seen]
            groups.setdefault(generation(place, alike, ttl), []).append(row)
        expected = {key: row for group in groups.values() for key, row in asked.result(group).items()}
        assert same(result, expected)
        watermark = max((at for _, at in seen), default=delay) - delay if seen else None
        state = restarted(step.state) if number in restarts else step.state
    far = step_twice(kernel, state, None, Clock(10**6))
    assert far.rows is None and far.counters["groups"] == 0


@settings(max_examples=8)
@given(QUERIES, TIMED, CUTS, TTLS, st.sets(st.integers(0, 8)))
def test_partitions_expire_by_the_times_of_rows(
    asked: Query, stream: tuple[Timed, int], cuts: list[int], ttl: int, restarts: set[int]
) -> None:
    check_expiry(asked, stream, cuts, ttl, restarts)


@pytest.mark.slow
@settings(max_examples=150)
@given(QUERIES, TIMED, CUTS, TTLS, st.sets(st.integers(0, 8)))
def test_partitions_expire_by_the_times_of_rows_often(
    asked: Query, stream: tuple[Timed, int], cuts: list[int], ttl: int, restarts: set[int]
) -> None:
    check_expiry(asked, stream, cuts, ttl, restarts)


@settings(max_examples=4)
@given(st.sampled_from(PLAIN[:3]), TIMED, CUTS, TTLS)
def test_partitions_expire_where_only_the_first_n_are_kept(
    case: Case, stream: tuple[Timed, int], cuts: list[int], ttl: int
) -> None:
    check_expiry(Query((case,), top_n=2), stream, cuts, ttl, set())


def test_expired_partitions_free_their_rows() -> None:
    kernel = replace(Query((RUNNING,), append=True, size=4).kernel, state_ttl=10, time=AT)
    state = State()
    for number in range(0, 60, 4):
        rows = [(Row(at, f"p{at % 20}", at, 1), at) for at in range(number, number + 4)]
        step = step_twice(kernel, state, timed(rows, number), Clock(number - 1))
        state = step.state
        assert step.rows is not None
        assert step.counters["groups"] <= 18 and step.rows["r0"].to_pylist() == [1] * 4
