"""How many distinct values there are, about: HyperLogLog over hashes of 64 bits.

    hash        1011 00010111…        the first p bits are the number of a register,
                 11   4               the place of the first 1 behind them is its rank
    registers   [ 3 0 0 … 4 … 1 ]     each keeps the greatest rank that it has seen

While there are few hashes they are kept themselves: as many as take the room of the registers. Then the count is exact.
A sketch follows from the set of the hashes alone, so it is the same however they were cut into parts.

A state is a list of 64-bit numbers: hashes in ascending order, or a NULL and then the registers, eight in a number.
The count is estimated from the registers as in O. Ertl, "New cardinality estimation algorithms for HyperLogLog
sketches" (2017): without tables, for counts of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log2

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.sketches.lists import (
    Column,
    Lists,
    Mask,
    Places,
    changes,
    combined,
    list_array,
    so_far,
    sorted_places,
    starts,
)

Registers = npt.NDArray[np.uint8]  # a row for each state
Hashes = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


SPARKS_ERROR = 0.05  # where a call has none


def distinct(error: float | None) -> Distinct:
    """A sketch with a relative standard deviation of at most `error`.

    Its states may also be those of the first checkpoints: the 4,096 least hashes, or 1 / error^2 of them.
    """
    if error is None:
        return Distinct(precision(SPARKS_ERROR), 4096)
    return Distinct(precision(error), ceil(round(error**-2, 6)) + 2)


def precision(error: float) -> int:
    """The bits of a register's number for a relative standard deviation of at most `error`: as many as Spark takes.

    >>> precision(0.05), precision(0.39), precision(0.001)
    (9, 4, 21)
    """
    return ceil(2 * log2(1.106 / error))


@dataclass(frozen=True)
class Distinct:
    """`bits` is the precision. A state of the first checkpoints that has fewer than `least_kept` hashes has all."""

    bits: int
    least_kept: int

    @property
    def state_type(self) -> pa.DataType:
        return pa.list_(pa.int64())

    def sql(self, step: str, column: str) -> str:
        """A step as DuckDB calls it, over a column."""
        return f"distinct_{step}({column}, {self.bits}, {self.least_kept})"

    @property
    def registers(self) -> int:
        return 1 << self.bits

    @property
    def most_hashes(self) -> int:
        return self.registers // 8

    def fold(self, values: Column) -> pa.Array:
        """The state of each list of hashes."""
        lists = Lists.of(values)
        return self._states(lists.size, lists.number, lists.values.to_numpy(), np.zeros(0, np.int64), self._none)

    def merge(self, states: Column) -> pa.Array:
        """The state of each list of states."""
        outer = Lists.of(states)
        parts = self._parts(outer.values)
        group = outer.number
        return self._states(
            outer.size, group[parts.hashed], parts.hashes, group[np.flatnonzero(parts.dense)], parts.registers
        )

    def evaluate(self, states: Column) -> pa.Array:
        """The count of each state."""
        parts = self._parts(combined(states))
        found = np.bincount(parts.hashed, minlength=len(parts.dense))
        many = found > self.most_hashes
        if many.any():  # of an old checkpoint
            return self.evaluate(self._states(len(found), parts.hashed, parts.hashes, *self._numbered(parts)))
        found[parts.dense] = self._estimates(self._sums(parts.registers))
        return pa.array(found)

    def running(self, values: Column, segment: Places, before: Column) -> pa.Array:
        """At each row the count of its segment's hashes up to it, with what was before; NULLs do not count.

        Segments are numbered from 0, and their rows stand together; `before` has a state for each.
        """
        column = combined(values)
        places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        parts = self._parts(combined(before))
        first = self._first_seen(parts, segment[places], column.drop_null().to_numpy(), places)
        seen = np.bincount(parts.hashed, minlength=len(parts.dense))
        count = so_far(np.bincount(first.place[first.is_row], minlength=len(segment)), segment, seen)
        dense = parts.dense[segment] | (count > self.most_hashes)
        if dense.any():
            sums = self._running_sums(parts, first, segment).where(dense)
            new = changes(sums.zero, sums.full, sums.weight.view(np.int64))
            count[dense] = self._estimates(sums.where(new))[new.cumsum() - 1]
        return pa.array(count)

    # ── States ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _none(self) -> Registers:
        return np.zeros((0, self.registers), np.uint8)

    def _parts(self, states: pa.Array) -> Parts:
        lists = Lists.of(states)
        marks = lists.values.is_null().to_numpy(zero_copy_only=False)
        numbers: Hashes = lists.values.fill_null(0).to_numpy()
        dense = np.zeros(lists.size, np.bool_)
        dense[lists.number[marks]] = True
        if (lists.counts[~dense] >= self.least_kept).any():
            raise ValueError(
                "approx_count_distinct cannot go on from this checkpoint: a sketch of an older version is full"
            )
        inside = dense[lists.number]
        words = numbers[inside].reshape(-1, 1 + self.registers // 8)[:, 1:]
        registers = np.ascontiguousarray(words).view(np.uint8).reshape(-1, self.registers)
        return Parts(lists.number[~inside], numbers[~inside], dense, registers)

    def _numbered(self, parts: Parts) -> tuple[Places, Registers]:
        return np.flatnonzero(parts.dense), parts.registers

    def _states(self, size: int, group: Places, hashes: Hashes, dense_group: Places, parts: Registers) -> pa.Array:
        """A state for each group, of hashes and of registers; both in the order of groups."""
        order = sorted_places(group, hashes)
        group, hashes = group[order], hashes[order]
        new = changes(group, hashes)
        group, hashes = group[new], hashes[new]
        counts = np.bincount(group, minlength=size)
        dense = counts > self.most_hashes
        dense[dense_group] = True
        registers = np.zeros((int(dense.sum()), self.registers), np.uint8)
        number = np.cumsum(dense) - 1
        if len(parts):
            heads = np.flatnonzero(changes(dense_group))
            registers[number[dense_group[heads]]] = np.maximum.reduceat(parts, heads, axis=0)
        inside = dense[group]
        at, ranks = self._places_and_ranks(hashes[inside])
        np.maximum.at(registers.reshape(-1), number[group[inside]] * self.registers + at, ranks)
        return _written(dense, np.where(dense, 0, counts), hashes[~inside], registers)

    def _places_and_ranks(self, hashes: Hashes) -> tuple[Places, Registers]:
        """The register of each hash, and its rank there: as Spark's `approx_count_distinct` has them."""
        bits, words = np.uint64(self.bits), hashes.view(np.uint64)
        rest = (words << bits) | np.uint64(1 << (self.bits - 1))
        rest &= ~(rest >> np.uint64(1))  # as a float the number would be rounded up to the next power of two
        ranks = (65 - np.frexp(rest.astype(np.float64))[1]).astype(np.uint8)
        return (words >> (np.uint64(64) - bits)).astype(np.int64), ranks

    # ── Estimates ─────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _weights(self) -> Words:
        """2^(q - rank) for each rank from 1 to q: whole numbers, whose sum does not depend on their order."""
        last = 64 - self.bits
        weights = [0, *(1 << (last - rank) for rank in range(1, last + 1)), 0]
        return np.array(weights, np.uint64)

    def _sums(self, registers: Registers) -> Sums:
        full = (registers == 65 - self.bits).sum(axis=1)
        return Sums((registers == 0).sum(axis=1), full, self._weights[registers].sum(axis=1, dtype=np.uint64))

    def _estimates(self, sums: Sums) -> Places:
        size, last = float(self.registers), 64 - self.bits
        rest = sums.weight.astype(np.float64) + size * _tau(1 - sums.full / size)
        found = size * size / (2 * log(2)) / (size * _sigma(sums.zero / size) + rest * 2.0**-last)
        return np.rint(found).astype(np.int64)

    # ── Running counts ────────────────────────────────────────────────────────────────────────────────────────────

    def _first_seen(self, parts: Parts, segment: Places, hashes: Hashes, places: Places) -> Seen:
        """Where each hash of a segment comes for the first time; those of the state before are at place -1."""
        segment = np.concatenate([parts.hashed, segment])
        place = np.concatenate([np.full(len(parts.hashed), -1), places])
        hashes = np.concatenate([parts.hashes, hashes])
        order = sorted_places(segment, hashes)  # of equals the first one first
        first = order[changes(segment[order], hashes[order])]
        first = np.sort(first)
        return Seen(segment[first], place[first], hashes[first])

    def _running_sums(self, parts: Parts, seen: Seen, segment: Places) -> Sums:
        """What registers add up to, at each row: only where a hash raises one it changes."""
        number, ranks = self._places_and_ranks(seen.hashes)
        old, at = np.nonzero(parts.registers)
        key = np.concatenate([np.flatnonzero(parts.dense)[old], seen.segment]) * self.registers
        key += np.concatenate([at, number])
        place = np.concatenate([np.full(len(old), -1), seen.place])
        rank = np.concatenate([parts.registers[old, at], ranks]).astype(np.int64)
        order = np.argsort(key, kind="stable")
        key, place, rank = key[order], place[order], rank[order]
        top = np.maximum.accumulate(changes(key).cumsum() * 128 + rank) % 128
        before = np.where(changes(key), 0, np.concatenate([[0], top[:-1]]))
        raised = top > before
        place, owner = place[raised], key[raised] // self.registers
        rank, before = rank[raised], before[raised]
        last = 65 - self.bits
        zero = _running_total(-(before == 0).astype(np.int64), place, owner, segment, len(parts.dense))
        full = _running_total((rank == last).astype(np.int64), place, owner, segment, len(parts.dense))
        weight = (self._weights[rank] - self._weights[before]).view(np.int64)
        weights = _running_total(weight, place, owner, segment, len(parts.dense)).view(np.uint64)
        return Sums(self.registers + zero, full, weights)


