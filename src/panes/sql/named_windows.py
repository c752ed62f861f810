"""The WINDOW clause: `OVER w` is written out before anything else looks at it."""

from __future__ import annotations

from dataclasses import replace

from panes.errors import PanesError
from panes.sql.calls import find_call
from panes.sql.clauses import Clauses, Tokens
from panes.sql.over import names_window, parse_window_spec
from panes.sql.tokens import Token, TokenType, closing, mark, span_of, split
from panes.sql.windows import is_window


def write_out_windows(clauses: Clauses) -> Clauses:
    """The clauses with every `OVER w` written out; the windows of GROUP BY take none and keep theirs to be refused."""
    named = named_windows(clauses.windows)

    def group_item(item: Tokens) -> Tokens:
        place = find_call(item, 0)
        return item if place is not None and is_window(place.name) else expanded(item, named)

    return replace(
        clauses,
        items=tuple(expanded(item, named) for item in clauses.items),
        where=expanded(clauses.where, named),
        group_by=tuple(group_item(item) for item in clauses.group_by),
        having=expanded(clauses.having, named),
        qualify=expanded(clauses.qualify, named),
    )


def named_windows(tokens: Tokens) -> dict[str, Tokens]:
    """The windows of a WINDOW clause: the tokens between the parentheses of each, by lower-case name."""
    windows: dict[str, Tokens] = {}
    for item in split(tokens, TokenType.COMMA):
        words = [token.word for token in item[:3]]
        if len(item) < 4 or words[1] != "AS" or item[2].text != "(" or closing(item, 2) != len(item) - 1:
            span = span_of(item) if item else span_of(tokens)
            raise PanesError("parse-error", "WINDOW is written: WINDOW w AS (PARTITION BY … ORDER BY …)", span)
        name = item[0].name.lower()
        if name in windows:
            raise PanesError("duplicate-name", f"the window {name} is declared twice", item[0].span)
        windows[name] = item[3:-1]
        parse_window_spec(item[3:-1], span_of(item))
    return windows


def expanded(tokens: Tokens, named: dict[str, Tokens]) -> Tokens:
    """`OVER w` and `OVER (w)` written out."""
    done: list[Token] = []
    index = 0
    while index < len(tokens):
        length = _named_length(tokens, index)
        if not length:
            done.append(tokens[index])
            index += 1
            continue
        name = tokens[index + length // 2]
        found = named.get(name.name.lower())
        if found is None:
            hint = f"Declare it after HAVING: WINDOW {name.name} AS (PARTITION BY … ORDER BY …)."
            raise PanesError("parse-error", f"the query has no window called {name.name}", name.span, hint)
        opened, closed = mark("(", TokenType.L_PAREN, name.span), mark(")", TokenType.R_PAREN, name.span)
        done += [tokens[index], opened, *found, closed]
        index += length
    return tuple(done)


def _named_length(tokens: Tokens, index: int) -> int:
    """2 for `OVER w`, 4 for `OVER (w)`, else 0."""
    if (
        tokens[index].word != "OVER"
        or not index
        or (tokens[index - 1].text != ")" and tokens[index - 1].word != "NULLS")
    ):
        return 0
    after = tokens[index + 1 : index + 4]
    if after and after[0].is_name and after[0].text != "(":
        return 2
    if len(after) == 3 and after[0].text == "(" and names_window(after[1]) and after[2].text == ")":
        return 4
    return 0
