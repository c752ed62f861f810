"""What only one of two results has: the stream's and the batch's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from panes.kernels.changelog.changes import BEFORE, CHANGE, DELETE
from panes.testing.sameness import only_in_either, same

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
    """What rows add up to; a deletion of a row that is not there stays, to be shown.

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
