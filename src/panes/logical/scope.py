"""What names mean at a place in a query: columns of the input, placeholders, and aliases of the SELECT list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from panes.errors import PanesError, suggestion
from panes.logical.plan import Plan
from panes.logical.traits import Traits, traits
from panes.sql.calls import Call
from panes.sql.expr import ColumnRef, Expr
from panes.sql.over import Over
from panes.sql.tokens import Token, parenthesised, span_of


@dataclass(frozen=True)
class Scope:
    """The columns of one relation; `computed` are placeholders, `aliases` what else a name may stand for."""

    traits: Traits
    alias: str | None = None
    computed: frozenset[str] = frozenset()
    aliases: Mapping[str, Expr] = field(default_factory=dict)

    def adding(self, names: Sequence[str]) -> Scope:
        return replace(self, computed=self.computed | set(names))

    def with_aliases(self, aliases: Mapping[str, Expr]) -> Scope:
        return replace(self, aliases=aliases)

    def visible(self) -> list[str]:
        """The columns that `*` stands for."""
        return list(self.traits.visible)

    def count(self, name: str) -> int:
        return self.traits.counts[name.lower()]

    def type_of(self, name: str) -> str | None:
        return self.traits.type_of(name)


def scope_of(plan: Plan, alias: str | None) -> Scope:
    return Scope(traits(plan), alias)


LONGEST = 30_000  # tokens: `a + a AS b, b + b AS c, …` doubles with every alias


def resolve(expr: Expr, scope: Scope) -> Expr:
    """The expression with every name known: qualifiers stripped, aliases of the SELECT list written out."""
    found: dict[tuple[int, int], Sequence[Token]] = {}
    for ref in expr.columns:
        change = _resolve_ref(expr, ref, scope)
        if change is not None:
            found[change[0]] = change[1]
    if sum(map(len, found.values())) > LONGEST:
        raise too_long(expr)
    return expr.replace(found)


def too_long(expr: Expr) -> PanesError:
    hint = "Compute what they stand for in a sub-query."
    return PanesError("unsupported-clause", "with its aliases written out this is too long", expr.span, hint)


def _resolve_ref(expr: Expr, ref: ColumnRef, scope: Scope) -> tuple[tuple[int, int], Sequence[Token]] | None:
    first = ref.parts[0].lower()
    if scope.alias is not None and first == scope.alias.lower() and len(ref.parts) > 1:
        if scope.traits.columns is None or scope.count(ref.parts[1]) or ref.parts[1].lower() in scope.computed:
            _refuse_ambiguous(expr, ref, ref.parts[1], scope)
            expr.refuse_hidden(ref, Expr((expr.tokens[ref.first + 2],)))
            return (ref.first, ref.first + 1), ()  # s.a → a
        if not scope.count(first):
            raise _unknown(expr, ref, ref.parts[1], scope)
    if first in scope.computed or scope.traits.columns is None:
        return None
    if scope.count(first):
        _refuse_ambiguous(expr, ref, first, scope)
        return None
    if first in scope.aliases:
        expr.refuse_hidden(ref, scope.aliases[first])
        tokens = scope.aliases[first].tokens
        return (ref.first, ref.first), tokens if len(expr.tokens) == 1 else parenthesised(tokens)
    raise _unknown(expr, ref, ref.parts[0], scope)


def _refuse_ambiguous(expr: Expr, ref: ColumnRef, name: str, scope: Scope) -> None:
    if scope.count(name) > 1:
        at = span_of(expr.tokens[ref.first : ref.last + 1])
        raise PanesError("ambiguous-column", f"two columns are called {name}", at, "Give them names with AS.")


def _unknown(expr: Expr, ref: ColumnRef, name: str, scope: Scope) -> PanesError:
    at = span_of(expr.tokens[ref.first : ref.last + 1])
    hint = suggestion(name, [*scope.visible(), *scope.aliases])
    return PanesError("unknown-column", f"there is no column {name}", at, hint)


def resolve_call(call: Call, scope: Scope) -> Call:
    """A call with everything inside it resolved."""
    over = call.over
    if over is not None:
        over = Over(
            partition_by=tuple(resolve(expr, scope) for expr in over.partition_by),
            order_by=tuple(replace(key, expr=resolve(key.expr, scope)) for key in over.order_by),
            frame=over.frame,
            when=resolve(over.when, scope) if over.when is not None else None,
            span=over.span,
            order_span=over.order_span,
        )
    return replace(
        call,
        args=tuple(resolve(arg, scope) for arg in call.args),
        filter=resolve(call.filter, scope) if call.filter is not None else None,
        over=over,
    )
