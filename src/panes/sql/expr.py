"""A scalar expression: its tokens are Spark's to evaluate, its columns are ours to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp
from sqlglot.errors import ParseError

from panes.errors import PanesError
from panes.source import Span
from panes.sql.constants import Constant, fold
from panes.sql.text import key_of, text_of
from panes.sql.tokens import SPARK, RawToken, Token, TokenType, mark, name_token, parenthesised, span_of


@dataclass(frozen=True)
class ColumnRef:
    """A column that an expression reads: `s.a.b` has the parts s, a, b at the tokens `first` to `last`.

    `hidden` are the names that mean parameters of lambdas there, in lower case.
    """

    parts: tuple[str, ...]
    first: int
    last: int
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Expr:
    """A scalar expression, equal to every other that Spark reads alike, wherever it was written.

    Spark gets the text the user wrote (`sql`), never a text regenerated from a tree: regenerating is lossy
    (sqlglot 30 turns `to_char(x, '99')` into `CAST(x AS STRING)`). The tree only tells what Panes must know.
    """

    tokens: tuple[Token, ...]

    @cached_property
    def sql(self) -> str:
        return text_of(self.tokens)

    @cached_property
    def key(self) -> str:
        return key_of(self.tokens)

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """Each token as it counts in `key`."""
        return tuple(key_of([token]) for token in self.tokens)

    @property
    def span(self) -> Span:
        return span_of(self.tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Expr({self.sql})"

    @cached_property
    def tree(self) -> exp.Expr:
        """The sqlglot tree; the positions of its leaves are indices into `tokens`."""
        return parse_tree(self.tokens)

    @cached_property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns it reads, in order; lambda parameters and struct fields are none."""
        if len(self.tokens) == 1 and self.tokens[0].kind in (TokenType.VAR, TokenType.IDENTIFIER):
            found = [self.tree] if isinstance(self.tree, exp.Column) else []
        else:
            found = list(self.tree.find_all(exp.Column))
        if isinstance(self.tree, exp.Alias | exp.Aliases):
            raise PanesError("parse-error", "an expression has a name only in the SELECT list", self.span)
        lambdas = any(token.kind == TokenType.ARROW for token in self.tokens)
        refs = {ref.first: ref for ref in (_column_ref(one, lambdas) for one in found) if ref is not None}
        return tuple(refs[first] for first in sorted(refs))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The first part of each column, lower case, once each."""
        return tuple(dict.fromkeys(ref.parts[0].lower() for ref in self.columns))

    @property
    def column(self) -> str | None:
        """The name, if the whole expression is one unqualified column."""
        match self.columns:
            case (ColumnRef(parts=(name,), first=0),) if len(self.tokens) == 1:
                return name
        return None

    @property
    def unsigned(self) -> int | None:
        """The value, if the expression is an unsigned integer literal of at most 19 digits, as 64 bits hold."""
        match self.tokens:
            case (Token(kind=TokenType.NUMBER, text=text),) if text.isdecimal() and text.isascii() and len(text) < 20:
                return int(text)
        return None

    @cached_property
    def constant(self) -> Constant | None:
        """The value, if the expression is a constant that can be computed without Spark."""
        return None if self.columns else fold(self.tree)

    @property
    def string(self) -> str | None:
        """The value, if the expression is a string literal."""
        match self.tokens:
            case (Token(kind=TokenType.STRING, raw=(raw,)),):
                return raw.text
        return None

    @property
    def boolean(self) -> bool | None:
        """The value, if the expression is TRUE or FALSE."""
        match self.tokens:
            case (Token() as token,) if token.word in ("TRUE", "FALSE"):
                return token.word == "TRUE"
        return None

    @property
    def named(self) -> tuple[str, Expr] | None:
        """The name, in lower case, and the value, if the expression is an argument `name => value`."""
        match self.tokens:
            case (Token(is_name=True) as name, Token(kind=TokenType.FARROW), *value):
                return name.name.lower(), Expr(tuple(value))
        return None

    def replace(self, replacements: Mapping[tuple[int, int], Sequence[Token]]) -> Expr:
        """Other tokens for the given ranges `first..last` of token indices."""
        if not replacements:
            return self
        tokens: list[Token] = []
        position = 0
        for (first, last), new in sorted(replacements.items(), key=lambda item: item[0]):
            tokens += [*self.tokens[position:first], *new]
            position = last + 1
        return Expr((*tokens, *self.tokens[position:]))

    def substitute(self, expressions: Mapping[str, Expr]) -> Expr:
        """Other expressions for columns, by lower-case name; fields of a substituted struct stay on it."""
        found: dict[tuple[int, int], Sequence[Token]] = {}
        for ref in self.columns:
            new = expressions.get(ref.parts[0].lower())
            if new is not None:
                self.refuse_hidden(ref, new)
                found[ref.first, ref.first] = parenthesised(new.tokens)
        return self.replace(found)

    def refuse_hidden(self, ref: ColumnRef, new: Expr) -> None:
        """Refuse to put a column where a lambda has a parameter of that name."""
        for name in new.column_names:
            if name in ref.hidden:
                at = span_of(self.tokens[ref.first : ref.last + 1])
                message = f"{at.text} reads the column {name}, and {name} is a parameter of the lambda around it"
                raise PanesError("ambiguous-column", message, at, "Give the parameter another name.")


def column_expr(name: str, span: Span) -> Expr:
    """A column that Panes refers to."""
    return Expr((name_token(name, span),))


def number_expr(number: int, span: Span) -> Expr:
    """A number that Panes has computed, standing where `span` was written."""
    return Expr((mark(str(number), TokenType.NUMBER, span),))


def conjunction(parts: Sequence[Expr]) -> Expr:
    """`parts` joined with AND."""
    if len(parts) == 1:
        return parts[0]
    tokens: list[Token] = []
    for part in parts:
        if tokens:
            tokens.append(mark("AND", TokenType.AND, part.span))
        tokens += parenthesised(part.tokens) if _loose(part) else part.tokens
    return Expr(tuple(tokens))


def _loose(part: Expr) -> bool:
    return isinstance(part.tree, exp.Or | exp.Xor | exp.Alias | exp.Lambda)


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of `a AND b AND c`, also inside parentheses.

    The AND of a BETWEEN is not one of them: the cut is taken only where the tree has the same number of parts.
    """
    tokens = condition.tokens
    tree = condition.tree
    while isinstance(tree, exp.Paren) and len(tokens) > 2:
        tokens, tree = tokens[1:-1], tree.this
    if not isinstance(tree, exp.And):
        return (Expr(tokens),) if tokens else (condition,)
    parts: list[Expr] = []
    for part in _cut_at_and(tokens):
        parts += conjuncts(Expr(part))
    return tuple(parts)


