"""Lambdas among tokens: in `transform(arr, x -> x + v)` x is a parameter, arr and v are columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from panes.errors import PanesError
from panes.sql.expr import Expr
from panes.sql.tokens import CLOSING, OPENING, Token, TokenType, span_of

Names = frozenset[str]


def parameters_at(tokens: Sequence[Token], around: Names = frozenset()) -> list[Names]:
    """For each token the lambda parameters that are in scope there, in lower case.

    >>> from panes.source import Source
    >>> from panes.sql.tokens import tokenize
    >>> [sorted(names) for names in parameters_at(tokenize(Source("f(a, (x, y) -> x, b)")))]
    [[], [], [], [], [], [], [], [], [], [], ['x', 'y'], [], [], []]
    """
    scopes = [around] * len(tokens)
    for arrow, token in enumerate(tokens):
        if token.kind == TokenType.ARROW:
            names = frozenset(_parameters(tokens, arrow))
            for index in range(arrow + 1, _end_of_body(tokens, arrow)):
                scopes[index] |= names
    return scopes


def _parameters(tokens: Sequence[Token], arrow: int) -> Iterator[str]:
    """The names before an arrow: `x` or `(x, y)`."""
    index = arrow - 1
    if index > 0 and tokens[index].text == ")":
        while index > 0 and tokens[index].text != "(":
            index -= 1
    yield from (token.name.lower() for token in tokens[max(index, 0) : arrow] if token.is_name)


def _end_of_body(tokens: Sequence[Token], arrow: int) -> int:
    """A body ends at the comma or bracket that ends the argument."""
    depth = 0
    for index in range(arrow + 1, len(tokens)):
        kind = tokens[index].kind
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth < 0 or (depth == 0 and kind == TokenType.COMMA):
            return index
    return len(tokens)


def refuse_parameters(name: str, expr: Expr, parameters: Names) -> None:
    """Refuse a call that reads a parameter: it is computed once a row, before the lambda runs over elements."""
    for ref in expr.columns:
        if ref.parts[0].lower() in parameters:
            at = span_of(expr.tokens[ref.first : ref.last + 1])
            hint = f"{name} sees rows, not elements: give the parameter another name, or explode the array before."
            raise PanesError("function-arguments", f"{name} reads {at.text}, a parameter of a lambda", at, hint)
