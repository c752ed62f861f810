"""The canonical text of an expression reads as the same expression, with the same columns."""

from __future__ import annotations

from random import Random

import pytest

from panes.errors import PanesError
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize

from .grammar import Grammar
from .law import check_round_trip

SEED = 1


@pytest.mark.parametrize("number", range(300))
def test_round_trip(number: int) -> None:
    grammar = Grammar(Random(f"{SEED}/{number}"))
    written = Expr(tokenize(Source(grammar.any_of((grammar.value(4), grammar.condition(4))))))
    check_round_trip(written)
    again = Expr(tokenize(Source(written.sql)))
    try:
        columns = written.columns
    except PanesError:
        return
    assert again.columns == columns
    assert again.tree == written.tree
