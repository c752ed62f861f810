"""What only one of two results has: the stream's and the batch's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from panes.kernels.changelog.changes import BEFORE, CHANGE, DELETE

Result: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """A result beside the batch's: rows that only the stream has, and that only the batch has."""

    what: str  # how the stream was run, in words
    rows: int  # of the batch
    only_stream: tuple[Result, ...]
    only_batch: tuple[Result, ...]
    left_out: int = 0  # late rows, which the batch was not given

    @property
    def same(self) -> bool:
        return not self.only_stream and not self.only_batch


def compared(what: str, stream: Iterable[Result], batch: Iterable[Result], left_out: int = 0) -> Comparison:
    """Both as multisets; of a changelog what its changes add up to."""
    wanted = list(batch)
    only_stream, only_batch = only_in_either(table_of(stream), wanted)
    return Comparison(what, len(wanted), tuple(only_stream), tuple(only_batch), left_out)


def table_of(rows: Iterable[Result]) -> list[Result]:
    """What rows add up to.

    >>> table_of([{"_change_type": "insert", "n": 1}, {"_change_type": "delete", "n": 1}, {"n": 2}])
    [{'n': 2}]
    """
    kept: list[Result] = []
    for row in rows:
        values = {name: value for name, value in row.items() if name != CHANGE}
        if row.get(CHANGE) not in (DELETE, BEFORE):
            kept.append(values)
            continue
        at = next((at for at, one in enumerate(kept) if same(one, values)), None)
        if at is None:
            kept.append(row)  # shown as it is: nothing in the batch is like it
        else:
            kept.pop(at)
    return kept


def only_in_either(left: Sequence[Result], right: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """What only one of two multisets has, each in its order.

    >>> only_in_either([{"n": 1}, {"n": 2}, {"n": 2}], [{"n": 2}, {"n": 3}])
    ([{'n': 1}, {'n': 2}], [{'n': 3}])
    """
    rest = list(right)
    only: list[Result] = []
    for one in left:
        at = next((at for at, other in enumerate(rest) if same(one, other)), None)
        if at is None:
            only.append(one)
        else:
            rest.pop(at)
    return only, rest


def same(left: Any, right: Any) -> bool:
    """Equal: NaN to itself, floating-point numbers to 1e-9.

    >>> same({"a": 0.1 + 0.2}, {"a": 0.3}), same([float("nan")], [float("nan")]), same(1, True)
    (True, True, False)
    """
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, float) and isinstance(right, int | float | Decimal):
        other = float(right)
        return (left != left and other != other) or math.isclose(left, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)
