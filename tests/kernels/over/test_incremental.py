"""OVER over changelogs: after every micro-batch the replayed changes are the query over the table as it is then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes import errors
from panes.errors import PanesError
from panes.frames import Edge, Unit
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE, DELETE, INSERT
from panes.kernels.duck import query
from panes.kernels.kernel import Chunk, Clock, State, Step, run_step
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall, Values
from panes.kernels.over.incremental import RESUMES, OverIncremental
from panes.kernels.sorted_blocks.blocks import Directory

from ..harness import restarted, step_twice

KEY, PART, ORDER, VALUE, FLAG, SEQUENCE = "id", "p", "o", "x", "c", "seq"
BACK, AHEAD = "o_back", "o_ahead"  # the bounds of RANGE frames, two away in the direction of the order
FAR_BACK, FAR_AHEAD = "o_far_back", "o_far_ahead"  # and four
UNBOUNDED, NOW = Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW)
END = Bound(Edge.UNBOUNDED_FOLLOWING)


T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """A row of the table that changes."""

    id: int | None
    p: str | None = "a"
    o: int | None = 0
    x: int | None = 0
    c: bool | None = True


@dataclass(frozen=True)
class Change:
    kind: str
    row: Row
    sequence: int | None = None


def rows(n: int, edge: Edge) -> Bound:
    return Bound(edge, n)


def aggregate(function: str, frame: Frame, types: Sequence[str] = ("bigint",), **more: Any) -> OverCall:
    made = accumulator(function, types, distinct=more.pop("distinct", False))
    return OverCall("aggregate", (VALUE,) * len(types), "", frame, accumulator=made, **more)


@dataclass(frozen=True)
class Case:
    """A call, and how DuckDB says it; `$w` stands for PARTITION BY and ORDER BY, `$o` for an order that is total."""

    sql: str
    call: OverCall


def frame(unit: Unit, start: Bound, end: Bound) -> Frame:
    return Frame(unit, start, end)


PRECEDING, FOLLOWING = Edge.PRECEDING, Edge.FOLLOWING
FRAMES = {
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW": frame(Unit.ROWS, rows(2, PRECEDING), NOW),
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING": frame(Unit.ROWS, rows(1, PRECEDING), rows(1, FOLLOWING)),
    "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING": frame(Unit.ROWS, rows(3, PRECEDING), rows(2, PRECEDING)),
    "ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING": frame(Unit.ROWS, rows(2, FOLLOWING), rows(3, FOLLOWING)),
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": frame(Unit.ROWS, UNBOUNDED, NOW),
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING": frame(Unit.ROWS, UNBOUNDED, rows(1, PRECEDING)),
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING": frame(Unit.ROWS, UNBOUNDED, rows(1, FOLLOWING)),
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING": frame(Unit.ROWS, NOW, END),
    "ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING": frame(Unit.ROWS, rows(1, PRECEDING), END),
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING": frame(Unit.ROWS, UNBOUNDED, END),
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": frame(Unit.RANGE, UNBOUNDED, NOW),
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING": frame(Unit.RANGE, NOW, END),
    "RANGE BETWEEN CURRENT ROW AND CURRENT ROW": frame(Unit.RANGE, NOW, NOW),
    "RANGE BETWEEN 2 PRECEDING AND CURRENT ROW": frame(Unit.RANGE, Bound(PRECEDING, Values(BACK)), NOW),
    "RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING": frame(Unit.RANGE, NOW, Bound(FOLLOWING, Values(AHEAD))),
    "RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING": frame(
        Unit.RANGE, Bound(PRECEDING, Values(BACK)), Bound(FOLLOWING, Values(AHEAD))
    ),
    "RANGE BETWEEN 4 PRECEDING AND 2 PRECEDING": frame(
        Unit.RANGE, Bound(PRECEDING, Values(FAR_BACK)), Bound(PRECEDING, Values(BACK))
    ),
    "RANGE BETWEEN 2 FOLLOWING AND 4 FOLLOWING": frame(
        Unit.RANGE, Bound(FOLLOWING, Values(AHEAD)), Bound(FOLLOWING, Values(FAR_AHEAD))
    ),
    "RANGE BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING": frame(Unit.RANGE, Bound(FOLLOWING, Values(AHEAD)), END),
    "RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING": frame(Unit.RANGE, UNBOUNDED, Bound(PRECEDING, Values(BACK))),
    "RANGE BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING": frame(Unit.RANGE, UNBOUNDED, Bound(FOLLOWING, Values(AHEAD))),
}

PLAIN = [
    *(Case(f"{name}() OVER ($w)", OverCall(name, (), "")) for name in ("row_number", "dense_rank", "rank")),
    Case("percent_rank() OVER ($w)", OverCall("percent_rank", (), "")),
    Case("cume_dist() OVER ($w)", OverCall("cume_dist", (), "")),
    Case("ntile(3) OVER ($w)", OverCall("ntile", (), "", offset=3)),
    Case("lag(x, 2) OVER ($w)", OverCall("lag", (VALUE,), "", offset=2)),
    Case("lag(x, 1, id) OVER ($w)", OverCall("lag", (VALUE,), "", default=KEY)),
    Case("lag(x IGNORE NULLS) OVER ($w)", OverCall("lag", (VALUE,), "", ignore_nulls=True)),
    Case("lag(x, 3 IGNORE NULLS) OVER ($w)", OverCall("lag", (VALUE,), "", ignore_nulls=True, offset=3)),
    Case("lag(x, 2, id IGNORE NULLS) OVER ($w)", OverCall("lag", (VALUE,), "", None, True, offset=2, default=KEY)),
    Case("lead(x, 2) OVER ($w)", OverCall("lead", (VALUE,), "", offset=2)),
    Case("lead(x IGNORE NULLS) OVER ($w)", OverCall("lead", (VALUE,), "", ignore_nulls=True)),
    Case("lead(x, 2, id IGNORE NULLS) OVER ($w)", OverCall("lead", (VALUE,), "", None, True, offset=2, default=KEY)),
]
FRAMED: dict[str, Callable[[Frame], OverCall]] = {
    "sum(x) OVER ($w)": lambda one: aggregate("sum", one),
    "sum(x) FILTER (WHERE coalesce(c, false)) OVER ($w)": lambda one: aggregate("sum", one, condition=FLAG),
    "count(*) OVER ($w)": lambda one: aggregate("count", one, ()),
    "avg(x) OVER ($w)": lambda one: aggregate("avg", one),
    "min(x) OVER ($w)": lambda one: aggregate("min", one),
    "count(DISTINCT x) OVER ($w)": lambda one: aggregate("count", one, distinct=True),
    "first_value(x$o) OVER ($w)": lambda one: OverCall("first_value", (VALUE,), "", one),
    "first_value(x$o IGNORE NULLS) OVER ($w)": lambda one: OverCall(
        "first_value", (VALUE,), "", one, ignore_nulls=True
    ),
    "last_value(x$o) OVER ($w)": lambda one: OverCall("last_value", (VALUE,), "", one),
    "last_value(x$o IGNORE NULLS) OVER ($w)": lambda one: OverCall("last_value", (VALUE,), "", one, ignore_nulls=True),
    "nth_value(x, 2$o) OVER ($w)": lambda one: OverCall("nth_value", (VALUE,), "", one, offset=2),
    "nth_value(x, 2$o IGNORE NULLS) OVER ($w)": lambda one: OverCall("nth_value", (VALUE,), "", one, True, offset=2),
    "first(x$o) OVER ($w)": lambda one: aggregate("first", one),
    "last(x$o) OVER ($w)": lambda one: aggregate("last", one),
    "list(x$o) FILTER (WHERE x IS NOT NULL) OVER ($w)": lambda one: aggregate("collect_list", one),
}
CASES = PLAIN + [
    Case(sql.replace("$w", f"$w {text}"), make(one)) for sql, make in FRAMED.items() for text, one in FRAMES.items()
]


@dataclass(frozen=True)
class Query:
    """Some calls over one window; `size` is that of blocks."""

    cases: tuple[Case, ...]
    order: OrderKey = OrderKey(ORDER)  # noqa: RUF009
    partition: tuple[str, ...] = (PART,)
    size: int = 4
    top_n: int | None = None
    append: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def sign(self) -> int:
        return -1 if self.order.descending else 1

    @property
    def kernel(self) -> OverIncremental:
        calls = tuple(replace(case.call, output=f"r{number}") for number, case in enumerate(self.cases))
        return OverIncremental(
            self.partition,
            (self.order,),
            (KEY,),
            (KEY,),
            calls,
            (PART, ORDER, VALUE),
            None if self.append else "kind",
            ("batch", "place"),
            top_n=None if self.top_n is None else ("r0", self.top_n),
            size=self.size,
            **self.more,
        )

    def result(self, table: Iterable[Row]) -> dict[Any, dict[str, Any]]:
        """The query over a table, by DuckDB."""
        partition = f"PARTITION BY {', '.join(self.partition)} " if self.partition else ""
        by = f"o {'DESC' if self.order.descending else 'ASC'} NULLS {'FIRST' if self.order.nulls_first else 'LAST'}"
        columns = []
        for number, case in enumerate(self.cases):
            ties = "" if "RANGE" in case.sql or "rank" in case.sql or "cume" in case.sql else ", id NULLS FIRST"
            text = case.sql.replace("$o", f" ORDER BY {by}, id NULLS FIRST")
            columns.append(f"{text.replace('$w', f'{partition}ORDER BY {by}{ties}')} AS r{number}")
        now = arrow([Change(INSERT, row) for row in table], 0, 1).select([KEY, PART, ORDER, VALUE, FLAG])
        sql = f"SELECT id, p, o, x, {', '.join(columns)} FROM t"
        if self.top_n is not None:
            sql = f"SELECT * FROM ({sql}) WHERE r0 <= {self.top_n}"
        return {row["id"]: row for row in query(sql, t=now).to_pylist()}


def arrow(changes: Sequence[Change], batch: int, sign: int) -> pa.Table:
    def column(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(list(values), kind)

    def away(n: int) -> pa.Array:
        return column((None if c.row.o is None else c.row.o + n * sign for c in changes), pa.int64())

    return pa.table(
        {
            KEY: column((c.row.id for c in changes), pa.int64()),
            PART: column((c.row.p for c in changes), pa.string()),
            ORDER: away(0),
            BACK: away(-2),
            AHEAD: away(2),
            FAR_BACK: away(-4),
            FAR_AHEAD: away(4),
            VALUE: column((c.row.x for c in changes), pa.int64()),
            FLAG: column((c.row.c for c in changes), pa.bool_()),
            "kind": column((c.kind for c in changes), pa.string()),
            SEQUENCE: column((c.sequence for c in changes), pa.int64()),
            "batch": column([batch] * len(changes), pa.int64()),
            "place": column(range(len(changes)), pa.int64()),
        }
    )


def applied(table: dict[Any, Row], changes: Sequence[Change]) -> tuple[dict[Any, Row], int]:
    """The table after changes, one by one; and how many did not fit."""
    table, bad = dict(table), 0
    for change in changes:
        there = change.row.id in table
        if change.kind in (DELETE, BEFORE):
            bad += not there
            table.pop(change.row.id, None)
        elif change.kind == INSERT and there:
            bad += 1
        else:
            table[change.row.id] = change.row
    return table, bad


def replayed(
    result: dict[Any, dict[str, Any]], out: pa.Table | None, partition: Sequence[str]
) -> dict[Any, dict[str, Any]]:
    """A result after the changes that came out, which must fit; and no more of them than needed."""
    result = dict(result)
    changes = out.to_pylist() if out is not None else []
    seen: list[tuple[Any, str]] = []
    for number, change in enumerate(changes):
        kind = change.pop(CHANGE)
        if kind in (DELETE, BEFORE):
            assert same(result.pop(change["id"]), change)
        else:
            assert change["id"] not in result
            result[change["id"]] = change
        if kind == AFTER:
            before = changes[number - 1]
            assert all(before[name] == change[name] for name in (KEY, *partition)) and not same(before, change)
        else:
            seen.append((change["id"], DELETE if kind == DELETE else INSERT))
    assert len(set(seen)) == len(seen)
    for key in {key for key, _ in seen}:
        both = [change for change in changes if change["id"] == key]
        assert len(both) <= 2 and (len(both) == 1 or both[0] != both[1])
    return result


def same(one: Any, other: Any) -> bool:
    """Equal, but for the last digits of an average."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=1e-9))
    return bool(one == other or (one in (None, []) and other in (None, [])))


