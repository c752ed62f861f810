"""A query that Spark runs, as far as Panes must know it: where its columns come from, and what state Spark would keep.

    SELECT o.ts, upper(o.k) AS k, d.name FROM orders o JOIN dim d USING (id)

    ts    is the column ts of orders, row by row: a time that passes
    k     is computed
    name  is the column name of dim

A query that groups, removes duplicates or unites passes no column on: its rows are no input's rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.refused import REFUSED
from panes.logical.plan import Origin
from panes.logical.traits import Clock, Traits
from panes.source import Span
from panes.sql.tokens import Token, span_of

AGGREGATE_NAMES = frozenset({*Functions().aggregates, *REFUSED})
TIME_WINDOWS = ("window", "session_window", "window_time")


@dataclass(frozen=True)
class Output:
    """A column of a query; `origin` is the input's column that it passes on as it is."""

    name: str
    origin: Origin | None = None


Outputs = Sequence[Output] | None  # None: which columns there are, only Spark knows


@dataclass(frozen=True)
class SparkReader:
    """Reads a query's tree; `inputs` are the traits of its inputs by lower-case name.

    The positions of the tree's leaves are indices into `tokens`.
    """

    inputs: Mapping[str, Traits]
    tokens: Sequence[Token]

    # ---- columns

    def outputs(self, tree: exp.Expr) -> Outputs:
        """The columns of a query or of a relation in FROM; PIVOT groups, and makes columns of values."""
        if tree.args.get("pivots"):
            return None
        match tree:
            case exp.Subquery():
                return _renamed(self.outputs(tree.this), tree)
            case exp.Table():
                return _renamed(self._table(tree), tree)
            case exp.SetOperation():
                left = self.outputs(tree.left)
                return None if left is None else [Output(one.name) for one in left]
            case exp.Select():
                return self._selected(tree)
            case exp.Lateral() | exp.Values() | exp.Unnest():
                names = tree.alias_column_names
                return [Output(name) for name in names] if names else None
            case _:
                return None

    def _table(self, table: exp.Table) -> Outputs:
        query = self.cte(table)
        if query is not None:
            outputs = self.outputs(query)
            return _renamed(outputs, query.parent) if query.parent is not None else outputs
        name = table_name(table).lower()
        known = self.inputs.get(name)
        if known is None or known.columns is None:
            return None
        return [Output(column, Origin(name, column.lower())) for column in known.visible]

    def cte(self, table: exp.Table) -> exp.Expr | None:
        """The query of a WITH inside this one that a table names."""
        return _cte(table) if self._has_with else None

    @cached_property
    def _has_with(self) -> bool:
        return any(token.word == "WITH" for token in self.tokens)

    def _selected(self, select: exp.Select) -> Outputs:
        found: list[Output] = []
        for item in select.selects:
            if isinstance(item, exp.Star) or item.is_star:
                every = self._starred(select, item)
                if every is None:
                    return None
                found += every
            else:
                found.append(Output(item.alias_or_name, self.origin(item.unalias(), select)))
        return [Output(one.name) for one in found] if _groups(select) else found

    def _starred(self, select: exp.Select, star: exp.Expr) -> Outputs:
        """What `*` or `t.*` stands for."""
        relations = dict(self._relations(select))
        inside = star.find(exp.Star)
        if inside is None or any(inside.args.get(more) for more in ("replace", "rename")):
            return None
        excluded = {one.name.lower() for one in inside.args.get("except_") or ()}
        every = relations.get(star.table.lower()) if isinstance(star, exp.Column) else _united(relations, select)
        return None if every is None else [one for one in every if one.name.lower() not in excluded]

    def origin(self, expr: exp.Expr, select: exp.Select) -> Origin | None:
        """The input's column that an expression of a SELECT is, if it is no more than that."""
        while isinstance(expr, exp.Paren):
            expr = expr.this
        if not isinstance(expr, exp.Column) or isinstance(expr.this, exp.Star) or len(expr.parts) > 2:
            return None
        for name, outputs in self._relations(select):
            if expr.table and expr.table.lower() != name:
                continue
            if outputs is None:
                return None
            for one in outputs:
                if one.name.lower() == expr.name.lower():
                    return one.origin
        return None

    def _relations(self, select: exp.Select) -> Iterator[tuple[str, Outputs]]:
        """What FROM names, with its columns, in its order."""
        for relation in relations(select):
            yield relation.alias_or_name.lower(), self.outputs(relation)

    # ---- state

    def keeps_state(self, tree: exp.Expr) -> bool:
        """Whether Spark keeps state for a query over streams; refused where that could grow without end."""
        for united in tree.find_all(exp.SetOperation):
            if (united.args.get("distinct") or not isinstance(united, exp.Union)) and self.reads_stream(united):
                hint = "UNION ALL unites streams."
                raise PanesError("unsupported-clause", f"{_word(united)} on a stream", self.span(united), hint)
        found = list(_read_in_from(tree))
        known = {id(select) for select in found}
        for select in tree.find_all(exp.Select):
            if id(select) not in known and self.reads_stream(select):
                hint = "IN and EXISTS test a stream against tables: join streams in FROM."
                raise PanesError("unsupported-clause", "a stream inside an expression", self.span(select), hint)
        kept = [self._keeps(select) for select in found]  # each is checked
        return any(kept)

    def _keeps(self, select: exp.Select) -> bool:
        streams = [one for one in relations(select) if self.reads_stream(one)]
        if not streams:
            return False
        if len(streams) > 1:
            self._check_join(select, streams)
        if _groups(select):
            self._check_groups(select)
        return len(streams) > 1 or _groups(select)

    def reads_stream(self, tree: exp.Expr) -> bool:
        """Whether rows of a stream come out of a relation."""
        for table in tree.find_all(exp.Table):
            query = self.cte(table)
            found = self.inputs.get(table_name(table).lower())
            if self.reads_stream(query) if query is not None else found is not None and found.streaming:
                return True
        return False

    def _check_groups(self, select: exp.Select) -> None:
        """A group must end: it has a window of the stream's time among its keys, or that time itself."""
        if any(self._is_timed(key, select) for key in _keys(select)):
            return
        group = select.args.get("group")
        hint = "Group by a window of the stream's time: tumblingwindow('mi', 10), or Spark's window(ts, '10 minutes')."
        message = "Spark would keep every group of this aggregation forever"
        raise PanesError("unbounded-state", message, self.span(group or select), hint)

    def _is_timed(self, key: exp.Expr, select: exp.Select) -> bool:
        if isinstance(key, exp.Anonymous | exp.Func) and (key.name or key.sql_name()).lower() in TIME_WINDOWS:
            key = next(iter(key.expressions or key.iter_expressions()), key)
        return self._time_of(key, select) is not None

    def _time_of(self, expr: exp.Expr, select: exp.Select) -> str | None:
        """The input whose declared event time an expression is."""
        found = self.origin(expr, select)
        known = self.inputs.get(found.input) if found is not None else None
        if found is None or known is None or known.clock != Clock.EVENT_TIME or known.time != found.column:
            return None
        return found.input

    def _check_join(self, select: exp.Select, streams: Sequence[exp.Expr]) -> None:
        """Rows of two streams wait for each other: conditions on both times must say how long."""
        pairs = {(before, after) for before, after in self._orders(select)}
        names = [one.alias_or_name.lower() for one in streams]
        joined = {names[0]}
        for name in names[1:]:
            if not any((name, one) in pairs and (one, name) in pairs for one in joined):
                message = "Spark would keep every row of these streams forever"
                hint = "Bound their times both ways: ON … AND a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 HOUR."
                raise PanesError("unbounded-state", message, self.span(select.args["joins"][0]), hint)
            joined.add(name)

    def _orders(self, select: exp.Select) -> Iterator[tuple[str, str]]:
        """Pairs of relations of which the first one's time is bounded from above by the second one's."""
        conditions = [join.args.get("on") for join in _joins(select)]
        conditions.append(select.args["where"].this if select.args.get("where") else None)
        for condition in conditions:
            for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
                yield from self._order(part.unnest() if part is not None else None, select)

    def _order(self, part: exp.Expr | None, select: exp.Select) -> Iterator[tuple[str, str]]:
        match part:
            case exp.Between():
                yield from self._compared(part.args["low"], part.this, select)
                yield from self._compared(part.this, part.args["high"], select)
            case exp.LT() | exp.LTE():
                yield from self._compared(part.left, part.right, select)
            case exp.GT() | exp.GTE():
                yield from self._compared(part.right, part.left, select)
            case exp.EQ():
                yield from self._compared(part.left, part.right, select)
                yield from self._compared(part.right, part.left, select)
            case _:
                pass

    def _compared(self, less: exp.Expr, more: exp.Expr, select: exp.Select) -> Iterator[tuple[str, str]]:
        one, other = (self._timed_relation(side, select) for side in (less, more))
        if one is not None and other is not None and one != other:
            yield one, other

    def _timed_relation(self, expr: exp.Expr, select: exp.Select) -> str | None:
        """The relation in FROM whose time an expression is made of."""
        for column in expr.find_all(exp.Column):
            if self._time_of(column, select) is None:
                return None
            names = [name for name, outputs in self._relations(select) if _has(outputs, column.name)]
            return column.table.lower() or (names[0] if len(names) == 1 else None)
        return None

    def span(self, tree: exp.Expr) -> Span | None:
        """Where a part of the query was written: what its leaves cover."""
        places = [leaf.meta["start"] for leaf in tree.find_all(exp.Identifier, exp.Literal) if "start" in leaf.meta]
        return span_of(self.tokens[min(places) : max(places) + 1]) if places else None


