"""What stands after OVER: partitions, order, frame, and the condition of stateful and sliding calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from panes import frames
from panes.errors import PanesError
from panes.frames import Edge, Unit
from panes.source import Span
from panes.sql.constants import MOST_ROWS, difference, is_null, least
from panes.sql.expr import Expr, number_expr
from panes.sql.tokens import Token, TokenType, closing, span_of, split, top_level


@dataclass(frozen=True)
class OrderKey:
    """One item of ORDER BY; NULLs come first when ascending and last when descending, as in Spark."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = True

    @property
    def sql(self) -> str:
        nulls = "" if self.nulls_first != self.descending else f" NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"{self.expr.sql}{' DESC' if self.descending else ''}{nulls}"


Bound: TypeAlias = frames.Bound[Expr]
Frame: TypeAlias = frames.Frame[Expr]

AROUND_ROW = tuple(Edge)
UNBOUNDED_PRECEDING = Bound(Edge.UNBOUNDED_PRECEDING)
CURRENT_ROW = Bound(Edge.CURRENT_ROW)
UNBOUNDED_FOLLOWING = Bound(Edge.UNBOUNDED_FOLLOWING)


@dataclass(frozen=True)
class Over:
    """An OVER clause as written; `name` refers to the WINDOW clause."""

    partition_by: tuple[Expr, ...] = ()
    order_by: tuple[OrderKey, ...] = ()
    frame: Frame | None = None
    when: Expr | None = None
    name: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    order_span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_empty(self) -> bool:
        return not (self.partition_by or self.order_by or self.frame or self.when or self.name)


def over_length(tokens: Sequence[Token], start: int) -> int:
    """How many tokens the OVER clause at `start` has; 0 if none is there."""
    if start + 1 >= len(tokens) or tokens[start].word != "OVER":
        return 0
    if tokens[start + 1].text == "(":
        return closing(tokens, start + 1) - start + 1
    return 2 if tokens[start + 1].is_name else 0


def names_window(token: Token) -> bool:
    """Whether the only token of an OVER is a name; `OVER (PARTITION BY)` is unfinished."""
    return token.is_name and token.word not in ("PARTITION BY", "ORDER BY", "WHEN")


def parse_over(tokens: Sequence[Token]) -> Over:
    """`OVER w`, `OVER (w)` or `OVER (…)`."""
    span = span_of(tokens)
    inside = tokens[1:] if tokens[1].text != "(" else tokens[2:-1]
    if len(inside) == 1 and names_window(inside[0]):
        return Over(name=inside[0].name, span=span)
    return parse_window_spec(inside, span)


_PARTS = {
    "PARTITION BY": "PARTITION BY",
    "ORDER BY": "ORDER BY",
    "ROWS": "frame",
    "RANGE": "frame",
    "WHEN": "WHEN",
}


def parse_window_spec(tokens: Sequence[Token], span: Span) -> Over:
    """`[PARTITION BY …] [ORDER BY …] [frame] [WHEN …]`, each at most once."""
    parts: dict[str, tuple[Token, ...]] = {}
    for part in _cut(tokens):
        name = _PARTS.get(part[0].word)
        if name is None:
            raise PanesError(
                "parse-error",
                f"{part[0].text} does not belong in OVER",
                part[0].span,
                "OVER ([PARTITION BY …] [ORDER BY …] [ROWS|RANGE …]), or OVER ([PARTITION BY …] [WHEN …]).",
            )
        if name in parts:
            raise PanesError("parse-error", f"{name} is given twice in one OVER", part[0].span)
        parts[name] = part
    for name in ("PARTITION BY", "ORDER BY", "WHEN"):
        if name in parts and len(parts[name]) == 1:
            raise PanesError("parse-error", f"nothing follows {name}", parts[name][0].span)
    order = parts.get("ORDER BY", ())
    return Over(
        partition_by=tuple(expr_list(parts.get("PARTITION BY", ())[1:])),
        order_by=tuple(_order_key(item) for item in split(order[1:], TokenType.COMMA)),
        frame=_frame(parts["frame"]) if "frame" in parts else None,
        when=Expr(parts["WHEN"][1:]) if "WHEN" in parts else None,
        span=span,
        order_span=span_of(order) if order else None,
    )


def order_keys(tokens: Sequence[Token]) -> tuple[OrderKey, ...]:
    """The keys of `ORDER BY …`, which is all that stands in WITHIN GROUP."""
    if not tokens or tokens[0].word != "ORDER BY" or len(tokens) == 1:
        at = tokens[0].span if tokens else None
        raise PanesError("parse-error", "WITHIN GROUP is written (ORDER BY key, …)", at)
    return tuple(_order_key(item) for item in split(tokens[1:], TokenType.COMMA))


def expr_list(tokens: Sequence[Token]) -> list[Expr]:
    """Expressions between commas."""
    parts = split(tokens, TokenType.COMMA)
    for index, part in enumerate(parts):
        if not part:
            near = parts[index - 1][-1] if index else tokens[0]
            raise PanesError("parse-error", "an expression is missing at a comma", near.span)
    return [Expr(part) for part in parts]


