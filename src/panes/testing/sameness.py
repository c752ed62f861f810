"""When two results are the same: as multisets of rows, floating-point numbers to 1e-9."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from panes.kernels.changelog.changes import BEFORE, CHANGE, DELETE

Row = dict[str, Any]


def table_of(rows: Iterable[Row]) -> list[Row]:
    """What rows add up to; those of a changelog are inserted and deleted as their change type says.

    >>> table_of(
    ...     [{"_change_type": "insert", "n": 1}, {"_change_type": "delete", "n": 1}, {"_change_type": "insert", "n": 2}]
    ... )
    [{'n': 2}]
    """
    kept: list[Row] = []
    for row in rows:
        values = {name: value for name, value in row.items() if name != CHANGE}
        if row.get(CHANGE) not in (DELETE, BEFORE):
            kept.append(values)
            continue
        at = next((at for at, one in enumerate(kept) if same(one, values)), None)
        if at is None:
            raise ValueError(f"{row[CHANGE]} of a row that is not there: {values}")
        kept.pop(at)
    return kept


def same(left: Any, right: Any) -> bool:
    """Equal: NaN to itself, floating-point numbers to 1e-9.

    >>> same(0.1 + 0.2, 0.3), same(float("nan"), float("nan")), same(1, True)
    (True, True, False)
    """
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, float) and isinstance(right, int | float | Decimal):
        other = float(right)
        return (left != left and other != other) or math.isclose(left, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)


def only_in_either(left: Sequence[Any], right: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What only one of two multisets has, each in its order.

    >>> only_in_either([1, 2, 2], [2, 3])
    ([1, 2], [3])
    """
    rest = list(right)
    only: list[Any] = []
    for one in left:
        at = next((at for at, other in enumerate(rest) if same(one, other)), None)
        if at is None:
            only.append(one)
        else:
            rest.pop(at)
    return only, rest
