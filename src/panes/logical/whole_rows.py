"""A query that Spark runs, with the stream's whole row carried through it, so that late rows come out as they came.

    SELECT o.ts, d.name FROM orders o JOIN dim d USING (id)
    SELECT o.ts, d.name, panes_row FROM orders o JOIN dim d USING (id)

The stream that Spark gets has one more column. Every SELECT that the rows pass hands it on: by a `*`, or at the end of
its list, where it is added. A text in which that would mean something else is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from panes.errors import PanesError
from panes.kernels.late_rows import WHOLE
from panes.logical.spark_query import SparkReader, relations
from panes.source import Span
from panes.sql.clauses import is_distinct_from
from panes.sql.statements import SparkStmt
from panes.sql.template import template_of
from panes.sql.tokens import CLOSING, OPENING, Token

HINT = "Write it as a SELECT that names its columns, or write Spark's part to a sink and read that as a stream."


def carrying(query: SparkStmt, reader: SparkReader) -> str:
    """The template of a query over a stream, with the column of whole rows in its result."""
    carrier = _Carrier(reader, query.tokens, query.span)
    carrier.refuse_star_arguments(query.tree)
    carrier.through(query.tree)
    return template_of(query.tokens, query.places, dict.fromkeys(carrier.added, WHOLE))


@dataclass(frozen=True)
class _Carrier:
    """Follows the stream's rows through a query; `added` are the FROMs whose SELECT lists get the column."""

    reader: SparkReader
    tokens: Sequence[Token]
    span: Span | None
    added: list[int] = field(default_factory=list)

    def through(self, tree: exp.Expr) -> int:
        """Carry the column through a query or a relation; a token of it, for the SELECT around it to be found."""
        if tree.alias_column_names:
            raise self._refusal("names for all columns of a relation", tree.args["alias"])
        if tree.args.get("pivots"):
            raise self._refusal("PIVOT", tree)
        match tree:
            case exp.Table():
                return self._table(tree)
            case exp.Subquery(this=exp.Query() as query):
                return self.through(query)
            case exp.Select():
                return self._select(tree)
            case exp.Subquery():
                raise self._refusal("a join in parentheses", tree)
            case _:
                raise self._refusal("this", tree)

    def _table(self, table: exp.Table) -> int:
        query = self.reader.cte(table)
        if query is not None:
            if query.parent is not None and query.parent.alias_column_names:
                raise self._refusal("names for all columns of a query in WITH", query.parent.args["alias"])
            self.through(query)
        return min(_places(table))

    def _select(self, select: exp.Select) -> int:
        streams = [one for one in relations(select) if self.reader.reads_stream(one)]
        if len(streams) != 1:
            raise self._refusal("a SELECT over several streams", select)
        inside = self.through(streams[0])
        start, end = self._list(select, inside)
        carried = sum(_has_all(item, streams[0]) for item in select.selects)
        if carried > 1:
            raise self._refusal("a SELECT list that has all columns of the stream twice", select)
        if not carried:
            self.added.append(end)
        return start

    def _list(self, select: exp.Select, inside: int) -> tuple[int, int]:
        """The SELECT and the FROM around the list of a query, of whose FROM a token is known."""
        start = _select_before(self.tokens, inside)
        end = _from_after(self.tokens, start) if start is not None else None
        if start is None or end is None or end >= inside or any(not start < at < end for at in _listed(select)):
            raise self._refusal("FROM before SELECT", select)
        return start, end

    def refuse_star_arguments(self, tree: exp.Expr) -> None:
        """`struct(*)` would have one more field."""
        for star in tree.find_all(exp.Star):
            parent = star.parent.parent if isinstance(star.parent, exp.Column) else star.parent
            if not isinstance(parent, exp.Select | exp.Count):
                raise self._refusal("* as an argument", parent or star)

    def _refusal(self, what: str, tree: exp.Expr) -> PanesError:
        text = f"LATE ROWS INTO cannot follow rows through {what}"
        return PanesError("unsupported-clause", text, self.reader.span(tree) or self.span, HINT)


def _has_all(item: exp.Expr, stream: exp.Expr) -> bool:
    """Whether an item of a SELECT list stands for all columns of a relation in FROM."""
    if isinstance(item, exp.Column) and item.is_star:
        return item.table.lower() == stream.alias_or_name.lower()
    return isinstance(item, exp.Star)


def _listed(select: exp.Select) -> list[int]:
    return [at for item in select.selects for at in _places(item)]


def _places(tree: exp.Expr) -> list[int]:
    """The tokens of a tree's names and literals."""
    return [leaf.meta["start"] for leaf in tree.find_all(exp.Identifier, exp.Literal) if "start" in leaf.meta]


def _select_before(tokens: Sequence[Token], inside: int) -> int | None:
    """The nearest SELECT before a token that is not in brackets which close before it."""
    depth = 0
    for index in range(inside - 1, -1, -1):
        if tokens[index].kind in CLOSING:
            depth += 1
        elif tokens[index].kind in OPENING:
            depth = max(depth - 1, 0)
        elif tokens[index].word == "SELECT" and depth == 0:
            return index
    return None


def _from_after(tokens: Sequence[Token], select: int) -> int | None:
    """The FROM of a SELECT."""
    depth = 0
    for index in range(select + 1, len(tokens)):
        depth += (tokens[index].kind in OPENING) - (tokens[index].kind in CLOSING)
        if depth < 0:
            return None
        if depth == 0 and tokens[index].word == "FROM" and not is_distinct_from(tokens, index):
            return index
    return None