def check(asked: Query, batches: Sequence[Sequence[Change]], restarts: Iterable[int] = ()) -> list[Step]:
    """The law: after every micro-batch the replayed changes are the query over the table."""
    kernel, state = asked.kernel, State()
    table: dict[Any, Row] = {}
    result: dict[Any, dict[str, Any]] = {}
    steps = []
    for number, changes in enumerate(batches):
        step = step_twice(kernel, state, arrow(changes, number, asked.sign), Clock())
        table, bad = applied(table, changes)
        result = replayed(result, step.rows, asked.partition)
        assert same(result, asked.result(table.values()))
        assert step.counters["inconsistent_rows"] == bad
        assert step.counters["groups"] == len(table) or asked.append
        quiet = step_twice(kernel, step.state, None, Clock())
        assert quiet.rows is None and quiet.state is step.state
        state = restarted(step.state) if number in set(restarts) else step.state
        steps.append(step)
    return steps


def any_row(random: Random, keys: int = 16) -> Row:
    return Row(
        random.choice([None, *range(keys)]),
        random.choice(["a", "a", "a", "b", None]),
        random.choice([None, *range(-4, 5)]),
        random.choice([None, *range(-3, 4)]),
        random.choice([True, False, None]),
    )


# Drawn by a seed: what Hypothesis draws itself is mostly too small for blocks to matter. Lengths are for it to shrink.
SEEDS = st.integers(0, 1 << 32)
ORDERS = st.builds(OrderKey, st.just(ORDER), st.booleans(), st.booleans())
QUERIES = st.builds(
    Query,
    st.builds(lambda seed, some: tuple(Random(seed).sample(CASES + PLAIN * 6, some)), SEEDS, st.integers(1, 4)),
    ORDERS,
    st.sampled_from([(PART,), ()]),
    st.sampled_from([2, 4, 100]),
)
CUTS = st.builds(lambda seed, some: [Random(seed).randint(1, 6) for _ in range(some)], SEEDS, st.integers(2, 5))


