"""Text → statements: a script, its statements, their queries."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError

from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.taken import BOUNDS
from panes.source import Source, Span
from panes.sql.calls import calls_in
from panes.sql.clauses import cut_select, query_clauses
from panes.sql.ddl import parse_create, parse_describe, parse_drop, parse_show
from panes.sql.expr import indexed, syntax_error
from panes.sql.late_rows import cut_late_rows, refuse_late_rows
from panes.sql.named_windows import write_out_windows
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.placement import check_placement, refuse_mistyped_windows
from panes.sql.select import Context, build_select, first_construct, is_spark_only
from panes.sql.stateful import is_stateful
from panes.sql.statements import (
    Cte,
    Explain,
    ExplainFormat,
    InsertInto,
    NamedRelation,
    Query,
    Relation,
    SelectStmt,
    SparkStmt,
    Statement,
    SubQuery,
)
from panes.sql.template import table_reference, template_of
from panes.sql.text import text_of
from panes.sql.tokens import SPARK, Token, TokenType, check_brackets, closing, span_of, split, tokenize
from panes.sql.windows import is_window

Result = TypeVar("Result")

_PLACEHOLDER = re.compile(r"col_\d+", re.IGNORECASE)
_DEEP = 12_000  # frames; a level of parentheses takes about twenty of sqlglot's
_RECURSION = threading.Lock()
MOST_CTES = 1_000


def parse(sql: str, functions: Functions | None = None, reserved: Iterable[str] = ()) -> list[Statement]:
    """All statements of a script; `reserved` are column names that no placeholder may have."""
    source, known = Source(sql), functions or Functions()
    return deep(
        source,
        lambda: [parse_statement(part, known, allocator(sql, reserved)) for part in script_parts(source)],
    )


def allocator(sql: str, reserved: Iterable[str] = ()) -> ColPlaceholderAllocator:
    """Placeholders that clash neither with the text nor with `reserved`."""
    return ColPlaceholderAllocator([*reserved, *_placeholders_in(sql)])


@lru_cache(maxsize=4)
def _placeholders_in(sql: str) -> frozenset[str]:
    """Kept, since each statement of a script asks for those of the whole text."""
    return frozenset(_PLACEHOLDER.findall(sql))


def script_parts(source: Source) -> list[tuple[Token, ...]]:
    """The tokens of each statement of a script."""
    tokens = tokenize(source)
    check_brackets(tokens)
    return [part for part in split(tokens, TokenType.SEMICOLON) if part]


def only_part(source: Source) -> tuple[Token, ...]:
    """The tokens of the only statement of a text."""
    parts = script_parts(source)
    if not parts:
        raise PanesError("parse-error", "there is no statement here", Span(source, 0, len(source.text)))
    if len(parts) > 1:
        hint = "Run a script with engine.run, or the statements one by one."
        raise PanesError("parse-error", "one statement is wanted, here is another", span_of(parts[1]), hint)
    return parts[0]


def parse_query_text(source: Source, functions: Functions, names: ColPlaceholderAllocator) -> Query:
    """The query of a view."""
    return parse_query(only_part(source), Context(functions, names))


def deep(source: Source, work: Callable[[], Result]) -> Result:
    """Work with room for deeply nested expressions; what is deeper still is refused."""
    with _RECURSION:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEEP))
        try:
            return work()
        except RecursionError:
            span = Span(source, 0, len(source.text))
            hint = "Take parts of it into sub-queries or views."
            raise PanesError("parse-error", "the expression is nested too deeply", span, hint) from None
        finally:
            sys.setrecursionlimit(limit)


def parse_statement(tokens: tuple[Token, ...], functions: Functions, names: ColPlaceholderAllocator) -> Statement:
    """One statement; the first word says which."""
    return _statement(tokens, Context(functions, names))


def _statement(tokens: tuple[Token, ...], context: Context) -> Statement:
    match tokens[0].word:
        case "EXPLAIN":
            return _explain(tokens, context)
        case "CREATE":
            return parse_create(tokens, lambda body, span: _view_query(body, span, context), context.functions)
        case "INSERT":
            return _insert(tokens, context)
        case "DROP":
            return parse_drop(tokens)
        case "SHOW":
            return parse_show(tokens)
        case "DESCRIBE" | "DESC":
            return parse_describe(tokens)
        case "SELECT" | "WITH" | "FROM" | "VALUES":
            return parse_query(tokens, context)
    if tokens[0].text == "(":
        return parse_query(tokens, context)
    hint = "SELECT, WITH, EXPLAIN, CREATE STREAM|VIEW|SINK, INSERT INTO, DROP, SHOW or DESCRIBE."
    raise PanesError("parse-error", f"no statement starts with {tokens[0].text}", tokens[0].span, hint)


def _explain(tokens: tuple[Token, ...], context: Context) -> Explain:
    rest, format_ = tokens[1:], ExplainFormat.TEXT
    if len(rest) > 1 and rest[0].word == "FORMAT":
        words = {one.value: one for one in ExplainFormat}
        if rest[1].word not in words:
            raise PanesError("parse-error", "EXPLAIN FORMAT is TEXT or JSON", rest[1].span)
        rest, format_ = rest[2:], words[rest[1].word]
    if not rest:
        raise PanesError("parse-error", "EXPLAIN what?", tokens[0].span, "EXPLAIN [FORMAT JSON] SELECT …")
    if rest[0].word == "EXPLAIN":
        raise PanesError("unsupported-clause", "EXPLAIN is given twice", rest[0].span)
    statement = _statement(rest, context)
    if not isinstance(statement, SelectStmt | SparkStmt | InsertInto):
        raise PanesError("unsupported-clause", "EXPLAIN takes a query or INSERT INTO", rest[0].span)
    return Explain(statement, format_, span_of(tokens))


def _insert(tokens: tuple[Token, ...], context: Context) -> InsertInto:
    if len(tokens) < 4 or tokens[1].word != "INTO" or not tokens[2].is_name:
        raise PanesError("parse-error", "INSERT INTO is written: INSERT INTO sink SELECT …", span_of(tokens))
    inner, late = cut_late_rows(tokens)
    return InsertInto(tokens[2].name, parse_query(inner[3:], context), span_of(tokens), late)


def _view_query(tokens: tuple[Token, ...], span: Span, context: Context) -> tuple[Query, str]:
    if not tokens:
        raise PanesError("parse-error", "CREATE VIEW is written: CREATE VIEW name AS SELECT …", span)
    query = parse_query(tokens, context)
    _refuse_emit(query, "a view")
    return query, span_of(tokens).text


def parse_query(tokens: tuple[Token, ...], context: Context) -> Query:
    """`[WITH …] SELECT …`, also in parentheses."""
    while tokens[0].text == "(" and closing(tokens, 0) == len(tokens) - 1:
        if len(tokens) == 2:
            raise PanesError("parse-error", "a query is missing here", span_of(tokens))
        tokens = tokens[1:-1]
    refuse_late_rows(tokens)
    ctes: tuple[Cte, ...] = ()
    if tokens[0].word == "WITH":
        ctes, tokens = _ctes(tokens, context)
    if tokens[0].word != "SELECT":
        return _spark_query(tokens, ctes, context)
    clauses = write_out_windows(cut_select(tokens))
    refuse_mistyped_windows(clauses)
    construct = first_construct(clauses, context.functions)
    if construct is not None:
        check_placement(clauses, context.functions)
    if is_spark_only(clauses, context.functions):
        return _spark_query(tokens, ctes, context)
    source = _relation(clauses.source, context) if clauses.source else None
    if source is not None:
        check_placement(clauses, context.functions)
        return build_select(clauses, source, ctes, context, span_of(tokens))
    if construct is not None:
        hint = "FROM takes one stream, view or sub-query."
        message = "this FROM is not a stream" if clauses.source else f"{construct.what} without FROM"
        at = span_of(clauses.source) if clauses.source else construct.span
        raise PanesError("unsupported-clause", message, at, hint)
    return _spark_query(tokens, ctes, context)


def _ctes(tokens: tuple[Token, ...], context: Context) -> tuple[tuple[Cte, ...], tuple[Token, ...]]:
    ctes: list[Cte] = []
    names: set[str] = set()
    index = 1
    while True:
        words = [token.word for token in tokens[index : index + 2]]
        if len(words) < 2 or not tokens[index].is_name or (words[0] == "RECURSIVE" and words[1] != "AS"):
            at = tokens[min(index, len(tokens) - 1)].span
            raise PanesError("parse-error", "WITH is written: WITH name AS (SELECT …) SELECT …", at)
        name = tokens[index]
        if words[1] != "AS" or index + 2 >= len(tokens) or tokens[index + 2].text != "(":
            hint = "Name the columns in the SELECT list of the query."
            raise PanesError("parse-error", "after the name in WITH comes AS (SELECT …)", tokens[index + 1].span, hint)
        end = closing(tokens, index + 2)
        if end == index + 3:
            raise PanesError("parse-error", f"{name.name} has no query", name.span)
        query = parse_query(tokens[index + 3 : end], context)
        _refuse_emit(query, "WITH")
        if name.name.lower() in names:
            raise PanesError("duplicate-name", f"WITH names {name.name} twice", name.span)
        names.add(name.name.lower())
        if len(names) > MOST_CTES:
            raise PanesError("parse-error", f"WITH names more than {MOST_CTES} queries", name.span)
        ctes.append(Cte(name.name, query, name.span))
        index = end + 1
        if index < len(tokens) and tokens[index].text == ",":
            index += 1
            continue
        break
    if index >= len(tokens):
        raise PanesError("parse-error", "after WITH a SELECT is missing", span_of(tokens))
    return tuple(ctes), tokens[index:]


def _refuse_emit(query: Query, where: str) -> None:
    if isinstance(query, SelectStmt) and query.emit is not None:
        hint = "EMIT stands once, at the end of the statement that is run."
        raise PanesError("unsupported-clause", f"EMIT inside {where}", query.emit.span, hint)


def _relation(tokens: tuple[Token, ...], context: Context) -> Relation | None:
    """A stream's name or a sub-query, with its alias; None for any other FROM."""
    if tokens[0].text == "(":
        end = closing(tokens, 0)
        inside = tokens[1:end]
        if not inside or (inside[0].word not in ("SELECT", "WITH", "VALUES", "FROM") and inside[0].text != "("):
            return None
        alias = _alias(tokens[end + 1 :])
        query = parse_query(inside, context)
        _refuse_emit(query, "a sub-query")
        return SubQuery(query, alias, span_of(tokens[: end + 1]))
    if not tokens[0].is_name or (len(tokens) > 1 and tokens[1].text in (".", "(")):
        return None
    return NamedRelation(tokens[0].name, _alias(tokens[1:]), tokens[0].span)


