"""Text → tokens: Spark's lexical grammar from sqlglot, each token with the very text it came from."""

from __future__ import annotations

import re
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
DEEPEST = 250  # brackets in brackets; sqlglot takes about twenty frames for each
DEEPEST_CASTS = 10  # `date(date(…))`: sqlglot reads each as a type and then again as a call, which doubles its work
DEEPEST_TYPES = 50  # `ARRAY<ARRAY<…>>`
NESTED_TYPES = frozenset((TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT))
TYPES = SPARK.parser_class.TYPE_TOKENS - {TokenType.UNION}
_OPENINGS = re.compile(r"['\"`]|/\*")
STRINGS = frozenset((TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.NATIONAL_STRING))


@dataclass(frozen=True, eq=False)
class Token:
    """One token: `text` is verbatim, `raw` is what sqlglot made of it (three tokens of `10L`)."""

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
        return self.kind == TokenType.IDENTIFIER or self.kind in STRINGS

    @property
    def name(self) -> str:
        """The token as a name, without its backticks."""
        return self.raw[0].text if self.kind == TokenType.IDENTIFIER else self.text

    @cached_property
    def is_name(self) -> bool:
        """Whether the token can name a column, a stream or a function (Spark reserves no word)."""
        plain = self.kind not in STRINGS and (self.text[:1].isalpha() or self.text[:1] == "_")
        return plain or self.kind == TokenType.IDENTIFIER


def tokenize(source: Source) -> tuple[Token, ...]:
    """The tokens of a text, comments left out.

    >>> [token.text for token in tokenize(Source("sum(a) -- all\\n / 10L"))]
    ['sum', '(', 'a', ')', '/', '10L']
    """
    try:
        raws = _scan(source.text)
    except TokenError as error:
        raise PanesError(
            "parse-error",
            "the text ends inside a quote or a comment, or has a character that SQL does not know",
            Span(source, _unclosed(source), len(source.text)),
            "Close every ', \" and ` and every /* comment.",
        ) from error
    groups: list[list[RawToken]] = []
    for raw in raws:
        if groups and raw.start <= groups[-1][0].end:
            groups[-1].append(raw)
        else:
            groups.append([raw])
    tokens: list[Token] = []
    for token in (_token(source, group) for group in groups):
        kind = BEFORE_BY.get(tokens[-1].word) if tokens and token.word == "BY" else None
        if kind is not None:  # GROUP /* comment */ BY
            first = tokens.pop()
            token = mark(f"{first.word} BY", kind, first.span.to(token.span))
        tokens.append(token)
    return tuple(tokens)


BEFORE_BY = {
    "GROUP": TokenType.GROUP_BY,
    "ORDER": TokenType.ORDER_BY,
    "PARTITION": TokenType.PARTITION_BY,
    "SORT": TokenType.SORT_BY,
    "CLUSTER": TokenType.CLUSTER_BY,
    "DISTRIBUTE": TokenType.DISTRIBUTE_BY,
}


# After these words at the start of a statement sqlglot takes the rest of it for one string.
COMMANDS = frozenset((TokenType.COMMAND, TokenType.EXECUTE, TokenType.FETCH, TokenType.RENAME, TokenType.SHOW))


def _scan(text: str, lead: str = "") -> list[RawToken]:
    """sqlglot's tokens; a `lead` before the text makes its first word an ordinary one."""
    found: list[RawToken] = []
    for raw in SPARK.tokenize(lead + text)[len(lead) :]:
        if raw.token_type == TokenType.STRING and _is_command(found, lead):
            start, end = found[-1].end + 1, raw.end + 1 - len(lead)
            found += [_moved(one, start) for one in _scan(text[start:end], ",")]
        else:
            found.append(_moved(raw, -len(lead)) if lead else raw)
    return found


def _is_command(found: Sequence[RawToken], lead: str) -> bool:
    """Whether the last token is a command word at the start of a statement."""
    if not found or found[-1].token_type not in COMMANDS:
        return False
    return not lead if len(found) == 1 else found[-2].token_type in (TokenType.SEMICOLON, TokenType.BEGIN)


def _moved(raw: RawToken, by: int) -> RawToken:
    return RawToken(raw.token_type, raw.text, raw.line, raw.col, raw.start + by, raw.end + by)


def _unclosed(source: Source) -> int:
    """Where the quote or comment opens that nothing closes: the text before it is fine, and no longer part of it is."""
    openings = [one.start() for one in _OPENINGS.finditer(source.text)]
    for start in reversed(openings[-50:]):
        try:
            SPARK.tokenize(source.text[:start])
        except TokenError:
            continue
        return start
    return 0


def _token(source: Source, group: list[RawToken]) -> Token:
    first = group[0]
    span = Span(source, first.start, first.end + 1)
    return Token(first.token_type, span.text, span, tuple(group))


def is_plain_name(name: str) -> bool:
    """Whether Spark reads the name as itself without backticks: `größe` and `null` need them."""
    return name.isascii() and name.isidentifier() and name.upper() not in SPARK.tokenizer_class.KEYWORDS


def name_token(name: str, span: Span) -> Token:
    """A name that Panes made up, standing where `span` was written."""
    plain = is_plain_name(name)
    text = name if plain else "`" + name.replace("`", "``") + "`"
    kind = TokenType.VAR if plain else TokenType.IDENTIFIER
    return Token(kind, text, span, (RawToken(kind, name),))


def mark(text: str, kind: TokenType, span: Span) -> Token:
    """A parenthesis, keyword or number that Panes puts in."""
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
    """Refuse a text whose brackets do not pair up, or nest too deeply."""
    open_: list[Token] = []
    casts: list[bool] = []  # whether each comes after the name of a type
    types = 0
    for before, token in zip((None, *tokens), tokens, strict=False):
        if token.kind in OPENING:
            open_.append(token)
            casts.append(before is not None and before.kind in TYPES)
            if len(open_) > DEEPEST or (casts[-1] and sum(casts) > DEEPEST_CASTS):
                raise _too_deep(token)
        elif token.kind in CLOSING:
            if not open_ or OPENING[open_[-1].kind] != CLOSING[token.kind]:
                raise PanesError("parse-error", f"nothing opens this {token.text}", token.span)
            open_.pop()
            casts.pop()
        elif token.text == "<" and before is not None and before.kind in NESTED_TYPES:
            types += 1
            if types > DEEPEST_TYPES:
                raise _too_deep(token)
        elif token.text == ">" and types:
            types -= 1
    if open_:
        raise PanesError("parse-error", f"nothing closes this {open_[-1].text}", open_[-1].span)


def _too_deep(token: Token) -> PanesError:
    hint = "Take parts of it into views, or name them with WITH."
    return PanesError("parse-error", "brackets are nested too deeply", token.span, hint)


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
