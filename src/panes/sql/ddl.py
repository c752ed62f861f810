"""CREATE, DROP, SHOW and DESCRIBE: the statements that declare and list things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import assert_never

from panes.errors import PanesError
from panes.functions import Functions
from panes.source import Span
from panes.sql.column_defs import check_computed, parse_column
from panes.sql.duration import microseconds
from panes.sql.statements import (
    ColumnDef,
    CreateSink,
    CreateStream,
    CreateView,
    Describe,
    Drop,
    ObjectKind,
    Query,
    Show,
    Statement,
    Watermark,
)
from panes.sql.tokens import Token, TokenType, closing, span_of, split, top_level

KINDS = {kind.value: kind for kind in ObjectKind}
STREAM_USAGE = (
    "CREATE STREAM name (column TYPE, column TYPE AS expression, …, "
    "WATERMARK FOR column AS column - INTERVAL 10 SECONDS, PRIMARY KEY (column, …)) "
    "WITH (connector = 'json', path = '…')"
)


class Cursor:
    """Tokens read from left to right."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tuple(tokens)
        self.index = 0

    @property
    def span(self) -> Span:
        return self.tokens[min(self.index, len(self.tokens) - 1)].span

    def rest(self) -> tuple[Token, ...]:
        return self.tokens[self.index :]

    def accept(self, *words: str) -> bool:
        """Read these words if they are next."""
        if tuple(token.word or token.text for token in self.rest()[: len(words)]) != words:
            return False
        self.index += len(words)
        return True

    def expect(self, word: str, usage: str) -> None:
        if not self.accept(word):
            raise PanesError("parse-error", f"{word} is missing here", self.span, usage)

    def name(self, what: str, usage: str | None = None) -> Token:
        """Read a name."""
        if self.index >= len(self.tokens) or not self.tokens[self.index].is_name:
            raise PanesError("parse-error", f"the name of {what} is missing here", self.span, usage)
        self.index += 1
        return self.tokens[self.index - 1]

    def group(self, usage: str) -> tuple[Token, ...]:
        """Read `( … )` and return what is inside."""
        if not self.rest() or self.rest()[0].text != "(":
            raise PanesError("parse-error", "( is missing here", self.span, usage)
        start, self.index = self.index + 1, closing(self.tokens, self.index) + 1
        return self.tokens[start : self.index - 1]

    def end(self, usage: str) -> None:
        if self.rest():
            raise PanesError("parse-error", f"{self.rest()[0].text} is one word too many", self.span, usage)


def _kind(cursor: Cursor, statement: str) -> ObjectKind:
    word = cursor.rest()[0].word if cursor.rest() else ""
    if word not in KINDS:
        raise PanesError("parse-error", f"{statement} STREAM, VIEW or SINK", cursor.span)
    cursor.index += 1
    return KINDS[word]