def _alias(tokens: Sequence[Token]) -> str | None:
    rest = tokens[1:] if tokens and tokens[0].word == "AS" else tokens
    if not tokens:
        return None
    if len(rest) != 1 or not rest[0].is_name:
        raise PanesError("parse-error", "an alias is one name", span_of(tokens))
    return rest[0].name


def _spark_query(tokens: tuple[Token, ...], ctes: tuple[Cte, ...], context: Context) -> SparkStmt:
    """A query that Spark runs whole: only its tables and its clauses are looked at."""
    _refuse_hidden_constructs(tokens, context.functions)
    try:
        trees = SPARK.parser().parse(indexed(tokens), " " * len(tokens))
    except ParseError as error:
        raise syntax_error(tokens, error) from error
    except (RecursionError, MemoryError):
        raise
    except Exception as error:
        raise PanesError("parse-error", "this is not a query", span_of(tokens)) from error
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Query | exp.Values):
        raise PanesError("parse-error", "this is not a query", span_of(tokens))
    inner = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables: dict[str, NamedRelation] = {}
    places: dict[tuple[int, int], str] = {}
    for table in tree.find_all(exp.Table):
        if not table.name or isinstance(table.this, exp.Func) or table.name.lower() in inner:
            continue
        name = ".".join(part.name for part in table.parts)
        positions = [part.meta["start"] for part in table.parts]
        tables.setdefault(name.lower(), NamedRelation(name, None, tokens[positions[-1]].span))
        places[min(positions), max(positions)] = table_reference(name, table.alias or table.name, bool(table.alias))
    return SparkStmt(
        text_of(tokens),
        template_of(tokens, places),
        tuple(tables.values()),
        ctes,
        tree,
        tokens,
        places,
        query_clauses(tokens),
        span_of(tokens),
    )


def _refuse_hidden_constructs(tokens: tuple[Token, ...], functions: Functions) -> None:
    for place in calls_in(tokens):
        ours = is_window(place.name) or place.name in BOUNDS or place.over_start is not None
        if ours or is_stateful(tokens, place, functions):
            at = span_of(tokens[place.start : place.end + 1])
            hint = "Name that query with WITH name AS (…) or CREATE VIEW, and read the name here."
            raise PanesError("unsupported-clause", f"{place.name} inside a query that is otherwise Spark's", at, hint)