def history(seed: int, length: int) -> list[Change]:
    """Changes that fit: a row that is there is updated or deleted, one that is not is inserted."""
    random = Random(seed)
    table: dict[Any, Row] = {}
    changes: list[Change] = []
    for _ in range(length):
        row, action = any_row(random), random.randint(0, 5)
        old = table.get(row.id)
        if old is None:
            new = [Change(AFTER if action == 0 else INSERT, row)]
        elif action == 0:
            new = [Change(DELETE, Row(row.id))]
        elif action == 1:
            new = [Change(BEFORE, old), Change(AFTER, replace(old, x=row.x))]
        elif action == 2:
            new = [Change(BEFORE, old), Change(AFTER, replace(old, o=row.o))]
        elif action == 3:
            new = [Change(DELETE, old), Change(INSERT, row)]
        else:
            new = [Change(BEFORE, old)] * (action == 4) + [Change(AFTER, row)]
        table = applied(table, new)[0]
        changes += new
    return changes


HISTORIES = st.builds(history, SEEDS, st.integers(0, 40))


def cut(changes: Sequence[T], sizes: Sequence[int]) -> list[Sequence[T]]:
    """The rest first, so that the small micro-batches find something there."""
    first = max(0, len(changes) - sum(sizes))
    ends = np.cumsum([first, *sizes]).tolist()
    return [changes[start:stop] for start, stop in pairwise([0, *ends])]


