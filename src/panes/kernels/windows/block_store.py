"""Rows in blocks, in the order in which they came, with summaries of the blocks that many windows hold as a whole.

    [ block ][ block ][ block ][ block ][ block ]  new rows
        t0-lookback … t1-lookback                  t0 … t1
    |   rows one by one   |  one row a partition  |  rows   |

A micro-batch whose triggers lie between t0 and t1 needs the rows at the edges of their windows one by one. For the
blocks between, runs of 2^k blocks have a summary, which is made when it is first needed: a binary tree over the blocks,
so that a long lookback takes few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

import numpy as np
import pyarrow as pa

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.state.compaction import compacted
from panes.kernels.windows.starts import Times

SUMMARY = "summary"  # the kind of chunks that are summaries
BLOCK = 1 << 16  # rows; blocks that are smaller grow


@dataclass(frozen=True)
class Reach:
    """Triggers from `first` to `last`: their windows reach from `low` to `high`, and all of them hold what lies from
    `inner_low` to `inner_high`."""

    first: int
    last: int
    low: int
    high: int
    inner_low: int
    inner_high: int

    @staticmethod
    def of(triggers: Times, lookback: int, lookahead: int) -> Reach:
        first, last = int(triggers.min()), int(triggers.max())
        return Reach(first, last, first - lookback, last + lookahead, last - lookback, first + lookahead)

    def meets(self, chunk: Chunk) -> bool:
        return chunk.low <= self.high and chunk.high >= self.low

    def covers(self, chunk: Chunk) -> bool:
        return chunk.low >= self.inner_low and chunk.high <= self.inner_high

    def triggers(self, chunk: Chunk) -> bool:
        return chunk.low <= self.last and chunk.high >= self.first


@dataclass(frozen=True)
class Store:
    """Rows in blocks, in the order in which they came. Blocks of at least BLOCK rows stay as they are, and can have
    summaries; the smaller ones at the end are compacted as rows come, so that few remain.

    `first` is the number of the first block; a summary covers the numbers from its `low` to its `high`.
    """

    blocks: tuple[Chunk, ...] = ()
    summaries: tuple[Chunk, ...] = ()
    first: int = 0

    def since(self, oldest: int) -> Store:
        """Without the first blocks, as far as they are older."""
        passed = next((at for at, chunk in enumerate(self.blocks) if chunk.high >= oldest), len(self.blocks))
        first = self.first + sum(is_full(chunk) for chunk in self.blocks[:passed])
        summaries = tuple(chunk for chunk in self.summaries if chunk.low >= first)
        return Store(self.blocks[passed:], summaries, first)

    def summary(self, numbers: Sequence[int], grouping: Grouping) -> tuple[pa.Table, Store]:
        """Blocks as one row for each partition; summaries that had to be made are kept."""
        known = {(chunk.low, chunk.high): chunk for chunk in self.summaries}
        parts = [self._part(low, high, known, grouping) for low, high in runs(numbers)]
        return grouping.merge(parts), replace(self, summaries=tuple(known.values()))

    def _part(self, low: int, high: int, known: dict[tuple[int, int], Chunk], grouping: Grouping) -> pa.Table:
        if (low, high) in known:
            return known[low, high].load()
        if low == high:
            table = grouping.fold(self.blocks[low - self.first].load())
        else:
            middle = (low + high) // 2
            halves = [self._part(low, middle, known, grouping), self._part(middle + 1, high, known, grouping)]
            table = grouping.merge(halves)
        known[low, high] = replace(new_chunk(table, None, SUMMARY), low=low, high=high)
        return table


def is_full(block: Chunk) -> bool:
    """Whether a block stays as it is."""
    return block.rows >= BLOCK


def appended(blocks: Sequence[Chunk], rows: pa.Table, time: str, kind: str) -> tuple[Chunk, ...]:
    """With new rows: small blocks at the end are compacted with them, and what is big is cut into even blocks."""
    if not rows.num_rows:
        return tuple(blocks)
    small = sum(1 for _ in takewhile(lambda chunk: not is_full(chunk), reversed(blocks)))
    big, rest = tuple(blocks[: len(blocks) - small]), blocks[len(blocks) - small :]
    full = rows.num_rows + sum(chunk.rows for chunk in rest) >= BLOCK
    kept, tables = ((), [rows, *(chunk.load() for chunk in reversed(rest))]) if full else compacted(rest, rows)
    table = pa.concat_tables(tables[::-1], promote_options="permissive")
    count = table.num_rows
    ends = np.linspace(0, count, max(1, count // BLOCK) + 1).astype(int).tolist()
    return (*big, *kept, *(new_chunk(table.slice(start, end - start), time, kind) for start, end in pairwise(ends)))


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as ranges of 2^k numbers that start at a multiple of 2^k: few, and the same ones again.

    >>> list(runs([3, 4, 5, 6, 7, 8, 9, 10]))
    [(3, 3), (4, 7), (8, 9), (10, 10)]
    """
    at = 0
    while at < len(numbers):
        low, size = numbers[at], 1
        while low % (2 * size) == 0 and numbers[at : at + 2 * size][-1] == low + 2 * size - 1:
            size *= 2
        yield low, low + size - 1
        at += size