def parse_create(
    tokens: Sequence[Token], query: Callable[[tuple[Token, ...], Span], tuple[Query, str]], functions: Functions
) -> Statement:
    """`CREATE [OR REPLACE] STREAM|VIEW|SINK [IF NOT EXISTS] name …`."""
    cursor = Cursor(tokens)
    span = span_of(tokens)
    cursor.accept("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    kind = _kind(cursor, "CREATE [OR REPLACE]")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        raise PanesError("parse-error", "OR REPLACE and IF NOT EXISTS exclude each other", span)
    name = cursor.name(f"the {kind.value.lower()}").name
    match kind:
        case ObjectKind.VIEW:
            cursor.expect("AS", "CREATE VIEW name AS SELECT …")
            body, sql = query(cursor.rest(), span)
            return CreateView(name, body, sql, or_replace, if_not_exists, span)
        case ObjectKind.SINK:
            usage = "CREATE SINK name WITH (connector = 'console')"
            options = _with(cursor, usage)
            cursor.end(usage)
            return CreateSink(name, options, or_replace, if_not_exists, span)
        case ObjectKind.STREAM:
            columns, watermark, key = _columns(cursor.group(STREAM_USAGE), span, functions)
            options = _with(cursor, STREAM_USAGE)
            cursor.end(STREAM_USAGE)
            return CreateStream(name, columns, watermark, key, options, or_replace, if_not_exists, span)
        case _:
            assert_never(kind)


def _columns(
    tokens: tuple[Token, ...], span: Span, functions: Functions
) -> tuple[tuple[ColumnDef, ...], Watermark | None, tuple[str, ...]]:
    columns: list[ColumnDef] = []
    watermark: Watermark | None = None
    key: tuple[str, ...] = ()
    for item in _items(tokens):
        if not item:
            raise PanesError("parse-error", "a column is missing at a comma", span_of(tokens), STREAM_USAGE)
        words = [token.word for token in item[:2]]
        if words == ["WATERMARK", "FOR"]:
            if watermark is not None:
                raise PanesError("stream-options", "WATERMARK is given twice", item[0].span)
            watermark = _watermark(item)
        elif words[0] == "PRIMARY KEY" or words == ["PRIMARY", "KEY"]:
            if key:
                raise PanesError("stream-options", "PRIMARY KEY is given twice", item[0].span)
            key = _key(item)
        else:
            columns.append(parse_column(item, functions))
    if not columns:
        raise PanesError("parse-error", "a stream needs at least one column", span, STREAM_USAGE)
    check_computed(columns)
    return tuple(columns), watermark, key


def _items(tokens: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """Cut at every comma outside brackets; that of `MAP<STRING, INT>` is inside, that behind `AS a < b` is not."""
    cuts, open_, typed = [-1], 0, True
    for index in top_level(tokens):
        typed = typed and tokens[index].word != "AS"
        open_ += ((tokens[index].text == "<") - (tokens[index].text == ">")) if typed else 0
        if tokens[index].kind == TokenType.COMMA and open_ <= 0:
            cuts.append(index)
            open_, typed = 0, True
    return [tokens[start + 1 : end] for start, end in pairwise([*cuts, len(tokens)])] if tokens else []


def _watermark(item: tuple[Token, ...]) -> Watermark:
    usage = "WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS"
    words = [token.word for token in item]
    if len(item) < 5 or not item[2].is_name or words[3] != "AS":
        raise PanesError("parse-error", "WATERMARK is not complete", span_of(item), usage)
    name, rest = item[2].name, item[4:]
    if rest[0].name.lower() != name.lower():
        raise PanesError("stream-options", "the watermark is the time column less a delay", rest[0].span, usage)
    if len(rest) == 1:
        return Watermark(name, 0, span_of(item))
    if rest[1].text != "-" or len(rest) < 4 or words[6] != "INTERVAL":
        raise PanesError("stream-options", "the watermark is the time column less a delay", span_of(rest), usage)
    length = " ".join(token.raw[0].text for token in rest[3:])
    try:
        return Watermark(name, microseconds(length), span_of(item))
    except ValueError as error:
        raise PanesError("stream-options", str(error), span_of(rest[2:]), usage) from None


def _key(item: tuple[Token, ...]) -> tuple[str, ...]:
    cursor = Cursor(item)
    if not cursor.accept("PRIMARY KEY"):
        cursor.accept("PRIMARY", "KEY")
    parts = split(cursor.group("PRIMARY KEY (column, …)"), TokenType.COMMA)
    cursor.end("PRIMARY KEY (column, …)")
    if not parts or any(len(part) != 1 or not part[0].is_name for part in parts):
        raise PanesError("parse-error", "PRIMARY KEY takes column names", span_of(item))
    return tuple(part[0].name for part in parts)


def _with(cursor: Cursor, usage: str) -> dict[str, str]:
    """`WITH (name = 'value', …)`; names may have dots."""
    if not cursor.accept("WITH"):
        return {}
    options: dict[str, str] = {}
    names: set[str] = set()
    for item in split(cursor.group(usage), TokenType.COMMA):
        equals = [index for index, token in enumerate(item) if token.text == "="]
        if len(equals) != 1 or equals[0] == 0 or len(item) != equals[0] + 2:
            span = span_of(item) if item else cursor.tokens[0].span
            raise PanesError("parse-error", "an option is written name = 'value'", span, usage)
        name = "".join(token.raw[0].text for token in item[: equals[0]])
        if name.lower() in names:
            raise PanesError("stream-options", f"the option {name} is given twice", span_of(item))
        names.add(name.lower())
        options[name] = item[-1].raw[0].text
    return options


def parse_drop(tokens: Sequence[Token]) -> Drop:
    """`DROP STREAM|VIEW|SINK [IF EXISTS] name`."""
    cursor = Cursor(tokens)
    cursor.accept("DROP")
    kind = _kind(cursor, "DROP")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name(f"the {kind.value.lower()}").name
    cursor.end("DROP STREAM|VIEW|SINK [IF EXISTS] name")
    return Drop(kind, name, if_exists, span_of(tokens))


def parse_show(tokens: Sequence[Token]) -> Show:
    """`SHOW STREAMS|VIEWS|SINKS`."""
    plural = {f"{kind.value}S": kind for kind in ObjectKind}
    if len(tokens) != 2 or tokens[1].word not in plural:
        raise PanesError("parse-error", "SHOW STREAMS, VIEWS or SINKS", span_of(tokens))
    return Show(plural[tokens[1].word], span_of(tokens))


def parse_describe(tokens: Sequence[Token]) -> Describe:
    """`DESCRIBE [STREAM|VIEW|SINK] name`."""
    cursor = Cursor(tokens)
    cursor.index = 1
    if len(tokens) == 3 and tokens[1].word in KINDS:
        cursor.index = 2
    name = cursor.name("what to describe", "DESCRIBE name")
    cursor.end("DESCRIBE name")
    return Describe(name.name, span_of(tokens))
