"""Text → tokens: Spark's lexical grammar from sqlglot, each token with the very text it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as RawToken
from sqlglot.tokenizer_core import TokenType

from panes.errors import PanesError
from panes.source import Source, Span

__all__ = ["SPARK", "RawToken", "Token", "TokenType"]

SPARK = Spark()

OPENING = {TokenType.L_PAREN: ")", TokenType.L_BRACKET: "]", TokenType.L_BRACE: "}"}
CLOSING = {TokenType.R_PAREN: ")", TokenType.R_BRACKET: "]", TokenType.R_BRACE: "}"}


@dataclass(frozen=True, eq=False)
class Token:
    """One token: `text` is verbatim, `raw` is what sqlglot made of it (`10L` is one token of ours, three of sqlglot's)."""

    kind: TokenType
    text: str
    span: Span
    raw: tuple[RawToken, ...] = field(repr=False)

    @cached_property
    def word(self) -> str:
        """The token in upper case, `GROUP BY` with one space; a quoted name or a literal is no word."""
        return "" if self.quoted else " ".join(self.text.upper().split())

    @property
    def quoted(self) -> bool:
        return self.text[:1] in "`'\""

    @property
    def name(self) -> str:
        """The token as a name, without its backticks."""
        return self.raw[0].text if self.kind == TokenType.IDENTIFIER else self.text

    @cached_property
    def is_name(self) -> bool:
        """Whether the token can name a column, a stream or a function (Spark reserves no word)."""
        return self.kind == TokenType.IDENTIFIER or self.text[:1].isalpha() or self.text[:1] == "_"


def tokenize(source: Source) -> tuple[Token, ...]:
    """The tokens of a text, comments left out.

    >>> [token.text for token in tokenize(Source("sum(a) -- all\\n / 10L"))]
    ['sum', '(', 'a', ')', '/', '10L']
    """
    tokens: list[Token] = []
    offset: int | None = 0
    while offset is not None:
        found, offset = _scan(source, offset)
        tokens += found
    return tuple(tokens)


# After these words at the start of a statement sqlglot takes the rest for one string: it is scanned again.
COMMANDS = frozenset((TokenType.COMMAND, TokenType.EXECUTE, TokenType.FETCH, TokenType.RENAME, TokenType.SHOW))


def _scan(source: Source, offset: int) -> tuple[list[Token], int | None]:
    """Tokens from an offset on, and where to go on scanning."""
    try:
        raws = SPARK.tokenize(source.text[offset:])
    except TokenError as error:
        start = offset + (getattr(error, "start", None) or 0)
        raise PanesError(
            "parse-error",
            "the text ends inside a quote or a comment, or has a character that SQL does not know",
            Span(source, start, min(len(source.text), start + 1)),
            "Close every ', \" and ` and every /* comment.",
        ) from error
    groups: list[list[RawToken]] = []
    for raw in raws:
        if groups and raw.start <= groups[-1][0].end:
            groups[-1].append(raw)
            continue
        starts_statement = not groups or groups[-1][0].token_type in (TokenType.SEMICOLON, TokenType.BEGIN)
        groups.append([raw])
        if starts_statement and raw.token_type in COMMANDS:
            return [_token(source, offset, group) for group in groups], offset + raw.end + 1
    return [_token(source, offset, group) for group in groups], None


def _token(source: Source, offset: int, group: list[RawToken]) -> Token:
    first = group[0]
    span = Span(source, offset + first.start, offset + first.end + 1)
    return Token(first.token_type, span.text, span, tuple(group))


def name_token(name: str, span: Span) -> Token:
    """A name that Panes made up, standing where `span` was written."""
    plain = name.isidentifier()
    text = name if plain else "`" + name.replace("`", "``") + "`"
    kind = TokenType.VAR if plain else TokenType.IDENTIFIER
    return Token(kind, text, span, (RawToken(kind, name),))


def mark(text: str, kind: TokenType, span: Span) -> Token:
    """A parenthesis or keyword that Panes puts in."""
    return Token(kind, text, span, (RawToken(kind, text),))


def parenthesised(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """`tokens` in parentheses, unless one token needs none."""
    if len(tokens) == 1:
        return tuple(tokens)
    opened = mark("(", TokenType.L_PAREN, tokens[0].span)
    return (opened, *tokens, mark(")", TokenType.R_PAREN, tokens[-1].span))


def span_of(tokens: Sequence[Token]) -> Span:
    return tokens[0].span.to(tokens[-1].span)


def check_brackets(tokens: Sequence[Token]) -> None:
    """Refuse a text whose brackets do not pair up."""
    open_: list[Token] = []
    for token in tokens:
        if token.kind in OPENING:
            open_.append(token)
        elif token.kind in CLOSING:
            if not open_ or OPENING[open_[-1].kind] != CLOSING[token.kind]:
                raise PanesError("parse-error", f"nothing opens this {token.text}", token.span)
            open_.pop()
    if open_:
        raise PanesError("parse-error", f"nothing closes this {open_[-1].text}", open_[-1].span)


def closing(tokens: Sequence[Token], opening: int) -> int:
    """The index of the bracket that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(tokens)):
        kind = tokens[index].kind
        if kind in OPENING:
            depth += 1
        elif kind in CLOSING:
            depth -= 1
            if depth == 0:
                return index
    raise PanesError("parse-error", f"nothing closes this {tokens[opening].text}", tokens[opening].span)


def top_level(tokens: Sequence[Token]) -> Iterator[int]:
    """The indices of the tokens outside all brackets; the brackets themselves count as outside."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.kind in CLOSING:
            depth -= 1
        if depth == 0:
            yield index
        if token.kind in OPENING:
            depth += 1


def split(tokens: Sequence[Token], at: TokenType) -> list[tuple[Token, ...]]:
    """Cut at every `at` outside brackets; no tokens make no parts.

    >>> parts = split(tokenize(Source("a, f(b, c)")), TokenType.COMMA)
    >>> [[token.text for token in part] for part in parts]
    [['a'], ['f', '(', 'b', ',', 'c', ')']]
    """
    if not tokens:
        return []
    cuts = [index for index in top_level(tokens) if tokens[index].kind == at]
    starts, ends = [0, *(cut + 1 for cut in cuts)], [*cuts, len(tokens)]
    return [tuple(tokens[start:end]) for start, end in zip(starts, ends, strict=True)]