def table_name(table: exp.Table) -> str:
    """A table's name as it was written, with all its parts."""
    return ".".join(part.name for part in table.parts)


def relations(select: exp.Select) -> Iterator[exp.Expr]:
    """The tables, sub-queries and lateral views of FROM."""
    if select.args.get("from_") is not None:
        yield select.args["from_"].this
        yield from select.args["from_"].this.args.get("joins") or ()
    yield from (join.this for join in _joins(select))
    yield from select.args.get("laterals") or ()


def _united(relations: Mapping[str, Outputs], select: exp.Select) -> Outputs:
    """The columns of all relations in FROM; a column of USING once, first."""
    using = [one for join in _joins(select) for one in join.args.get("using") or ()]
    shared = list(dict.fromkeys(one.name.lower() for one in using))
    hidden = {join.this.alias_or_name.lower() for join in _joins(select) if join.kind in ("SEMI", "ANTI")}
    every: list[Output] = []
    for name, outputs in relations.items():
        if outputs is None:
            return None
        every += [] if name in hidden else outputs
    merged = [next(one for one in every if one.name.lower() == name) for name in shared]
    return [*merged, *(one for one in every if one.name.lower() not in shared)]


def _joins(select: exp.Select) -> Sequence[exp.Join]:
    joins: Sequence[exp.Join] = select.args.get("joins") or ()
    return joins


