"""Tokens → text: one spelling for one sequence of tokens, whatever white space stood between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from panes.sql.tokens import STRINGS, Token, TokenType, is_plain_name

# After these words a parenthesis opens a group; after any other name it opens the arguments of a call.
BEFORE_GROUP = frozenset(
    """
    ALL AND ANY AS BETWEEN BY CASE CROSS DISTINCT DIV ELSE ESCAPE EXCEPT FILTER FROM HAVING ILIKE IN INTERSECT IS JOIN
    LATERAL LIKE NOT ON OR OVER QUALIFY REGEXP RLIKE SELECT SOME THEN UNION USING VALUES WHEN WHERE WITH
    """.split()
) | {"GROUP BY", "ORDER BY", "PARTITION BY"}

NO_OPERAND = BEFORE_GROUP | frozenset(("INTERVAL",))
UNARY = frozenset("-+~!")
TIGHT_AFTER = frozenset(("(", "[", ".", "::"))
TIGHT_BEFORE = frozenset((")", "]", ",", ".", "::"))


def text_of(tokens: Sequence[Token]) -> str:
    """SQL text with canonical spaces; every token stays as it was written.

    >>> from panes.source import Source
    >>> from panes.sql.tokens import tokenize
    >>> text_of(tokenize(Source("coalesce( a,-1 )+b [ 0 ]  in(1,2)")))
    'coalesce(a, -1) + b[0] in (1, 2)'
    """
    return _joined(tokens, [_plain(token) for token in tokens])


def key_of(tokens: Sequence[Token], instead: Mapping[int, str] | None = None) -> str:
    """Equal for two texts that Spark reads alike: names and keywords without case, literals as they are.

    `instead` has other texts for some tokens, by their indices.
    """
    others = instead or {}
    return _joined(tokens, [others.get(index) or _folded(token) for index, token in enumerate(tokens)])


def _folded(token: Token) -> str:
    if token.kind == TokenType.IDENTIFIER and is_plain_name(token.name):
        return token.name.lower()
    return token.text if token.kind in STRINGS else _plain(token).lower()


def _plain(token: Token) -> str:
    """`PARTITION   BY` with one space."""
    return token.text if token.quoted else " ".join(token.text.split())


def _joined(tokens: Sequence[Token], texts: Sequence[str]) -> str:
    parts: list[str] = []
    for index, text in enumerate(texts):
        if index and _spaced(tokens, index):
            parts.append(" ")
        parts.append(text)
    return "".join(parts)


def _spaced(tokens: Sequence[Token], index: int) -> bool:
    before, after = tokens[index - 1], tokens[index]
    if before.kind == after.kind == TokenType.STRING and before.span.end == after.span.start:
        return False  # 'it''s'
    if before.text == after.text == ">" and before.span.end == after.span.start:
        return False  # the shift a >> 1
    if before.text in TIGHT_AFTER:
        return False
    if after.text == ".":
        return before.text[:1].isdigit() or not ends_operand(before)  # 1 . is no number 1.
    if after.text in TIGHT_BEFORE:
        return False
    if after.text == "(" and before.word == "FILTER":
        return index > 1 and (tokens[index - 2].text == ")" or tokens[index - 2].word == "NULLS")
    if after.text == "(":
        return not before.is_name or before.word in BEFORE_GROUP
    if after.text == "[":
        return not ends_operand(before)
    if _is_unary(tokens, index - 1):
        return not (after.is_name or ends_operand(after))
    return True


def _is_unary(tokens: Sequence[Token], index: int) -> bool:
    return tokens[index].text in UNARY and (index == 0 or not ends_operand(tokens[index - 1]))


def ends_operand(token: Token) -> bool:
    """Whether an operator or the next clause can follow the token."""
    if token.text in (")", "]"):
        return True
    if token.is_name:
        return token.word not in NO_OPERAND
    return token.text[:1].isdigit() or token.kind in STRINGS