def _cut_at_and(tokens: Sequence[Token]) -> Iterable[tuple[Token, ...]]:
    part: list[Token] = []
    depth = betweens = cases = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0:
            betweens += token.word == "BETWEEN"
            cases += (token.word == "CASE") - (token.word == "END")
            if token.word == "AND" and cases <= 0:
                if not betweens:
                    yield tuple(part)
                    part = []
                    continue
                betweens -= 1
        part.append(token)
    yield tuple(part)


def parse_tree(tokens: Sequence[Token]) -> exp.Expr:
    """Parse one expression with sqlglot's Spark grammar."""
    raws = indexed(tokens)
    try:
        trees = SPARK.parser().parse_into(exp.Expr, raws, " " * len(tokens))
    except ParseError as error:
        raise syntax_error(tokens, error) from error
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # a crash of the parser on odd input is a parse error to the user
        raise PanesError("parse-error", "this is not an expression", span_of(tokens)) from error
    if len(trees) != 1 or trees[0] is None:
        raise PanesError("parse-error", "this is not an expression", span_of(tokens))
    return trees[0]


def indexed(tokens: Sequence[Token]) -> list[RawToken]:
    """sqlglot's tokens, with token indices for positions."""
    return [
        RawToken(_kind(raw, tokens[index + 1 : index + 2]), raw.text, 1, index, index, index)
        for index, token in enumerate(tokens)
        for raw in token.raw
    ]


def _kind(raw: RawToken, after: Sequence[Token]) -> TokenType:
    """`window(ts, '1 day')` is Spark's function: sqlglot 30 takes it for a WINDOW clause after GROUP BY."""
    is_call = raw.token_type == TokenType.WINDOW and bool(after) and after[0].text == "("
    return TokenType.VAR if is_call else raw.token_type


def syntax_error(tokens: Sequence[Token], error: ParseError) -> PanesError:
    details = error.errors[0] if error.errors else {}
    index = details.get("col")
    what = str(details.get("description") or "this is not an expression")
    at = tokens[index].span if isinstance(index, int) and index < len(tokens) else span_of(tokens)
    return PanesError("parse-error", _plain(what), at)


def _plain(description: str) -> str:
    """sqlglot's words without its class names."""
    if "<class" in description:
        return "an operand is missing here"
    return description[:1].lower() + description[1:]


def _column_ref(column: exp.Expr, lambdas: bool) -> ColumnRef | None:
    if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
        return None
    identifiers = [part for part in column.parts if isinstance(part, exp.Identifier)]
    positions: list[int] = [part.meta["start"] for part in identifiers if "start" in part.meta]
    if not identifiers or len(positions) < len(identifiers):
        return None
    hidden = _parameters_around(column) if lambdas else frozenset()
    if identifiers[0].name.lower() in hidden:
        return None  # sqlglot knows parameters too, but not in another case
    return ColumnRef(tuple(part.name for part in identifiers), min(positions), max(positions), hidden)


def _parameters_around(node: exp.Expr) -> frozenset[str]:
    found: set[str] = set()
    while node.parent is not None:
        if isinstance(node.parent, exp.Lambda) and node.arg_key == "this":
            found |= {parameter.name.lower() for parameter in node.parent.expressions}
        node = node.parent
    return frozenset(found)