def _cte(table: exp.Table) -> exp.Expr | None:
    """The query of a WITH inside Spark's query that a table names."""
    above: exp.Expr | None = table
    while above is not None:
        with_ = above.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            if cte.alias.lower() == table.name.lower() and len(table.parts) == 1 and not _inside(table, cte):
                query: exp.Expr = cte.this
                return query
        above = above.parent
    return None


def _inside(tree: exp.Expr, outer: exp.Expr) -> bool:
    above: exp.Expr | None = tree
    while above is not None and above is not outer:
        above = above.parent
    return above is outer


def _read_in_from(tree: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs of a query whose rows come out: those in FROM and WITH, not those in expressions such as IN (…)."""
    left = [tree]
    while left:
        query = left.pop()
        with_ = query.args.get("with_")
        left += [cte.this for cte in with_.expressions] if with_ is not None else []
        match query:
            case exp.SetOperation():
                left += [query.left, query.right]
            case exp.Subquery():
                left.append(query.this)
            case exp.Select():
                yield query
                left += relations(query)
            case _:
                pass


def _groups(select: exp.Select) -> bool:
    """Whether a SELECT makes groups or removes duplicates."""
    if any(select.args.get(clause) is not None for clause in ("group", "having", "distinct")):
        return True
    own = (item for item in select.selects if not isinstance(item, exp.Star))
    return any(_aggregates(item, select) for item in own)


def _aggregates(item: exp.Expr, select: exp.Select) -> bool:
    found = item.find_all(exp.AggFunc, exp.Anonymous, exp.Any)
    return any(_is_aggregate(one) and one.parent_select is select for one in found)


def _is_aggregate(call: exp.Expr) -> bool:
    """Also those that sqlglot does not know; `a.f(…)` is someone else's function, and `LIKE ANY (…)` is none."""
    match call:
        case exp.Anonymous():
            return call.name.lower() in AGGREGATE_NAMES and not isinstance(call.parent, exp.Dot)
        case exp.Any():
            return not isinstance(call.parent, exp.Like | exp.ILike)
        case _:
            return True


def _keys(select: exp.Select) -> Iterator[exp.Expr]:
    """What a SELECT groups by; positions and aliases written out."""
    if select.args.get("distinct") is not None:
        yield from (item.unalias() for item in select.selects)
    group = select.args.get("group")
    if group is None:
        return
    aliases = {item.alias.lower(): item.unalias() for item in select.selects if isinstance(item, exp.Alias)}
    if group.args.get("all"):
        yield from (item.unalias() for item in select.selects if not _aggregates(item, select))
    for key in group.expressions:
        if isinstance(key, exp.Literal) and key.is_int and 1 <= int(key.name) <= len(select.selects):
            yield select.selects[int(key.name) - 1].unalias()
        elif isinstance(key, exp.Column) and not key.table and key.name.lower() in aliases:
            yield aliases[key.name.lower()]
        else:
            yield key


def _renamed(outputs: Outputs, tree: exp.Expr) -> Outputs:
    """Under the names of an alias such as `AS d(a, b)`."""
    names = tree.alias_column_names
    if outputs is None or not names:
        return outputs
    return [Output(name, one.origin) for name, one in zip(names, outputs, strict=False)]


def _has(outputs: Outputs, name: str) -> bool:
    return outputs is not None and any(one.name.lower() == name.lower() for one in outputs)


def _word(united: exp.SetOperation) -> str:
    return type(united).__name__.upper()