@dataclass(frozen=True)
class Parts:
    """States: which are registers, those registers, and the hashes of the others with the number of their state."""

    hashed: Places
    hashes: Hashes
    dense: Mask
    registers: Registers


@dataclass(frozen=True)
class Seen:
    segment: Places
    place: Places
    hashes: Hashes

    @property
    def is_row(self) -> Mask:
        found: Mask = self.place >= 0
        return found


@dataclass(frozen=True)
class Sums:
    """How many registers are 0, how many have the greatest rank, and the weights of the others added up."""

    zero: Places
    full: Places
    weight: Words

    def where(self, mask: Mask) -> Sums:
        return Sums(self.zero[mask], self.full[mask], self.weight[mask])


def _written(dense: Mask, counts: Places, hashes: Hashes, registers: Registers) -> pa.Array:
    """States as lists."""
    width = 1 + registers.shape[1] // 8
    sizes = np.where(dense, width, counts)
    inside = np.repeat(dense, sizes)
    numbers, marks = np.zeros(len(inside), np.int64), np.zeros(len(inside), np.bool_)
    numbers[~inside] = hashes
    words = np.zeros((len(registers), width), np.int64)
    words[:, 1:] = registers.view(np.int64)
    numbers[inside] = words.reshape(-1)
    marks[starts(sizes)[:-1][dense]] = True
    return list_array(pa.array(numbers, mask=marks), sizes)


def _running_total(amounts: Places, place: Places, owner: Places, segment: Places, count: int) -> Places:
    """Amounts at places of segments added up; those at place -1 are there before the first row. Sums may wrap."""
    rows, before = np.zeros(len(segment), np.int64), np.zeros(count, np.int64)
    is_row = place >= 0
    np.add.at(rows, place[is_row], amounts[is_row])
    np.add.at(before, owner[~is_row], amounts[~is_row])
    return so_far(rows, segment, before)


def _sigma(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """x + x^2 + 2 x^4 + 4 x^8 + …"""
    total, power = x.copy(), 1.0
    with np.errstate(under="ignore"):
        while True:
            x = x * x
            more = total + x * power
            if (more == total).all():
                return total
            total, power = more, 2 * power


def _tau(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(1 - x - (1 - x^(1/2))^2 / 2 - (1 - x^(1/4))^2 / 4 - …) / 3"""
    total, power = 1 - x, 1.0
    while True:
        x, power = np.sqrt(x), power / 2
        less = total - (1 - x) ** 2 * power
        if (less == total).all():
            return np.asarray(total / 3)
        total = less
