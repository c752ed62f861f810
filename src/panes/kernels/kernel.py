"""What an operator is to the Spark shell: a pure function (state, batch, clock) → (state, rows)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, Protocol, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

SHARD = "panes_shard"


@dataclass(frozen=True)
class Clock:
    """`watermark` in microseconds, None before the first row; `flush` at the end of the input.

    On the way to a flush rows are released as if the watermark moved on, but state that it leaves behind has not
    expired: then `expires` is False.
    """

    watermark: int | None = None
    flush: bool = False
    expires: bool = True


@dataclass(frozen=True)
class Chunk:
    """A piece of state. `low` and `high` tell what it covers without loading it; `load` reads it.

    Its id is a number that a shard gives once, and what it holds never changes; but an operator that is done with its
    first rows may say so with a higher `low` and fewer `rows`. One that keeps several kinds of table tells them apart
    by `kind`.
    """

    id: str
    rows: int
    low: int
    high: int
    load: Callable[[], pa.Table] = field(compare=False, repr=False)
    kind: str = ""
    bytes: int = field(default=0, compare=False)  # about: as a table in memory, or as it was written


@dataclass(frozen=True)
class State:
    """The state of a shard: chunks, and a few facts of the kernel that JSON can hold.

    `next_chunk` is the number of the next new chunk; `run_step` keeps it.
    """

    chunks: tuple[Chunk, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    next_chunk: int = 0


class Counters(TypedDict, total=False):
    """What a step counts: rows of the micro-batch, and gauges of what the shard has after it. What is left out is 0."""

    rows_out: int
    late_rows: int
    expired_rows: int
    stale_rows: int
    inconsistent_rows: int
    no_window_rows: int
    rows_recomputed: int
    unchanged_rows: int
    blocks_read: int
    open_windows: int
    oldest_open_window: int | None
    buffered_rows: int
    groups: int


@dataclass(frozen=True)
class Step:
    """What a step gives: the new state, the rows that come out, counters and gauges, and when to be called again.

    Where many more rows may come out than came in, they are not in `rows` but in `pieces`, after them: tables that are
    made one by one, as they are asked for. Whoever asks counts them: `rows_out` has those in `rows`.

    `late` has the late rows, where somebody asks for them: see `LateRows`.
    """

    state: State
    rows: pa.Table | None = None
    counters: Counters = field(default_factory=Counters)
    wake: int | None = None
    pieces: Iterable[pa.Table] = ()
    late: pa.Table | None = None

    def tables(self) -> Iterator[pa.Table]:
        """All rows that come out, in order; no table is empty."""
        every = self.pieces if self.rows is None else chain([self.rows], self.pieces)
        return (table for table in every if table.num_rows)


_numbers: ContextVar[Iterator[int]] = ContextVar("the numbers of the chunks that a step makes")


@contextmanager
def numbered_chunks(first: int = 0) -> Iterator[Iterator[int]]:
    """Here `new_chunk` numbers chunks from `first` on; the next number can be asked for."""
    numbers = count(first)
    token = _numbers.set(numbers)
    try:
        yield numbers
    finally:
        _numbers.reset(token)


def new_chunk(table: pa.Table, by: str | None = None, kind: str = "") -> Chunk:
    """A chunk of a table, with what it covers in the column `by`; only where `numbered_chunks` is in force."""
    ends = pc.min_max(table[by].cast(pa.int64())).as_py() if by is not None else {"min": 0, "max": 0}
    number = str(next(_numbers.get()))
    return Chunk(number, table.num_rows, ends["min"], ends["max"], lambda: table, kind, table.nbytes)


def seconds(microseconds: int | None) -> str | None:
    """A length of time, exactly.

    >>> seconds(10_000_000), seconds(1_500), seconds(None)
    ('10 s', '0.0015 s', None)
    """
    if microseconds is None:
        return None
    whole, rest = divmod(microseconds, 1_000_000)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".") + " s"


class Kernel(Protocol):
    """One operator. `pack` runs where the rows are, `step` where the state is; both take picklable specs."""

    def depends_on(self) -> Mapping[str, Any]:
        """What its state depends on, as JSON: the version of its layout, lengths, and columns by name.

        Not what calls and rows there are: those are columns, of which the state may have more than are asked for.
        """

    def pack(self, rows: pa.Table) -> pa.Table:
        """Reduce rows of one source partition before they are shuffled.

        They may be rows of several shards, which the column SHARD tells apart; it stays. Rows that are in no window
        may be left out: whoever calls counts them with `left_out`.
        """

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Take a micro-batch in and give out what falls due."""


def run_step(kernel: Kernel, state: State, batch: pa.Table | None, clock: Clock) -> Step:
    """A step of a kernel. Chunks are numbered in the order in which they are made, on from those of the state.

    So two attempts of a task leave the same state, ids included: Spark takes them as interchangeable, and may go on
    from what one has in memory after the other has written the files.
    """
    with numbered_chunks(state.next_chunk) as numbers:
        step = kernel.step(state, batch, clock)
    number = next(numbers)
    return step if step.state.next_chunk == number else replace(step, state=replace(step.state, next_chunk=number))
