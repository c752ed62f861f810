"""Quantiles, about: values that agree in their leading bits count as one, once there are too many.

    values     1.00  1.25  1.26  7.5            few: each is kept, with how often it came
    buckets    [1.00: 1] [1.25: 2] [7.5: 1]     too many: those that agree but for the last bits become one

All doubles are cut at the same bit, the last at which there are no more than `size` buckets. Which that is follows from
the set of the values alone, and so does what is kept of a bucket: how many values it has, and the one nearest to zero,
which is the round one where there is one. So a sketch is the same however its values were cut into parts.

A quantile is found in the bucket that has its rank: it is off in rank by no more than the rows of that bucket, and in
value by no more than the bits that were cut off. While there are at most `size` distinct values it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.sketches.lists import (
    Column,
    Lists,
    Places,
    changes,
    combined,
    list_array,
    so_far,
    sorted_places,
    starts,
)
from panes.kernels.sketches.order_statistics import Asked, OrderStatistics

Doubles = npt.NDArray[np.float64]
STATE = pa.struct(
    [
        ("cut", pa.int64()),  # how many bits were cut off
        ("least", pa.float64()),
        ("most", pa.float64()),
        ("values", pa.list_(pa.float64())),
        ("counts", pa.list_(pa.int64())),
    ]
)
STATE_SQL = 'STRUCT(cut BIGINT, least DOUBLE, most DOUBLE, "values" DOUBLE[], counts BIGINT[])'
LEAST, GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Quantiles:
    """`size` is the most buckets; `points` are from 0 to 1."""

    size: int
    points: tuple[float, ...]

    @property
    def state_type(self) -> pa.DataType:
        return STATE

    def sql(self, step: str, column: str) -> str:
        """A step as DuckDB calls it, over a column."""
        return f"quantiles_{step}({column}, {self.size}, {list(self.points)}::DOUBLE[])"

    def fold(self, values: Column) -> pa.Array:
        """The state of each list of doubles."""
        lists = Lists.of(values)
        keys = keys_of(lists.values.to_numpy())
        ones = np.ones(len(keys), np.int64)
        return self._states(lists.size, Buckets(lists.number, keys, ones), np.zeros(lists.size, np.int64))

    def merge(self, states: Column) -> pa.Array:
        """The state of each list of states."""
        outer = Lists.of(states)
        parts = Parts.of(outer.values)
        group = outer.number
        cut = np.zeros(outer.size, np.int64)
        np.maximum.at(cut, group, parts.cut)
        inner = parts.buckets
        ends = parts.ends(group)
        return self._states(outer.size, Buckets(group[inner.group], inner.keys, inner.counts), cut, ends)

    def evaluate(self, states: Column) -> pa.Array:
        """For each state a list of the values at the points; NULL where there are none."""
        parts = Parts.of(combined(states))
        total = np.add.accumulate(parts.buckets.counts) if len(parts.buckets.counts) else np.zeros(1, np.int64)
        counts = np.bincount(parts.buckets.group, parts.buckets.counts, len(parts.cut)).astype(np.int64)
        some, base = counts > 0, starts(counts)[:-1]
        found = []
        for point in self.points:
            rank = ranks(counts, point)
            at = np.searchsorted(total, (base + rank)[some])
            keys = np.zeros(len(counts), np.int64)
            keys[some] = parts.buckets.keys[at]
            found.append(np.where(rank == 1, parts.least, np.where(rank == counts, parts.most, keys)))
        return self._lists(found, some)

    def running(self, values: Column, segment: Places, before: Column) -> pa.Array:
        """At each row the values at the points, of its segment's rows up to it, with what was before.

        Segments are numbered from 0, and their rows stand together; `before` has a state for each. NULLs do not count.
        """
        column = combined(values)
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        keys, owner = keys_of(column.drop_null().to_numpy()), segment[valid]
        parts = Parts.of(combined(before))
        axis = Axis.of(parts, keys, owner)
        stop = np.cumsum(valid)
        head = np.searchsorted(segment, segment)
        start = stop[head] - valid[head]
        asked = Asked(start, stop, axis.first[segment], axis.first[segment + 1])
        known = np.bincount(parts.buckets.group, parts.buckets.counts, len(parts.cut)).astype(np.int64)
        counts = known[segment] + stop - start
        some = np.flatnonzero(counts > 0)
        asked, segment, counts, stop = asked.where(some), segment[some], counts[some], stop[some]
        cut = self._running_cut(axis, parts.cut, owner)
        cuts = np.where(stop > asked.start, cut[np.maximum(stop - 1, 0)] if len(cut) else 0, parts.cut[segment])
        order = OrderStatistics.of(axis.place, axis.weight)
        least, most = _running_ends(axis, owner, asked, parts.least[segment], parts.most[segment])
        found = []
        for point in self.points:
            rank = ranks(counts, point)
            keys = axis.keys[_nearest(order, axis, asked, order.least(asked, rank), cuts, segment)]
            result = np.zeros(len(valid), np.int64)
            result[some] = np.where(rank == 1, least, np.where(rank == counts, most, keys))
            found.append(result)
        return self._lists(found, np.isin(np.arange(len(valid)), some))

    def _lists(self, found: list[Places], some: npt.NDArray[np.bool_]) -> pa.Array:
        values = doubles_of(np.stack(found, axis=1)[some].reshape(-1))
        return list_array(pa.array(values, from_pandas=False), np.where(some, len(found), 0))

    def _states(self, size: int, buckets: Buckets, cut: Places, ends: Ends | None = None) -> pa.Array:
        """A state for each group of buckets, where `cut` bits are cut off at least."""
        buckets = buckets.sorted()
        ends = buckets.ends(size) if ends is None else ends.by(size)
        cut = np.maximum(cut, self._cut(size, buckets))
        buckets = buckets.cut(cut)
        counts = np.bincount(buckets.group, minlength=size)
        arrays = [
            pa.array(cut),
            pa.array(doubles_of(ends.least), from_pandas=False),
            pa.array(doubles_of(ends.most), from_pandas=False),
            list_array(pa.array(doubles_of(buckets.keys), from_pandas=False), counts),
            list_array(pa.array(buckets.counts), counts),
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(STATE), mask=pa.array(counts == 0))

    def _cut(self, size: int, buckets: Buckets) -> Places:
        """How many bits must be cut off so that each group has no more buckets than it may.

        Two neighbours are in one bucket if they differ only in the bits that are cut off.
        """
        same = ~changes(buckets.group)
        bits = bit_lengths(buckets.keys[1:] ^ buckets.keys[:-1])[same[1:]]
        differing = np.bincount(buckets.group[same] * 65 + bits, minlength=size * 65).reshape(size, 65)
        longer = differing[:, ::-1].cumsum(axis=1)[:, ::-1]  # neighbours that differ in bit n or above
        return np.asarray((longer[:, 1:] >= self.size).sum(axis=1))

    def _running_cut(self, axis: Axis, before: Places, owner: Places) -> Places:
        """How many bits are cut off at each row that counts: a bit more when there is a bucket too many."""
        cut, found = before.copy(), before[owner]
        buckets = Buckets(axis.owner, axis.keys, axis.since)
        while len(buckets.keys):
            heads = np.flatnonzero(changes(buckets.group, buckets.keys >> cut[buckets.group]))
            since = np.minimum.reduceat(buckets.counts, heads)
            buckets = Buckets(buckets.group[heads], buckets.keys[heads], since)
            many = np.bincount(buckets.group, minlength=len(cut)) > self.size
            inside = many[buckets.group]
            buckets = Buckets(buckets.group[inside], buckets.keys[inside], since[inside])
            known = np.bincount(buckets.group[buckets.counts < 0], minlength=len(cut))
            begun = np.bincount(buckets.counts[buckets.counts >= 0], minlength=len(owner))
            found = found + (so_far(begun, owner, known) > self.size)
            cut = cut + many
        return found


def _nearest(order: OrderStatistics, axis: Axis, asked: Asked, number: Places, cut: Places, segment: Places) -> Places:
    """What stands for the bucket of a value: of those that are there, the one that is nearest to zero."""
    coarse = np.flatnonzero(cut > 0)
    if not len(coarse):
        return number
    asked, keys, cut = asked.where(coarse), axis.keys[number[coarse]], cut[coarse]
    low = (keys >> cut) << cut
    first = axis.find(segment[coarse], low)
    stop = axis.find(segment[coarse], low | ((1 << cut) - 1), "right")
    rank = np.where(keys >= 0, order.below(asked, first) + 1, order.below(asked, stop))
    number = number.copy()
    number[coarse] = order.least(asked, rank)
    return number


def _running_ends(axis: Axis, owner: Places, asked: Asked, least: Places, most: Places) -> tuple[Places, Places]:
    """The least and the greatest key so far. Keys of later segments are at higher places."""
    rows, last = asked.stop > asked.start, np.maximum(asked.stop - 1, 0)
    apart = owner * (2 * len(axis.keys))
    low = np.minimum.accumulate(axis.place - apart) + apart
    high = np.maximum.accumulate(axis.place)
    least = np.where(rows, np.minimum(least, axis.keys[low[last]]), least) if len(low) else least
    return least, np.where(rows, np.maximum(most, axis.keys[high[last]]), most) if len(high) else most


@dataclass(frozen=True)
class Ends:
    """The least and greatest keys of parts of groups."""

    group: Places
    least: Places
    most: Places

    def by(self, size: int) -> Ends:
        """Those of each group; parts are in the order of their groups."""
        least, most = np.full(size, GREATEST), np.full(size, LEAST)
        heads = np.flatnonzero(changes(self.group))
        if len(heads):
            least[self.group[heads]] = np.minimum.reduceat(self.least, heads)
            most[self.group[heads]] = np.maximum.reduceat(self.most, heads)
        return Ends(np.arange(size), least, most)


@dataclass(frozen=True)
class Buckets:
    """Buckets of groups: a key that stands for each, and how many values it has."""

    group: Places
    keys: Places
    counts: Places

    def sorted(self) -> Buckets:
        order = sorted_places(self.group, self.keys)
        return Buckets(self.group[order], self.keys[order], self.counts[order])

    def ends(self, size: int) -> Ends:
        return Ends(self.group, self.keys, self.keys).by(size)

    def cut(self, cut: Places) -> Buckets:
        """Sorted buckets with so many bits cut off, of each group."""
        heads = np.flatnonzero(changes(self.group, self.keys >> cut[self.group]))
        if not len(heads):
            return self
        last = np.append(heads[1:], len(self.keys)) - 1
        chosen = np.where(self.keys[heads] >= 0, heads, last)
        return Buckets(self.group[heads], self.keys[chosen], np.add.reduceat(self.counts, heads))


@dataclass(frozen=True)
class Parts:
    """States; of one that is NULL, the least is above and the greatest below all others."""

    buckets: Buckets
    cut: Places
    least: Places
    most: Places

    @staticmethod
    def of(states: pa.Array) -> Parts:
        missing = states.is_null().to_numpy(zero_copy_only=False)
        cut, least, most, values, counts = states.flatten()
        lists = Lists.of(values)
        buckets = Buckets(lists.number, keys_of(lists.values.to_numpy()), Lists.of(counts).values.to_numpy())
        ends = [keys_of(end.fill_null(0.0).to_numpy(zero_copy_only=False)) for end in (least, most)]
        least, most = np.where(missing, GREATEST, ends[0]), np.where(missing, LEAST, ends[1])
        return Parts(buckets, cut.fill_null(0).to_numpy(zero_copy_only=False), least, most)

    def ends(self, group: Places) -> Ends:
        return Ends(group, self.least, self.most)


@dataclass(frozen=True)
class Axis:
    """All keys of segments, sorted: the place of each row among them, their weights before, and since when they are
    there: the number of the first row that has it, or -1."""

    owner: Places
    keys: Places
    place: Places
    weight: Places
    since: Places
    first: Places  # where the keys of each segment begin

    @staticmethod
    def of(parts: Parts, keys: Places, owner: Places) -> Axis:
        known = parts.buckets
        number = np.concatenate([np.full(len(known.keys), -1), np.arange(len(keys))])
        keys, owner = np.concatenate([known.keys, keys]), np.concatenate([known.group, owner])
        order = sorted_places(owner, keys)  # of equals the first one first
        new = changes(owner[order], keys[order])
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(new) - 1
        heads = order[new]
        weight = np.zeros(len(heads), np.int64)
        weight[place[: len(known.keys)]] = known.counts
        first = np.searchsorted(owner[heads], np.arange(len(parts.cut) + 1))
        return Axis(owner[heads], keys[heads], place[len(known.keys) :], weight, number[heads], first)

    def find(self, segment: Places, keys: Places, side: str = "left") -> Places:
        """The place of each key among those of its segment."""
        both = np.concatenate([self.keys, keys])
        rank = np.unique(both, return_inverse=True)[1]
        width = len(both) + 1
        own, sought = rank[: len(self.keys)] + self.owner * width, rank[len(self.keys) :] + segment * width
        found: Places = np.searchsorted(own, sought, side)  # type: ignore[call-overload]
        return found


def ranks(counts: Places, point: float) -> Places:
    """The rank of a point among so many values, from 1 on: Spark's formula."""
    found: Places = np.clip(np.ceil(point * counts).astype(np.int64), 1, np.maximum(counts, 1))
    return found


def keys_of(values: Doubles) -> Places:
    """Whole numbers in the order of doubles; -0.0 is 0.0, and NaN is greater than all.

    >>> keys_of(np.array([-0.0, 0.0])).tolist()
    [0, 0]
    """
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
    keys: Places = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    return keys


def doubles_of(keys: Places) -> Doubles:
    """
    >>> doubles_of(keys_of(np.array([-1.5, 0.0, 2.0]))).tolist()
    [-1.5, 0.0, 2.0]
    """
    bits: Doubles = (keys ^ ((keys >> 63) & np.int64(2**63 - 1))).view(np.float64)
    return bits


def bit_lengths(numbers: Places) -> Places:
    """How many bits each number takes as one without a sign.

    >>> bit_lengths(np.array([0, 1, 255, -1])).tolist()
    [0, 1, 8, 64]
    """
    words = numbers.view(np.uint64)
    words = words & ~(words >> np.uint64(1))  # as a float the number would be rounded up to the next power of two
    lengths: Places = np.frexp(words.astype(np.float64))[1].astype(np.int64)
    return lengths
