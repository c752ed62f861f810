"""One SELECT: cut into clauses, window taken out of GROUP BY, then the rewrites, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.taken import BOUNDS
from panes.source import Span
from panes.sql.aggregates import is_aggregate, rewrite_aggregates
from panes.sql.bounds import rewrite_bounds
from panes.sql.calls import calls_in, find_call, parse_call
from panes.sql.clauses import Clauses, Tokens
from panes.sql.expr import Expr
from panes.sql.over_calls import rewrite_over_calls
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.placement import is_window_item
from panes.sql.stateful import Mappings, is_stateful, rewrite_stateful
from panes.sql.statements import (
    Cte,
    Emit,
    EmitClause,
    Relation,
    SelectField,
    SelectStmt,
    Star,
)
from panes.sql.text import text_of
from panes.sql.tokens import Token, TokenType, closing, span_of, split
from panes.sql.windows import Kind, is_window, parse_window


@dataclass(frozen=True)
class Context:
    """What every query of one statement shares."""

    functions: Functions
    allocator: ColPlaceholderAllocator


HINTS = {
    "ORDER BY": "A stream has no end to sort at: order the batch result, or use row_number() OVER (… ORDER BY …).",
    "LIMIT": "A stream has no end: limit the batch result, or use QUALIFY row_number() OVER (…) <= n.",
    "DISTINCT": "Keep the first row of each key: QUALIFY row_number() OVER (PARTITION BY key ORDER BY time) = 1.",
    "GROUP BY": "Add a window to GROUP BY, for example tumblingwindow('ss', 10).",
    "an aggregate without a window": "Add GROUP BY with a window, for example tumblingwindow('ss', 10).",
    "HAVING": "HAVING filters the groups of a window: use WHERE or QUALIFY.",
}
GROUPINGS = ("ROLLUP", "CUBE", "GROUPING SETS")
JOIN_HINT = "FROM takes one stream, view or sub-query: put this into a sub-query or a view without windows."


def foreign_hint(clause: str) -> str:
    if clause in GROUPINGS:
        return "Group by the window and plain keys, and make the coarser totals from the result."
    return HINTS.get(clause, HINTS["LIMIT"] if clause in ("OFFSET", "FETCH") else JOIN_HINT)


@dataclass(frozen=True)
class Construct:
    """The first thing in a SELECT that only Panes understands."""

    what: str
    span: Span


def is_spark_only(clauses: Clauses, functions: Functions) -> bool:
    """Whether a SELECT is Spark's as it stands; refused if it mixes Panes constructs with clauses Panes has not."""
    construct = first_construct(clauses, functions)
    foreign = foreign_clause(clauses, functions)
    if construct is None or foreign is None:
        return foreign is not None
    clause, span = foreign
    hint = foreign_hint(clause)
    message = f"{clause} does not go with {construct.what} in one SELECT"
    if clause == "sub-query":
        hint = "Join in a sub-query in FROM instead of an expression."
    raise PanesError("unsupported-clause", message, span, hint)


def first_construct(clauses: Clauses, functions: Functions) -> Construct | None:
    """The first window, stateful call, OVER call or EMIT of this SELECT, sub-queries in FROM left out."""
    for part in _parts(clauses):
        for place in calls_in(part):
            span = span_of(part[place.start : place.end + 1])
            if is_window(place.name) or place.name in BOUNDS:
                return Construct(place.name, span)
            if place.over_start is not None:
                return Construct(f"{place.name} OVER", span)
            if is_stateful(part, place, functions):
                return Construct(f"the stateful call {place.name}", span)
    if clauses.emit:
        return Construct("EMIT", span_of(clauses.emit))
    return None


def foreign_clause(clauses: Clauses, functions: Functions) -> tuple[str, Span] | None:
    """The first clause that Panes does not plan itself."""
    if clauses.foreign:
        return clauses.foreign[0]
    for token in _comma_join(clauses.source):
        return "a join", token.span
    for part in _parts(clauses):
        for token in part:
            if token.word == "SELECT":
                return "sub-query", token.span
        for index, token in enumerate(part):
            if token.text == "*" and _is_star_argument(part, index):
                return "* as an argument", token.span
    for item in clauses.group_by:
        if item[0].word in GROUPINGS:
            return item[0].word, item[0].span
    windows = [item for item in clauses.group_by if is_window_item(item)]
    if clauses.group_by and not windows and not _windows_elsewhere(clauses):
        return "GROUP BY", clauses.keywords["GROUP BY"].span
    if not clauses.group_by:
        if clauses.having:
            return "HAVING", clauses.keywords["HAVING"].span
        for part in (*clauses.items, clauses.qualify):
            for place in calls_in(part):
                if is_aggregate(place, functions):
                    return "an aggregate without a window", span_of(part[place.start : place.end + 1])
    return None


def _parts(clauses: Clauses) -> Iterator[Tokens]:
    yield from clauses.items
    yield from (clauses.where, *clauses.group_by, clauses.having, clauses.qualify, clauses.windows)


def _comma_join(source: Tokens) -> Iterator[Token]:
    parts = split(source, TokenType.COMMA)
    if len(parts) > 1:
        yield parts[1][0] if parts[1] else source[-1]


