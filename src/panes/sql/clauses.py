"""A SELECT cut into its clauses, by the keywords outside all brackets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from panes.errors import PanesError
from panes.source import Span
from panes.sql.text import ends_operand
from panes.sql.tokens import OPENING, Token, TokenType, split, top_level

Tokens = tuple[Token, ...]

CLAUSES = ("FROM", "WHERE", "GROUP BY", "HAVING", "WINDOW", "QUALIFY", "EMIT")
JOINS = frozenset("JOIN INNER LEFT RIGHT FULL CROSS SEMI ANTI NATURAL LATERAL PIVOT UNPIVOT TABLESAMPLE".split())
SET_OPERATIONS = frozenset(["UNION", "INTERSECT", "EXCEPT", "MINUS"])
TRAILING = frozenset(["LIMIT", "OFFSET", "FETCH"]) | {"ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY"}
FOREIGN = JOINS | SET_OPERATIONS | TRAILING


@dataclass(frozen=True)
class Clauses:
    """The clauses of one SELECT without their keywords.

    `written` are the items as the user wrote them, `foreign` the clauses that only Spark knows.
    """

    items: tuple[Tokens, ...] = ()
    written: tuple[Tokens, ...] = ()
    source: Tokens = ()
    where: Tokens = ()
    group_by: tuple[Tokens, ...] = ()
    having: Tokens = ()
    windows: Tokens = ()
    qualify: Tokens = ()
    emit: Tokens = ()
    foreign: tuple[tuple[str, Span], ...] = ()
    keywords: dict[str, Token] = field(default_factory=dict)


def cut_select(tokens: Tokens) -> Clauses:
    """The clauses of the tokens of a SELECT, in their order, each at most once."""
    starts = _starts(tokens)
    foreign = [(word, tokens[index].span) for word, index in starts if word in FOREIGN]
    keywords: dict[str, Token] = {}
    bodies: dict[str, Tokens] = {}
    last = -1
    spark_only = False
    for (word, index), (_, end) in zip(starts, [*starts[1:], ("", len(tokens))], strict=True):
        if word in FOREIGN:
            continue
        spark_only = spark_only or (word == "SELECT" and word in keywords)
        if spark_only and word != "EMIT":
            continue  # the second SELECT of a set operation: Spark's
        if "EMIT" in keywords:
            hint = "EMIT stands once, at the end of the statement that is run."
            raise PanesError("unsupported-clause", f"EMIT before {word}", keywords["EMIT"].span, hint)
        if word in keywords:
            raise PanesError("parse-error", f"{word} is given twice in one SELECT", tokens[index].span)
        if word in CLAUSES:
            if CLAUSES.index(word) < last:
                raise PanesError(
                    "parse-error",
                    f"{word} is in the wrong place",
                    tokens[index].span,
                    "The order is SELECT … FROM … [WHERE] [GROUP BY] [HAVING] [WINDOW] [QUALIFY] [EMIT].",
                )
            last = CLAUSES.index(word)
        keywords[word] = tokens[index]
        bodies[word] = tokens[index + (0 if word == "EMIT" else 1) : end]
        if not bodies[word]:
            raise PanesError("parse-error", f"nothing follows {word}", tokens[index].span)
    items = bodies.get("SELECT", ())
    if items and items[0].word in ("DISTINCT", "ALL") and len(items) > 1 and items[1].text != ",":
        if items[0].word == "DISTINCT":
            foreign.insert(0, ("DISTINCT", items[0].span))
        items = items[1:]
    parts = _list(items, keywords["SELECT"])
    return Clauses(
        items=parts,
        written=parts,
        source=bodies.get("FROM", ()),
        where=bodies.get("WHERE", ()),
        group_by=_list(bodies.get("GROUP BY", ()), keywords.get("GROUP BY")),
        having=bodies.get("HAVING", ()),
        windows=bodies.get("WINDOW", ()),
        qualify=bodies.get("QUALIFY", ()),
        emit=bodies.get("EMIT", ()),
        foreign=tuple(foreign),
        keywords=keywords,
    )


def _list(tokens: Tokens, keyword: Token | None) -> tuple[Tokens, ...]:
    parts = split(tokens, TokenType.COMMA)
    if keyword is not None and any(not part for part in parts):
        raise PanesError("parse-error", f"an expression is missing at a comma of {keyword.word}", keyword.span)
    return tuple(parts)


def _starts(tokens: Tokens) -> list[tuple[str, int]]:
    """Each clause keyword outside brackets with its index."""
    starts: list[tuple[str, int]] = []
    seen: list[str] = []
    for index in top_level(tokens):
        word = tokens[index].word
        if _starts_clause(tokens, index, word, seen):
            starts.append((word, index))
            seen.append(word)
    return starts


def _starts_clause(tokens: Tokens, index: int, word: str, seen: Sequence[str]) -> bool:
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if word == "SELECT":
        return before is None or before.word in (*SET_OPERATIONS, "ALL", "DISTINCT")
    if word == "FROM":
        return "FROM" not in seen and not is_distinct_from(tokens, index)
    if before is None or not (ends_operand(before) or before.text == "*"):
        return word in ("WHERE", "GROUP BY", "HAVING", "QUALIFY", "ORDER BY") and before is not None
    match word:
        case "WINDOW":
            return "FROM" in seen and index + 2 < len(tokens) and tokens[index + 2].word == "AS"
        case "EMIT":
            return "FROM" in seen
        case "EXCEPT":
            return before.text != "*"
        case "LIMIT" | "OFFSET":
            return after is not None and (ends_operand(after) or after.text == "(")
        case _ if word in JOINS:
            return "FROM" in seen and seen[-1] in ("FROM", *JOINS) and (after is None or after.text != ".")
    return word in CLAUSES or word in FOREIGN


def is_distinct_from(tokens: Sequence[Token], index: int) -> bool:
    """Whether a FROM is that of `a IS DISTINCT FROM b`."""
    return tokens[index - 1].word == "DISTINCT" and tokens[index - 2].word in ("IS", "NOT")


def query_clauses(tokens: Sequence[Token]) -> tuple[tuple[str, Span], ...]:
    """ORDER BY, LIMIT, … and DISTINCT of a query and of the sub-queries in it, for what Spark runs whole."""
    found: list[tuple[str, Span]] = []
    in_query = [True]
    for index, token in enumerate(tokens):
        after = tokens[index + 1].word if index + 1 < len(tokens) else ""
        if token.kind in OPENING:
            in_query.append(after in ("SELECT", "WITH", "FROM") or (in_query[-1] and tokens[index + 1].text == "("))
        elif token.text in (")", "]", "}"):
            in_query.pop()
        elif token.word == "DISTINCT" and index and tokens[index - 1].word == "SELECT":
            found.append(("DISTINCT", token.span))
        elif token.word in TRAILING and in_query[-1] and index and (ends_operand(tokens[index - 1])):
            found.append((token.word, token.span))
    return tuple(found)