@settings(max_examples=60)
@given(QUERIES, HISTORIES, CUTS, st.sets(st.integers(0, 8)))
def test_changes_are_those_of_the_query(
    asked: Query, changes: list[Change], cuts: list[int], restarts: set[int]
) -> None:
    check(asked, cut(changes, cuts), restarts)


def check_alone(one: Case, seeds: Iterable[int]) -> None:
    for seed in seeds:
        order = OrderKey(ORDER, bool(seed & 1), bool(seed & 2))
        check(Query((one,), order, size=2), cut(history(seed, 40), [2, 1, 3, 1, 4, 1, 2, 1]), {3, 6})


SOME = PLAIN + [one for one in CASES if one.sql.startswith("sum(x) OVER")]


@pytest.mark.parametrize("one", SOME, ids=lambda one: one.sql)
def test_each_function_and_each_frame(one: Case) -> None:
    check_alone(one, [4 if one in PLAIN else 34])


@pytest.mark.slow
@pytest.mark.parametrize("one", CASES, ids=lambda one: one.sql)
def test_each_function_in_each_frame(one: Case) -> None:
    check_alone(one, range(8))


@pytest.mark.slow
@settings(max_examples=2000)
@given(QUERIES, HISTORIES, CUTS, st.sets(st.integers(0, 8)))
def test_changes_are_those_of_the_query_often(
    asked: Query, changes: list[Change], cuts: list[int], restarts: set[int]
) -> None:
    check(asked, cut(changes, cuts), restarts)


