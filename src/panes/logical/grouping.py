"""After grouping, only keys, bounds and aggregates are left: put the keys' columns in, refuse the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from panes.errors import PanesError
from panes.logical.plan import Field
from panes.sql.expr import Expr
from panes.sql.text import key_of
from panes.sql.tokens import Token, name_token, parenthesised, span_of


def bare(expr: Expr) -> Expr:
    """The expression without parentheses around all of it: `GROUP BY (upper(k))` groups by `upper(k)`."""
    while isinstance(expr.tree, exp.Paren) and len(expr.tokens) > 2:
        expr = Expr(expr.tokens[1:-1])
    return expr


def put_keys(expr: Expr, keys: Sequence[Field]) -> Expr:
    """The expression with the column of each key in the place of the key's expression.

    With `upper(k)` grouped as col_2, `upper(k) || 'x'` becomes `col_2 || 'x'`.
    """
    words = set(expr.folded)
    for key in keys:
        if key.expr.column is None and words.issuperset(key.expr.folded):
            expr = _put_key(expr, key)
            words = set(expr.folded)
    return expr


def _put_key(expr: Expr, key: Field) -> Expr:
    wanted = list(key.expr.folded)
    width = len(wanted)
    folded = list(expr.folded)
    index = 0
    while index + width <= len(folded):
        if folded[index : index + width] == wanted and _reads_alike(expr, index, key.expr):
            new = [name_token(key.name, span_of(expr.tokens[index : index + width]))]
            expr = expr.replace({(index, index + width - 1): new})
            folded[index : index + width] = [key_of(new)]
        index += 1
    return expr


def _reads_alike(expr: Expr, index: int, key: Expr) -> bool:
    """Whether the tokens there are the key: not where a name is a lambda's parameter, or the field of a struct."""
    columns = {ref.first for ref in expr.columns}
    return all(index + ref.first in columns for ref in key.columns) and _is_subtree(expr, index, key)


def _is_subtree(expr: Expr, index: int, key: Expr) -> bool:
    """Whether the tokens there are an operand of their own: `a + b` is one in `(a + b) * c`, none in `a + b * c`.

    They are iff putting them in parentheses leaves the tree as it was, parentheses aside.
    """
    end = index + len(key.tokens)
    tokens: Sequence[Token] = (
        *expr.tokens[:index],
        *parenthesised(expr.tokens[index:end]),
        *expr.tokens[end:],
    )
    return _bare(Expr(tuple(tokens)).tree) == _bare(expr.tree)


def _bare(tree: exp.Expr) -> exp.Expr:
    return tree.transform(lambda node: node.unnest() if isinstance(node, exp.Paren) else node)


def check_grouped(expr: Expr, known: Collection[str]) -> None:
    """Refuse a column that is not grouped, no partition key of the window, not aggregated (`known`, in lower case)."""
    for ref in expr.columns:
        if ref.parts[0].lower() not in known:
            at = span_of(expr.tokens[ref.first : ref.last + 1])
            hint = f"Add {at.text} to GROUP BY, or take an aggregate of it such as last({at.text})."
            raise PanesError("column-not-grouped", f"{at.text} is neither grouped nor aggregated", at, hint)
