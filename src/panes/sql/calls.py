"""Function calls in a sequence of tokens: `f(args) [WITHIN GROUP (…)] [IGNORE NULLS] [FILTER (…)] [OVER …]`.

FILTER and IGNORE NULLS come in either order. IGNORE NULLS may also stand inside the parentheses, after any argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from panes.errors import PanesError
from panes.functions.within import Direction
from panes.source import Span
from panes.sql.expr import Expr
from panes.sql.lambdas import Names, parameters_at, refuse_parameters
from panes.sql.over import OrderKey, Over, expr_list, order_keys, over_length, parse_over
from panes.sql.tokens import Token, TokenType, closing, span_of, top_level


@dataclass(frozen=True)
class Call:
    """One call; `name` is in lower case and `ignore_nulls` is None where nothing was said.

    `within` says which way the keys of WITHIN GROUP sort: they are the last of `args`.
    """

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    ignore_nulls: bool | None = None
    filter: Expr | None = None
    over: Over | None = None
    within: tuple[Direction, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def sql(self) -> str:
        """The call in canonical form, without its OVER."""
        own, keys = self.args[: self.own], self.args[self.own :]
        args = ", ".join(arg.sql for arg in own)
        order = ", ".join(f"{key.sql}{way.sql}" for key, way in zip(keys, self.within, strict=True))
        within = f" WITHIN GROUP (ORDER BY {order})" if order else ""
        nulls = {None: "", True: " IGNORE NULLS", False: " RESPECT NULLS"}[self.ignore_nulls]
        condition = f" FILTER (WHERE {self.filter.sql})" if self.filter else ""
        return f"{self.name}({'DISTINCT ' if self.distinct else ''}{args}){within}{nulls}{condition}"

    @property
    def own(self) -> int:
        """How many arguments stand inside its parentheses."""
        return len(self.args) - len(self.within)

    @property
    def parts(self) -> tuple[Expr, ...]:
        """Every expression in it: arguments, conditions, partition and order keys."""
        over = self.over or Over()
        conditions = (one for one in (self.filter, over.when) if one is not None)
        return (*self.args, *conditions, *over.partition_by, *(key.expr for key in over.order_by))


@dataclass(frozen=True)
class Place:
    """Where a call stands among tokens: its name, its parentheses, its last token."""

    name: str
    start: int
    close: int
    end: int
    over_start: int | None


def find_call(tokens: Sequence[Token], index: int) -> Place | None:
    """The call whose name is the token at `index`, if that is one."""
    if index + 1 >= len(tokens) or tokens[index + 1].text != "(" or not tokens[index].is_name:
        return None
    if index and tokens[index - 1].text == ".":
        return None  # a.f(…) is someone else's function
    if index and tokens[index - 1].word in ("LIKE", "ILIKE") and tokens[index].word in ("ANY", "ALL", "SOME"):
        return None
    if index and (tokens[index - 1].word, tokens[index].word) == ("WITHIN", "GROUP"):
        return None  # a clause of the call before it
    if tokens[index].word == "FILTER" and [token.word for token in tokens[index + 2 : index + 3]] == ["WHERE"]:
        return None  # a clause of the call before it
    close = end = closing(tokens, index + 1)
    end += within_length(tokens, end + 1)
    while True:
        words = [token.word for token in tokens[end + 1 : end + 4]]
        if words[:2] in (["IGNORE", "NULLS"], ["RESPECT", "NULLS"]):
            end += 2
        elif words[:1] == ["FILTER"] and words[2:] == ["WHERE"]:
            end = closing(tokens, end + 2)
        else:
            break
    length = over_length(tokens, end + 1)
    return Place(tokens[index].name.lower(), index, close, end + length, end + 1 if length else None)


def within_length(tokens: Sequence[Token], start: int) -> int:
    """How many tokens the WITHIN GROUP clause at `start` has; 0 if none is there."""
    words = [token.word for token in tokens[start : start + 3]]
    return closing(tokens, start + 2) - start + 1 if words == ["WITHIN", "GROUP", "("] else 0


def calls_in(tokens: Sequence[Token]) -> Iterator[Place]:
    """Every call, outer before inner."""
    for index in range(len(tokens)):
        place = find_call(tokens, index)
        if place is not None:
            yield place


Rewrite = Callable[[Sequence[Token]], tuple[Token, ...]]


def rewrite_calls(
    tokens: Sequence[Token],
    wanted: Callable[[Sequence[Token], Place], bool],
    replace: Callable[[Call], Token],
    parameters: Names = frozenset(),
) -> tuple[Token, ...]:
    """Put one token in the place of every wanted call, inner calls first; `parameters` are those of lambdas around.

    `sum(lag(a)) + 1` with lag wanted becomes `sum(col_1) + 1`.
    """
    scopes = parameters_at(tokens, parameters)
    done: list[Token] = []
    index = 0
    while index < len(tokens):
        place = find_call(tokens, index) if tokens[index].is_name else None
        if place is not None and wanted(tokens, place):
            rewrite = partial(rewrite_calls, wanted=wanted, replace=replace, parameters=scopes[index])
            call = parse_call(tokens, place, rewrite)
            for part in call.parts if scopes[index] else ():
                refuse_parameters(call.name, part, scopes[index])
            done.append(replace(call))
            index = place.end + 1
        else:
            done.append(tokens[index])
            index += 1
    return tuple(done)


def parse_call(tokens: Sequence[Token], place: Place, rewrite: Rewrite = tuple) -> Call:
    """The call at a place; `rewrite` is applied to everything inside its parentheses first."""
    inside = rewrite(tokens[place.start + 2 : place.close])
    distinct = bool(inside) and inside[0].word == "DISTINCT" and len(inside) > 1
    inside, ignore_nulls = _without_nulls_clause(inside)
    condition: Expr | None = None
    end = place.over_start if place.over_start is not None else place.end + 1
    index = place.close + 1 + within_length(tokens, place.close + 1)
    keys = order_keys(rewrite(tokens[place.close + 4 : index - 1])) if index > place.close + 1 else ()
    while index < end:
        if tokens[index].word == "FILTER":
            last = closing(tokens, index + 1)
            if condition is not None:
                raise PanesError("parse-error", "FILTER is given twice", tokens[index].span)
            body = rewrite(tokens[index + 3 : last])
            if not body:
                raise PanesError("parse-error", "FILTER (WHERE …) has no condition", tokens[index].span)
            condition = Expr(body)
            index = last + 1
        else:
            if ignore_nulls is not None:
                raise _nulls_twice(tokens[index])
            ignore_nulls = tokens[index].word == "IGNORE"
            index += 2
    over = None
    if place.over_start is not None:
        clause = tokens[place.over_start : place.end + 1]
        over = parse_over((*clause[:2], *rewrite(clause[2:-1]), *clause[-1:]) if len(clause) > 2 else clause)
    return Call(
        place.name,
        (*expr_list(inside[1:] if distinct else inside), *(key.expr for key in keys)),
        distinct,
        ignore_nulls,
        condition,
        over,
        tuple(Direction(key.descending, _unless_usual(key)) for key in keys),
        span_of(tokens[place.start : place.end + 1]),
    )


def _unless_usual(key: OrderKey) -> bool | None:
    """Whether NULLs come first, where that is not what is usual in this direction."""
    return None if key.nulls_first is not key.descending else key.nulls_first


def _without_nulls_clause(inside: tuple[Token, ...]) -> tuple[tuple[Token, ...], bool | None]:
    """The arguments of `f(x IGNORE NULLS)` or `f(x IGNORE NULLS, 2)` without the clause, and what it says."""
    ignore_nulls: bool | None = None
    ends = [index for index in top_level(inside) if inside[index].kind == TokenType.COMMA]
    for end in reversed([*ends, len(inside)]):
        words = [token.word for token in inside[max(end - 3, 0) : end]]
        if words[1:] not in (["IGNORE", "NULLS"], ["RESPECT", "NULLS"]) or words[0] == ",":
            continue
        if ignore_nulls is not None:
            raise _nulls_twice(inside[end - 2])
        ignore_nulls = words[1] == "IGNORE"
        inside = (*inside[: end - 2], *inside[end:])
    return inside, ignore_nulls


def _nulls_twice(token: Token) -> PanesError:
    return PanesError("parse-error", "IGNORE or RESPECT NULLS is given twice", token.span)