def any_changes(seed: int, length: int) -> list[Change]:
    random = Random(seed)
    kinds = [INSERT, DELETE, BEFORE, AFTER]
    return [Change(random.choice(kinds), any_row(random, 5)) for _ in range(length)]


@settings(max_examples=15)
@given(QUERIES, st.builds(any_changes, SEEDS, st.integers(0, 30)), CUTS)
def test_changes_that_do_not_fit_are_left_out_and_counted(asked: Query, changes: list[Change], cuts: list[int]) -> None:
    check(replace(asked, more={"on_inconsistency": "skip"}), cut(changes, cuts))


@pytest.mark.parametrize("kind", [DELETE, BEFORE, INSERT])
def test_changes_that_do_not_fit_stop_the_query(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(errors.CODES, "inconsistent-change", "a change of a row that is not there, or is already")
    asked = Query((PLAIN[0],))
    there = [Change(INSERT, Row(7))] if kind == INSERT else []
    with pytest.raises(PanesError) as caught:
        check(asked, [[*there, Change(INSERT, Row(1)), Change(kind, Row(7))]])
    assert caught.value.code == "inconsistent-change"
    assert "id = 7" in caught.value.message


@settings(max_examples=10)
@given(QUERIES, HISTORIES, CUTS, CUTS, st.randoms(use_true_random=False))
def test_sequence_orders_the_changes_of_a_key(
    asked: Query, changes: list[Change], cuts: list[int], others: list[int], random: Random
) -> None:
    """Numbered changes may come in any order and in any micro-batches: those that were overtaken are stale."""
    stamped = [replace(one, sequence=number) for number, one in enumerate(changes)]
    mixed = random.sample(stamped, len(stamped))
    table: dict[Any, Row] = {}
    for one in stamped:
        table.pop(one.row.id, None)
        table |= {one.row.id: one.row} if one.kind in (INSERT, AFTER) else {}
    kernel = replace(asked, more={"sequence": SEQUENCE, "time": "batch"}).kernel
    for sizes in (cuts, others):
        state = State()
        result: dict[Any, dict[str, Any]] = {}
        for number, batch in enumerate(cut(mixed, sizes)):
            step = step_twice(kernel, state, arrow(batch, number, asked.sign), Clock())
            state, result = step.state, replayed(result, step.rows, asked.partition)
        assert same(result, asked.result(table.values()))


def appends(seed: int, length: int) -> list[Change]:
    random = Random(seed)
    return [Change(INSERT, replace(any_row(random), id=number)) for number in range(length)]


APPENDS = st.builds(appends, SEEDS, st.integers(0, 40))


@settings(max_examples=15)
@given(QUERIES, APPENDS, CUTS, st.sets(st.integers(0, 8)))
def test_rows_that_only_come(asked: Query, changes: list[Change], cuts: list[int], restarts: set[int]) -> None:
    check(replace(asked, append=True), cut(changes, cuts), restarts)


@settings(max_examples=15)
@given(st.sampled_from(PLAIN[:3]), ORDERS, HISTORIES, APPENDS, CUTS, st.integers(1, 3), st.booleans())
def test_top_n(
    case: Case, order: OrderKey, changes: list[Change], inserts: list[Change], cuts: list[int], most: int, append: bool
) -> None:
    """Only the first n are in the result; where rows only come, no others are kept."""
    asked = Query((case,), order, top_n=most, append=append)
    steps = check(asked, cut(inserts if append else changes, cuts))
    if append and case.call.function == "row_number" and inserts:
        partitions = {change.row.p for change in inserts}
        assert steps[-1].counters["groups"] <= most * len(partitions)


@settings(max_examples=5)
@given(QUERIES, HISTORIES, CUTS, CUTS)
def test_cuts_do_not_show(asked: Query, changes: list[Change], cuts: list[int], others: list[int]) -> None:
    """However the changes are cut, the replayed result is the same in the end."""
    ends = []
    for sizes in (cuts, others):
        state = State()
        result: dict[Any, dict[str, Any]] = {}
        for number, batch in enumerate(cut(changes, sizes)):
            step = step_twice(asked.kernel, state, arrow(batch, number, asked.sign), Clock())
            state, result = step.state, replayed(result, step.rows, asked.partition)
        ends.append(result)
    assert same(*ends)


def loaded(asked: Query, number: int) -> State:
    """One partition with rows at 0, 10, 20, …"""
    rows = [Change(INSERT, Row(at, "a", at * 10, 1)) for at in range(number)]
    return step_twice(asked.kernel, State(), arrow(rows, 0, asked.sign), Clock()).state


def case(text: str) -> Case:
    return next(one for one in CASES if one.sql == text)


ROW_NUMBER = case("row_number() OVER ($w)")
RUNNING = case("sum(x) OVER ($w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)")
RUNNING_PEERS = case("sum(x) OVER ($w RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)")
SLIDING = case("sum(x) OVER ($w ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)")
NEAR = case("sum(x) OVER ($w RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING)")


def one_by_one(seed: int) -> list[Sequence[Change]]:
    """Rows of one partition, and then changes here and there: most of them in the middle of a block."""
    random = Random(seed)
    table = {at: Row(at, "a", 3 * at, at) for at in range(60)}
    batches: list[Sequence[Change]] = [[Change(INSERT, row) for row in table.values()]]
    for number in range(4):
        old = table.pop(random.choice(list(table)))
        new = Row(100 + number, "a", random.randint(0, 180), number)
        batches.append(random.choice([[Change(DELETE, old)], [Change(DELETE, old), Change(INSERT, new)]]))
    return batches


@settings(max_examples=40)
@given(st.sampled_from([*PLAIN[:3], RUNNING, RUNNING_PEERS]), st.sampled_from(CASES), st.builds(one_by_one, SEEDS))
def test_calls_of_different_reach(carried: Case, other: Case, batches: list[Sequence[Change]]) -> None:
    check(Query((carried, other), size=12), batches)


RESUMED = [
    case("sum(x) OVER ($w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"),
    case("first_value(x$o) OVER ($w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"),
    case("nth_value(x, 2$o) OVER ($w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"),
    case("sum(x) OVER ($w RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING)"),
    case("sum(x) OVER ($w RANGE BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING)"),
    case("nth_value(x, 2$o IGNORE NULLS) OVER ($w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"),
    case("nth_value(x, 2$o IGNORE NULLS) OVER ($w RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING)"),
    case("lag(x, 3 IGNORE NULLS) OVER ($w)"),
    case("lag(x, 2, id IGNORE NULLS) OVER ($w)"),
    case("nth_value(x, 2$o) OVER ($w RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"),
    case("lag(x IGNORE NULLS) OVER ($w)"),
]
ONE_AHEAD = case("avg(x) OVER ($w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)")
LEAD = case("lead(x IGNORE NULLS) OVER ($w)")


@pytest.mark.parametrize(
    "one", [ROW_NUMBER, RUNNING, RUNNING_PEERS, SLIDING, NEAR, *RESUMED, ONE_AHEAD, LEAD], ids=lambda one: one.sql
)
def test_an_insert_at_the_end_reads_few_blocks(one: Case) -> None:
    asked = Query((one,), size=16)
    for number in (100, 2000):
        state = loaded(asked, number)
        step = step_twice(asked.kernel, state, arrow([Change(INSERT, Row(-1, "a", 10**6, 1))], 1, 1), Clock())
        assert step.counters["blocks_read"] <= 3
        assert step.counters["rows_recomputed"] == (2 if one in (ONE_AHEAD, LEAD) else 1)
        kept = {chunk.id for chunk in state.chunks} & {chunk.id for chunk in step.state.chunks}
        assert len(state.chunks) - len(kept) <= 4  # a block and a directory, of rows and of keys


@pytest.mark.parametrize("one", [*RESUMED[:-2], ONE_AHEAD], ids=lambda one: one.sql)
def test_what_the_first_checkpoints_do_not_keep_is_computed_once(one: Case) -> None:
    """Rows without what calls resume from now: the next change computes it for all, and those after it resume."""
    asked = Query((one,), size=4)
    rows = [Row(at, "ab"[at % 2], at * 10, None if at % 2 else at) for at in range(60)]
    later = [
        Change(INSERT, Row(100, "a", 10**6, 7)),
        Change(DELETE, Row(59)),
        Change(INSERT, Row(101, "b", 10**6, 5)),
    ]
    full = run_step(asked.kernel, State(), arrow([Change(INSERT, row) for row in rows], 0, 1), Clock()).state
    kept = {KEY, PART, ORDER, VALUE, BACK, AHEAD, FAR_BACK, FAR_AHEAD, "r0"}
    old = replace(full, chunks=tuple(only(chunk, kept) for chunk in full.chunks), facts=without_fact(full))
    assert any(name not in kept for chunk in segments(full) for name in chunk.load().column_names)
    table: dict[Any, Row] = {row.id: row for row in rows}
    state, result = old, asked.result(rows)
    steps: list[Step] = []
    for number, change in enumerate(later):
        step = step_twice(asked.kernel, state, arrow([change], number + 1, 1), Clock())
        table, _ = applied(table, [change])
        result = replayed(result, step.rows, asked.partition)
        assert same(result, asked.result(table.values()))
        steps, state = [*steps, step], step.state
    assert steps[0].counters["rows_recomputed"] == 61
    assert all(step.counters["blocks_read"] <= 3 for step in steps[1:])


def segments(state: State) -> list[Chunk]:
    return [chunk for chunk in state.chunks if chunk.kind == "segment"]


def only(chunk: Chunk, names: set[str]) -> Chunk:
    """A segment with only these columns."""
    if chunk.kind != "segment":
        return chunk
    rows = chunk.load().select([name for name in chunk.load().column_names if name in names])
    return replace(chunk, load=lambda: rows)


def without_fact(state: State) -> dict[str, Any]:
    return {name: fact for name, fact in state.facts.items() if name != RESUMES}


@pytest.mark.parametrize("one", [SLIDING, NEAR], ids=lambda one: one.sql)
def test_a_change_in_the_middle_reads_its_neighbours(one: Case) -> None:
    asked = Query((one,), size=16)
    state = loaded(asked, 2000)
    step = step_twice(asked.kernel, state, arrow([Change(AFTER, Row(1000, "a", 10000, 5))], 1, 1), Clock())
    assert step.counters["blocks_read"] <= 3
    assert step.counters["rows_recomputed"] == (3 if one is SLIDING else 1)
    assert present(step.rows).num_rows == 2 * step.counters["rows_recomputed"]


@pytest.mark.parametrize("value", [None, 5])
def test_a_value_reaches_the_rows_back_to_the_last_one(value: int | None) -> None:
    """Every fiftieth row has a value: the next one is seen by those since, and NULL by none."""
    asked = Query((LEAD, ROW_NUMBER), size=16)
    rows = [Change(INSERT, Row(at, "a", at * 10, None if at % 50 else at)) for at in range(2000)]
    state = step_twice(asked.kernel, State(), arrow(rows, 0, 1), Clock()).state
    step = step_twice(asked.kernel, state, arrow([Change(INSERT, Row(-1, "a", 10**6, value))], 1, 1), Clock())
    assert step.counters["rows_recomputed"] == (1 if value is None else 51)
    assert step.counters["blocks_read"] <= (2 if value is None else 9)


@pytest.mark.parametrize("one", [*PLAIN[:3], RUNNING_PEERS], ids=lambda one: one.sql)
def test_peers_in_several_blocks(one: Case) -> None:
    """A row comes into the middle of peers, then one goes: some results go on from a peer, some change for all."""
    rows = [Change(INSERT, Row(at, "a", at // 20, 1)) for at in range(0, 60, 2)]
    check(Query((one,), size=3), [rows, [Change(INSERT, Row(31, "a", 1, 5))], [Change(DELETE, Row(34))]])


def test_a_value_at_the_same_place_moves_no_rank() -> None:
    asked = Query((ROW_NUMBER,), size=16)
    state = loaded(asked, 2000)
    step = step_twice(asked.kernel, state, arrow([Change(AFTER, Row(3, "a", 30, 5))], 1, 1), Clock())
    assert step.counters["rows_recomputed"] == 1
    assert present(step.rows).num_rows == 2


def test_results_that_stay_are_silent() -> None:
    asked = Query((case("min(x) OVER ($w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"),), size=16)
    state = loaded(asked, 100)
    step = step_twice(asked.kernel, state, arrow([Change(INSERT, Row(-1, "a", 5, 7))], 1, 1), Clock())
    assert present(step.rows).num_rows == 1
    assert step.counters["unchanged_rows"] == 99


def test_nothing_changes_where_changes_cancel() -> None:
    asked = Query((ROW_NUMBER,), size=16)
    state = loaded(asked, 20)
    row = Row(3, "a", 30, 1)
    step = step_twice(asked.kernel, state, arrow([Change(BEFORE, row), Change(AFTER, row)], 1, 1), Clock())
    assert step.rows is None
    gone = step_twice(asked.kernel, state, arrow([Change(INSERT, Row(-1)), Change(DELETE, Row(-1))], 1, 1), Clock())
    assert gone.rows is None
    assert gone.state.chunks == state.chunks


@pytest.mark.parametrize(
    ("other", "order"),
    [("lead(x, 2) OVER ($w)", 55), ("sum(x) OVER ($w RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING)", 41)],
)
def test_what_goes_on_from_the_row_before_begins_where_any_call_is_computed_again(other: str, order: int) -> None:
    rows = [Change(INSERT, Row(at, "a", at * 10, 1)) for at in range(12)]
    check(Query((ROW_NUMBER, case(other))), [rows, [Change(INSERT, Row(20, "a", order, 1))]])


def test_blocks_shrink_and_vanish() -> None:
    asked = Query((ROW_NUMBER,), size=16)
    state = loaded(asked, 200)
    for start in range(0, 200, 5):
        batch = [Change(DELETE, Row(at)) for at in range(start, start + 5)]
        state = step_twice(asked.kernel, state, arrow(batch, 1, 1), Clock()).state
        left = 195 - start
        directory = Directory.read(state.chunks)
        assert len(directory.opened(directory.closed)) <= left // 4 + 1
    assert not state.chunks
