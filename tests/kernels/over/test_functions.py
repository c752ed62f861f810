"""Values of OVER calls against a row-by-row definition: every function, every frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.frames import Edge, Unit
from panes.functions.over import OVER_FUNCTIONS, OverFunction, Reach
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall, Values, rows_of, values_of
from panes.kernels.over.functions import VALUES, over_values
from panes.kernels.over.running import RANKS as RANK_COLUMNS
from panes.kernels.over.sorted_rows import arranged
from panes.kernels.over.stages import RUNNING_PICKS

Row = dict[str, Any]
K, X, Y, TIE, LOW, HIGH, DEFAULT, KEEP = "k", "x", "y", "tie", "low", "high", "default", "keep"


def sort_key(value: Any, key: OrderKey) -> tuple[int, Any]:
    if value is None:
        return (-1, 0) if key.nulls_first else (1, 0)
    return 0, -value if key.descending else value


def order_of(row: Row, keys: Sequence[OrderKey]) -> list[tuple[int, Any]]:
    return [sort_key(row[key.column], key) for key in keys]


def in_frame(rows: list[Row], i: int, frame: Frame, keys: Sequence[OrderKey]) -> list[Row]:
    """Rows of a sorted partition that are in the frame of the row at `i`."""

    def compared(j: int, bound: Bound) -> int:
        """Below zero if row j comes before the bound, above if it comes after."""
        if bound.edge is Edge.UNBOUNDED_PRECEDING:
            return 1
        if bound.edge is Edge.UNBOUNDED_FOLLOWING:
            return -1
        if frame.unit is Unit.ROWS:
            return j - (i - rows_of(bound) if bound.edge is Edge.PRECEDING else i + rows_of(bound))
        if bound.edge is Edge.CURRENT_ROW:
            mine, other = order_of(rows[i], keys), order_of(rows[j], keys)
        else:
            column = present(values_of(bound)).column
            mine, other = [sort_key(rows[i][column], keys[0])], [sort_key(rows[j][keys[0].column], keys[0])]
        return (other > mine) - (other < mine)

    return [row for j, row in enumerate(rows) if compared(j, frame.start) >= 0 and compared(j, frame.end) <= 0]


AGGREGATES: dict[str, tuple[tuple[str, ...], Callable[[list[Row]], Any]]] = {
    "count": ((), len),
    "sum": ((X,), lambda rows: sum(xs) if (xs := not_null(rows)) else None),
    "avg": ((X,), lambda rows: sum(xs) / len(xs) if (xs := not_null(rows)) else None),
    "min": ((X,), lambda rows: min(not_null(rows), default=None)),
    "max": ((X,), lambda rows: max(not_null(rows), default=None)),
    "last": ((X,), lambda rows: rows[-1][X] if rows else None),
    "first": ((X,), lambda rows: rows[0][X] if rows else None),
    "min_by": ((X, Y), lambda rows: beside(rows, -1)),
    "max_by": ((X, Y), lambda rows: beside(rows, 1)),
    "collect_list": ((X,), lambda rows: not_null(rows)),
    "count distinct": ((X,), lambda rows: len(set(not_null(rows)))),
    "median": ((X,), lambda rows: middle(sorted(not_null(rows)))),
}
RUNNING = [name for name in AGGREGATES if name not in ("collect_list", "count distinct", "median")]


def not_null(rows: list[Row]) -> list[int]:
    return [row[X] for row in rows if row[X] is not None]


def beside(rows: list[Row], sign: int) -> Any:
    """The value beside the extreme y, of equals the last."""
    known = [(sign * row[Y], at) for at, row in enumerate(rows) if row[Y] is not None]
    return rows[max(known)[1]][X] if known else None


def middle(xs: list[int]) -> float | None:
    return (xs[(len(xs) - 1) // 2] + xs[len(xs) // 2]) / 2 if xs else None


def aggregate(name: str, frame: Frame, condition: str | None = None) -> OverCall:
    args, _ = AGGREGATES[name]
    found = accumulator(name.split()[0], ["bigint"] * len(args), distinct=name.endswith("distinct"))
    return OverCall("aggregate", args, name, frame, condition=condition, accumulator=found)


def definition(rows: list[Row], i: int, call: OverCall, keys: Sequence[OrderKey]) -> Any:
    """What a call gives for row `i` of a sorted partition."""
    orders = [order_of(row, keys) for row in rows]
    rank = orders.index(orders[i])
    match call.function:
        case "row_number":
            return i + 1
        case "rank":
            return rank + 1
        case "dense_rank":
            return len({str(order) for order in orders[:rank]}) + 1
        case "percent_rank":
            return rank / (len(rows) - 1) if len(rows) > 1 else 0.0
        case "cume_dist":
            return sum(order <= orders[i] for order in orders) / len(rows)
        case "ntile":
            sizes = [len(rows) // call.offset + (tile < len(rows) % call.offset) for tile in range(call.offset)]
            return next(tile + 1 for tile in range(call.offset) if i < sum(sizes[: tile + 1]))
        case "lag" | "lead":
            others = rows[:i][::-1] if call.function == "lag" else rows[i + 1 :]
            others = [row for row in others if not (call.ignore_nulls and row[X] is None)]
            there = len(others) >= call.offset
            return others[call.offset - 1][X] if there else rows[i][call.default] if call.default else None
    assert call.frame is not None
    inside = in_frame(rows, i, call.frame, keys)
    if call.function == "aggregate":
        kept = [row for row in inside if call.condition is None or row[call.condition]]
        return AGGREGATES[call.output][1](kept)
    values = [row[X] for row in inside if not (call.ignore_nulls and row[X] is None)]
    at = {"first_value": 0, "last_value": len(values) - 1, "nth_value": call.offset - 1}[call.function]
    return values[at] if 0 <= at < len(values) else None


SMALL = st.none() | st.integers(-3, 3)
ROW = st.fixed_dictionaries(
    {
        K: st.sampled_from(["a", "b", None]),
        X: SMALL,
        Y: SMALL,
        DEFAULT: SMALL,
        KEEP: st.sampled_from([True, False, None]),
    }
)
EDGES = [*Edge]
RANKS = ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"]
PICKS = [*RANKS, "lag", "lead", "first_value", "last_value", "nth_value"]
KEYS = st.lists(st.builds(OrderKey, st.sampled_from([X, Y]), st.booleans(), st.booleans()), min_size=1, max_size=2)


@st.composite
def frames(draw: st.DrawFn, unit: Unit | None = None) -> Frame:
    """Any frame that does not end before it starts by its kind."""
    start = draw(st.sampled_from(EDGES[:-1]))
    end = draw(st.sampled_from([edge for edge in EDGES[1:] if EDGES.index(edge) >= EDGES.index(start)]))
    unit = unit or draw(st.sampled_from(Unit))

    def bound(edge: Edge, column: str) -> Bound:
        far = draw(st.integers(0, 3))
        if not edge.has_offset:
            return Bound(edge)
        return Bound(edge, far if unit is Unit.ROWS else Values(column, far))

    return Frame(unit, bound(start, LOW), bound(end, HIGH))


@st.composite
def calls(draw: st.DrawFn) -> OverCall:
    function = draw(st.sampled_from(PICKS) | st.just("aggregate"))
    if function == "aggregate":
        return aggregate(draw(st.sampled_from([*AGGREGATES])), draw(frames()), draw(st.sampled_from([None, KEEP])))
    return OverCall(
        function,
        (X,),
        function,
        draw(frames()),
        draw(st.booleans()),
        offset=draw(st.integers(1, 3)),
        default=draw(st.sampled_from([None, DEFAULT])),
    )


def bounded(row: Row, key: OrderKey, frame: Frame | None) -> Row:
    """With the values that RANGE compares with, as Spark would compute them."""
    value = row[key.column]
    sign = -1 if key.descending else 1

    def moved(bound: Bound) -> Any:
        values = values_of(bound)
        if value is None or values is None:
            return None
        return value + sign * (values.span if bound.edge is Edge.FOLLOWING else -values.span)

    return {**row, LOW: moved(frame.start) if frame else None, HIGH: moved(frame.end) if frame else None}


KINDS = {K: pa.string(), DEFAULT: pa.int64(), KEEP: pa.bool_(), TIE: pa.int64(), X: pa.int64(), Y: pa.int64()}
TYPES = {"bigint": pa.int64(), "double": pa.float64(), "decimal": pa.decimal128(30, 2)}


@settings(max_examples=150)
@given(st.lists(ROW, max_size=12), calls(), KEYS, st.sampled_from([*TYPES]))
def test_over_is_its_definition(rows: list[Row], call: OverCall, keys: list[OrderKey], type_: str) -> None:
    """ORDER BY columns of several types; ties as the rows came."""
    rows = [{**bounded(row, keys[0], call.frame), TIE: at} for at, row in enumerate(rows)]
    kinds = KINDS | {LOW: pa.int64(), HIGH: pa.int64()}
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
    sorting = {key.column: f"by {key.column}" for key in keys}
    for name, renamed in sorting.items():
        table = table.append_column(renamed, table[name].cast(TYPES[type_]))
    for name in (LOW, HIGH):
        table = table.set_column(table.column_names.index(name), name, table[name].cast(TYPES[type_]))
    order_by = tuple(replace(key, column=sorting[key.column]) for key in keys)
    sorted_ = arranged(table, (K,), order_by)
    found = over_values(sorted_, [call])[call.output].to_pylist()
    expected: dict[int, Any] = {}
    for part in {row[K] for row in rows}:
        mine = sorted((row for row in rows if row[K] == part), key=lambda row: (order_of(row, keys), row[TIE]))
        expected |= {row[TIE]: definition(mine, i, call, keys) for i, row in enumerate(mine)}
    got = dict(zip(sorted_.rows[TIE].to_pylist(), found, strict=True))
    assert got == {tie: pytest.approx(value) if isinstance(value, float) else value for tie, value in expected.items()}


@pytest.mark.parametrize("function", OVER_FUNCTIONS, ids=lambda one: one.name)
def test_a_function_is_in_every_table_that_its_reach_needs(function: OverFunction) -> None:
    """Otherwise it would fail in a worker of Spark, and only in some queries."""
    assert function.name in VALUES, "it has no kernel function in VALUES of kernels/over/functions.py"
    assert function.name in PICKS, "it has no definition here, or is not among the PICKS that are compared with it"
    if function.reach is Reach.RANK:
        assert function.name in RANK_COLUMNS, "it has no column in RANKS of kernels/over/running.py"
    if function.takes_frame and not function.holds_rows:
        wanted = "RUNNING_PICKS of kernels/over/stages.py does not say how it runs from the first row"
        assert function.name in RUNNING_PICKS, f"{wanted}; where it cannot, its row says holds_rows=True"
