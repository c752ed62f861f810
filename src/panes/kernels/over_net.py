"""What a micro-batch of a changelog does to the table in the end: rows that go, and rows that come.

    insert a · update a · delete b · insert b        the new a comes; b goes and comes

A change that does not fit, such as the delete of a row that is not there, is counted or fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from panes.errors import PanesError
from panes.kernels.changes import BEFORE, DELETE, INSERT
from panes.kernels.duck import joined, query, quoted, same
from panes.kernels.kernel import Chunk
from panes.kernels.key_index import KeyIndex


@dataclass(frozen=True)
class Net:
    """What a micro-batch does to the table: rows that go, by their sort columns, and rows that come."""

    removed: pa.Table
    inserted: pa.Table
    index: tuple[Chunk, ...]
    inconsistent: int = 0


@dataclass(frozen=True)
class Netting:
    """`index` tells which keys are there and where, `columns` are those of a row that are kept.

    `arrival` orders the changes of a micro-batch, after `sequence`.
    """

    index: KeyIndex
    columns: tuple[str, ...]
    change_type: str
    arrival: tuple[str, ...]
    sequence: str | None
    on_inconsistency: Literal["fail", "skip"]

    def net(self, chunks: Sequence[Chunk], batch: pa.Table) -> Net:
        """The net change, and the index after it."""
        names = self.index.columns
        directory = self.index.read(chunks)
        known = self.index.find(directory, batch.select(names))
        judged = self._judged(batch, known)
        bad = judged.filter(judged["is_bad"])
        if bad.num_rows and self.on_inconsistency == "fail":
            raise self._inconsistent(bad)
        last = self._last(judged)
        come, go = last.filter(pc.invert(last["deletes"])), last.filter(last["deletes"])
        index = self.index.put(
            directory,
            query(f"SELECT {_list(names)} FROM come EXCEPT SELECT {_list(names)} FROM known", come=come, known=known),
            go.filter(go["was_there"]).select(self.index.key),
        )
        return Net(joined(known, "SEMI", last, self.index.key), come.select(self.columns), index, bad.num_rows)

    def _order(self, sequence: str, deletes: str, arrival: str) -> str:
        parts = [f"{quoted(self.sequence)} {sequence}", f"deletes {deletes}"] if self.sequence is not None else []
        return ", ".join([*parts, *(f"{quoted(name)} {arrival}" for name in self.arrival)])

    def _judged(self, batch: pa.Table, known: pa.Table) -> pa.Table:
        """Each change with whether its key was there before the batch, and whether it does not fit.

        Whether a key is there follows from the change before: after a delete it is not, else it is.
        """
        change = quoted(self.change_type)
        keys, told = _list(self.index.key), same(self.index.key, "b", "k")
        return query(
            f"""
            WITH told AS (
                SELECT b.*, {change} IN ('{DELETE}', '{BEFORE}') AS deletes, k.is_known IS NOT NULL AS was_there
                FROM batch b LEFT JOIN (SELECT {keys}, true AS is_known FROM known) k ON {told}
            ), followed AS (
                SELECT *, NOT coalesce(lag(deletes) OVER (
                    PARTITION BY {keys} ORDER BY {self._order("ASC NULLS FIRST", "DESC", "ASC")}
                ), NOT was_there) AS is_there FROM told
            )
            SELECT *, CASE WHEN deletes THEN NOT is_there ELSE is_there AND {change} = '{INSERT}' END AS is_bad
            FROM followed
            """,
            batch=batch,
            known=known,
        )

    def _last(self, judged: pa.Table) -> pa.Table:
        """The change of each key that holds in the end."""
        order = self._order("DESC NULLS LAST", "ASC", "DESC")
        return query(
            f"SELECT * FROM judged WHERE NOT is_bad "
            f"QUALIFY row_number() OVER (PARTITION BY {_list(self.index.key)} ORDER BY {order}) = 1",
            judged=judged,
        )

    def _inconsistent(self, bad: pa.Table) -> PanesError:
        row = bad.sort_by([(name, "ascending") for name in self.arrival]).slice(0, 1).to_pylist()[0]
        key = ", ".join(f"{name} = {row[name]!r}" for name in self.index.key)
        text = "is not there" if row["deletes"] else "is there already"
        return PanesError(
            "inconsistent-change",
            f"{row[self.change_type]} of a row whose key {text}: {key}",
            hint="Set on_inconsistency = 'skip' to leave such changes out and count them.",
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in names)