def _cut(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    if not tokens:
        return []
    starts = []
    case = 0
    for index in top_level(tokens):
        word = tokens[index].word
        case += (word == "CASE") - (word == "END")
        if index == 0 or (case <= 0 and word in _PARTS and not _is_column(tokens, index)):
            starts.append(index)
    return [tuple(tokens[a:b]) for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)]


def _is_column(tokens: Sequence[Token], index: int) -> bool:
    """Whether ROWS or RANGE at this place is a column of that name."""
    if tokens[index].word not in ("ROWS", "RANGE"):
        return False
    before, after = tokens[index - 1], [token.word for token in tokens[index + 1 : index + 2]]
    if before.word in ("PARTITION BY", "ORDER BY") or before.text == ",":
        return True
    return after in ([], ["ASC"], ["DESC"])


def _order_key(tokens: tuple[Token, ...]) -> OrderKey:
    if not tokens:
        raise PanesError("parse-error", "an expression is missing in ORDER BY")
    words = [token.word for token in tokens]
    nulls_first: bool | None = None
    if words[-2:] in (["NULLS", "FIRST"], ["NULLS", "LAST"]):
        nulls_first = words[-1] == "FIRST"
        tokens, words = tokens[:-2], words[:-2]
    descending = bool(words) and words[-1] == "DESC" and len(words) > 1
    if len(words) > 1 and words[-1] in ("ASC", "DESC"):
        tokens = tokens[:-1]
    if not tokens:
        raise PanesError("parse-error", "an expression is missing in ORDER BY")
    return OrderKey(Expr(tokens), descending, not descending if nulls_first is None else nulls_first)


def _frame(tokens: tuple[Token, ...]) -> Frame:
    unit = Unit[tokens[0].word]
    rest = tokens[1:]
    span = span_of(tokens)
    if rest and rest[0].word == "BETWEEN":
        ands = [index for index in top_level(rest) if rest[index].word == "AND"]
        if len(ands) != 1:
            raise PanesError("parse-error", "a frame is written BETWEEN … AND …", span)
        start, end = _bound(rest[1 : ands[0]], span, unit), _bound(rest[ands[0] + 1 :], span, unit)
    else:
        start, end = _bound(rest, span, unit), CURRENT_ROW
    if start.edge is Edge.UNBOUNDED_FOLLOWING or end.edge is Edge.UNBOUNDED_PRECEDING or _reversed(start, end):
        raise PanesError("over-arguments", "the frame ends before it starts", span)
    return Frame(unit, start, end, span)


def _reversed(start: Bound, end: Bound) -> bool:
    if start.edge is not end.edge:
        return AROUND_ROW.index(start.edge) > AROUND_ROW.index(end.edge)
    near, far = (end, start) if start.edge is Edge.PRECEDING else (start, end)
    known = [bound.offset.constant if bound.offset is not None else None for bound in (far, near)]
    if known[0] is None or known[1] is None:
        return False
    between = difference(known[0], known[1])
    return between is not None and least(between) < 0


def _bound(tokens: Sequence[Token], span: Span, unit: Unit) -> Bound:
    words = [token.word for token in tokens]
    match words:
        case ["UNBOUNDED", "PRECEDING"]:
            return UNBOUNDED_PRECEDING
        case ["UNBOUNDED", "FOLLOWING"]:
            return UNBOUNDED_FOLLOWING
        case ["CURRENT", "ROW"] | ["CURRENT ROW"]:
            return CURRENT_ROW
        case [*_, "PRECEDING" | "FOLLOWING" as direction] if len(words) > 1:
            return Bound(Edge[direction], _offset(Expr(tuple(tokens[:-1])), unit))
    raise PanesError(
        "parse-error",
        "this is not a bound of a frame",
        span_of(tokens) if tokens else span,
        "UNBOUNDED PRECEDING, n PRECEDING, CURRENT ROW, n FOLLOWING or UNBOUNDED FOLLOWING.",
    )


def _offset(offset: Expr, unit: Unit) -> Expr:
    """A constant that is not negative; of a ROWS frame a number of rows."""
    value = offset.constant
    if unit is Unit.ROWS:
        if not isinstance(value, int) or value < 0:
            message = "the offset of a ROWS frame is a constant number of rows"
            hint = "Write an integer, 0 or more, or RANGE for a distance in values or time."
            raise PanesError("over-arguments", message, offset.span, hint)
        if value > MOST_ROWS:
            raise PanesError("over-arguments", f"a ROWS frame reaches at most {MOST_ROWS} rows", offset.span)
        return number_expr(value, offset.span)
    if offset.columns:
        raise PanesError("over-arguments", "the offset of a RANGE frame is a constant", offset.span)
    if is_null(offset.tree) or (value is not None and least(value) < 0):
        hint = "A distance is 0 or more: PRECEDING and FOLLOWING say its direction."
        raise PanesError("over-arguments", "the offset of a RANGE frame is NULL or negative", offset.span, hint)
    return offset
