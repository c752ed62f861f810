"""Names after grouping: only keys, bounds and aggregates are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from panes.logical.grouping import check_grouped, put_keys
from panes.logical.plan import (
    Field,
)
from panes.logical.scope import Scope, resolve
from panes.sql.expr import Expr

MOST_QUERIES = 1_000


@dataclass(frozen=True)
class Grouped:
    """Names after grouping: keys, bounds and aggregates; keys by their expressions."""

    scope: Scope
    keys: tuple[Field, ...]
    computed: Sequence[str]
    aliases: Mapping[str, Expr]

    def resolve(self, expr: Expr) -> Expr:
        resolved = put_keys(resolve(expr, self._after), self.keys)
        check_grouped(resolved, self._known)
        return resolved

    @cached_property
    def _after(self) -> Scope:
        return self.scope.adding(self.computed).with_aliases(self.aliases)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(name.lower() for name in (*(key.name for key in self.keys), *self.computed))


@dataclass(frozen=True)
class GroupedScope(Scope):
    """The scope after an aggregation."""

    grouped: Grouped | None = None


def in_scope(expr: Expr, scope: Scope) -> Expr:
    """Resolve in a scope, grouped or not."""
    if isinstance(scope, GroupedScope) and scope.grouped is not None:
        return scope.grouped.resolve(expr)
    return resolve(expr, scope)