def _is_star_argument(tokens: Tokens, index: int) -> bool:
    """`struct(*)`: a star that stands for columns inside a call, other than `count(*)`."""
    before, after = (
        tokens[index - 1] if index else None,
        tokens[index + 1] if index + 1 < len(tokens) else None,
    )
    if before is None or after is None or before.text not in ("(", ",", ".") or after.text not in (")", ","):
        return False
    return not (index >= 2 and before.text == "(" and after.text == ")" and tokens[index - 2].word == "COUNT")


def _windows_elsewhere(clauses: Clauses) -> bool:
    return any(is_window(place.name) for part in _parts(clauses) for place in calls_in(part))


def build_select(clauses: Clauses, source: Relation, ctes: tuple[Cte, ...], context: Context, span: Span) -> SelectStmt:
    """The SELECT that Panes plans, from its clauses."""
    functions = context.functions
    window_items = [item for item in clauses.group_by if is_window_item(item)]

    stateful = Mappings(context.allocator)
    items = [rewrite_stateful(item, functions, stateful) for item in clauses.items]
    where = rewrite_stateful(clauses.where, functions, stateful)
    keys = [rewrite_stateful(i, functions, stateful) for i in clauses.group_by if not is_window_item(i)]
    window = _window(window_items[0], functions, stateful) if window_items else None
    qualify = rewrite_stateful(clauses.qualify, functions, stateful)

    bounds = Mappings(context.allocator)
    items = [rewrite_bounds(item, window, bounds) for item in items]
    having = rewrite_bounds(clauses.having, window, bounds)
    qualify = rewrite_bounds(qualify, window, bounds)

    aggregates = Mappings(context.allocator)
    items = [rewrite_aggregates(item, functions, aggregates) for item in items]
    having = rewrite_aggregates(having, functions, aggregates)
    qualify = rewrite_aggregates(qualify, functions, aggregates)

    over = Mappings(context.allocator)
    items = [rewrite_over_calls(item, functions, over) for item in items]
    qualify = rewrite_over_calls(qualify, functions, over)
    if qualify and not over.calls:
        hint = "QUALIFY filters by OVER windows: use WHERE or HAVING."
        raise PanesError("unsupported-clause", "QUALIFY without an OVER window", clauses.keywords["QUALIFY"].span, hint)

    return SelectStmt(
        select_fields=tuple(_field(new, old) for new, old in zip(items, clauses.written, strict=True)),
        source=source,
        where_condition=Expr(where) if where else None,
        group_by_exprs=tuple(Expr(key) for key in keys),
        window=window,
        having=Expr(having) if having else None,
        qualify=Expr(qualify) if qualify else None,
        emit=_emit(clauses.emit),
        stateful_mappings=stateful.calls,
        bound_mappings=bounds.calls,
        aggregate_mappings=aggregates.calls,
        over_mappings=over.calls,
        ctes=ctes,
        window_span=span_of(window_items[0]) if window_items else None,
        span=span,
    )


def _window(item: Tokens, functions: Functions, stateful: Mappings) -> Kind:
    place = find_call(item, 0)
    assert place is not None
    return parse_window(parse_call(item, place, lambda part: rewrite_stateful(part, functions, stateful)))


def _emit(tokens: Tokens) -> EmitClause | None:
    if not tokens:
        return None
    span = span_of(tokens)
    words = " ".join(token.word for token in tokens[1:])
    for emit in Emit:
        if words == emit.value:
            return EmitClause(emit, span)
    hint = "EMIT ON WINDOW CLOSE, EMIT CHANGES or EMIT IMMEDIATELY, at the end of the statement."
    raise PanesError("unsupported-clause", f"EMIT {words or '…'} is not a mode", span, hint)


def _field(tokens: Tokens, written: Tokens) -> SelectField | Star:
    """One item of the SELECT list; an unaliased one is named by its text, a column by its name."""
    star = _star(tokens)
    if star is not None:
        return star
    whole = Expr(tokens)
    tree = whole.tree
    if isinstance(tree, exp.Aliases):
        raise PanesError("unsupported-clause", "several names for one output", whole.span)
    if isinstance(tree, exp.Alias):
        position = tree.args["alias"].meta.get("start")
        if position is None:
            raise PanesError("parse-error", "the name of an output is missing here", whole.span)
        if tokens[position] not in written:
            raise PanesError("parse-error", "a call cannot be the name of an output", tokens[position].span)
        end = position - 1 if tokens[position - 1].word == "AS" else position
        return SelectField(Expr(tokens[:end]), tokens[position].name, True)
    refs = whole.columns
    if len(refs) == 1 and refs[0].first == 0 and refs[0].last == len(tokens) - 1 and len(written) == len(tokens):
        return SelectField(whole, refs[0].parts[-1], False)
    return SelectField(whole, text_of(written), False)


def _star(tokens: Tokens) -> Star | None:
    qualifier: str | None = None
    rest = tokens
    if len(rest) >= 3 and rest[1].text == "." and rest[2].text == "*" and rest[0].is_name:
        qualifier, rest = rest[0].name, rest[2:]
    if rest[0].text != "*":
        return None
    if len(rest) == 1:
        return Star(qualifier, (), span_of(tokens))
    if rest[1].word in ("EXCEPT", "EXCLUDE") and len(rest) > 3 and rest[2].text == "(":
        excluded = split(rest[3:-1], TokenType.COMMA)
        if excluded and all(excluded) and closing(rest, 2) == len(rest) - 1:
            return Star(qualifier, tuple(Expr(part) for part in excluded), span_of(tokens))
    raise PanesError("parse-error", "after * only EXCEPT (columns) can follow", span_of(tokens))
