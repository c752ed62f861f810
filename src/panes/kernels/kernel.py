"""What an operator is to the Spark shell: a pure function (state, batch, clock) → (state, rows)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa


@dataclass(frozen=True)
class Clock:
    """`watermark` in microseconds, None before the first row; `flush` at the end of the input."""

    watermark: int | None = None
    flush: bool = False


@dataclass(frozen=True)
class Chunk:
    """A piece of state. `low` and `high` tell what it covers without loading it; `load` reads it."""

    id: str
    rows: int
    low: int
    high: int
    load: Callable[[], pa.Table] = field(compare=False, repr=False)


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


class Kernel(Protocol):
    """One operator. `pack` runs where the rows are, `step` where the state is; both take picklable specs."""

    def pack(self, rows: pa.Table) -> pa.Table:
        """Reduce rows of one source partition before they are shuffled."""

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Take a micro-batch in and give out what falls due."""
