"""Random queries for the laws of the rules, and a dozen lines that say what their plans mean over Python rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from sqlglot import exp

from panes.logical.plan import DataSink, DataSource, Filter, OverWindow, Plan, Project

Row = dict[str, Any]
RANKS = ("row_number", "rank", "dense_rank")
COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    exp.LTE: lambda x, y: x <= y,
    exp.GT: lambda x, y: x > y,
    exp.EQ: lambda x, y: x == y,
}

rows = st.lists(st.fixed_dictionaries({name: st.integers(0, 3) for name in ("ts", "k", "a", "b")}), max_size=12)


@st.composite
def queries(draw: st.DrawFn, source: str = "files") -> str:
    """`SELECT … FROM (SELECT … FROM files …) WHERE …`: columns renamed, ranked and filtered, a few levels deep."""
    columns, sql = ["ts", "k", "a", "b"], source
    for level in range(draw(st.integers(1, 3))):
        names = draw(st.lists(st.sampled_from(columns), min_size=2, max_size=4))
        new = [f"c{level}{index}" for index in range(len(names))]
        items = [f"{name} AS {alias}" for name, alias in zip(names, new, strict=True)]
        for index in range(draw(st.integers(0, 2))):
            rank, by, order = (
                draw(st.sampled_from(RANKS)),
                draw(st.sampled_from(columns)),
                draw(st.sampled_from(columns)),
            )
            items.append(f"{rank}() OVER (PARTITION BY {by} ORDER BY {order}) AS r{level}{index}")
            new.append(f"r{level}{index}")
        sql = f"SELECT {', '.join(items)} FROM {sql if level == 0 else f'({sql})'}{draw(conditions(columns))}"
        columns = new
    return f"SELECT * FROM ({sql}){draw(conditions(columns))}"


@st.composite
def conditions(draw: st.DrawFn, columns: list[str]) -> str:
    parts = [
        f"{draw(st.sampled_from(columns))} {draw(st.sampled_from(['<=', '>', '=']))} {draw(st.integers(0, 3))}"
        for _ in range(draw(st.integers(0, 2)))
    ]
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def value(tree: exp.Expr, row: Row) -> Any:
    if isinstance(tree, exp.Column):
        return row[tree.name.lower()]
    if isinstance(tree, exp.Literal):
        return int(tree.name)
    return COMPARISONS[type(tree)](value(tree.this, row), value(tree.expression, row))


def run(plan: Plan, table: list[Row]) -> list[Row]:
    """What a plan of sources, filters, projections and ranks gives."""
    match plan:
        case DataSource(columns=columns):
            return [{name: row.get(name, 0) for name in columns} for row in table]
        case Filter(input=below, predicates=predicates):
            return [row for row in run(below, table) if all(value(one.tree, row) for one in predicates)]
        case Project(input=below, fields=fields):
            return [{one.name.lower(): value(one.expr.tree, row) for one in fields} for row in run(below, table)]
        case OverWindow(input=below):
            return ranked(plan, run(below, table))
        case DataSink(input=below):
            return run(below, table)
    raise NotImplementedError(type(plan))


def ranked(over: OverWindow, table: list[Row]) -> list[Row]:
    """The rows with their ranks; where a limit is given, those beyond it are gone."""

    def sort_key(row: Row) -> list[Any]:
        return [value(key.expr.tree, row) for key in over.order_by]

    def rank(function: str, row: Row, position: int) -> int:
        keys = [value(expr.tree, row) for expr in over.partition_by]
        peers = [(sort_key(one), place) for place, one in enumerate(table)
                 if [value(expr.tree, one) for expr in over.partition_by] == keys]  # fmt: skip
        if function == "row_number":
            return 1 + sum(one < (sort_key(row), position) for one in peers)
        before = [key for key, _ in peers if key < sort_key(row)]
        return 1 + (len(before) if function == "rank" else len({tuple(key) for key in before}))

    done = [
        row | {one.name: rank(one.call.name, row, position) for one in over.calls} for position, row in enumerate(table)
    ]
    return [row for row in done if over.top_n is None or row[over.top_n.rank] <= over.top_n.limit]
