"""What an operator is to the Spark shell: a pure function (state, batch, clock) → (state, rows)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Clock:
    """`watermark` in microseconds, None before the first row; `flush` at the end of the input."""

    watermark: int | None = None
    flush: bool = False


@dataclass(frozen=True)
class Chunk:
    """A piece of state. `low` and `high` tell what it covers without loading it; `load` reads it.

    An operator that keeps several kinds of table tells them apart by `kind`.
    """

    id: str
    rows: int
    low: int
    high: int
    load: Callable[[], pa.Table] = field(compare=False, repr=False)
    kind: str = ""


@dataclass(frozen=True)
class State:
    """The state of a shard: chunks, and a few facts of the kernel that JSON can hold."""

    chunks: tuple[Chunk, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What a step gives: the new state, the rows that come out, counters and gauges, and when to be called again."""

    state: State
    rows: pa.Table | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    wake: int | None = None


def new_chunk(table: pa.Table, by: str | None = None, kind: str = "") -> Chunk:
    """A chunk of a table, with what it covers in the column `by`."""
    ends = pc.min_max(table[by].cast(pa.int64())).as_py() if by is not None else {"min": 0, "max": 0}
    return Chunk(uuid.uuid4().hex, table.num_rows, ends["min"], ends["max"], lambda: table, kind)


class Kernel(Protocol):
    """One operator. `pack` runs where the rows are, `step` where the state is; both take picklable specs."""

    def pack(self, rows: pa.Table) -> pa.Table:
        """Reduce rows of one source partition before they are shuffled."""

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Take a micro-batch in and give out what falls due."""
