"""Skewness and kurtosis from five numbers: count, mean, and the sums of powers of the distances from the mean.

    values    1  2  6        n = 3, mean = 3, m2 = 4 + 1 + 9, m3 = -8 - 1 + 27, m4 = 16 + 1 + 81

Two states merge without their values (Pébay 2008), so nothing is ever a difference of large sums. Equal values have
m2 = 0, exactly and however they were cut into parts: neither skewness nor kurtosis is defined there. Where the powers
leave the range of a double, both are NaN in every cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.sketches.lists import Column, Lists, Places, changes, combined

Doubles = npt.NDArray[np.float64]
NAMES = ("n", "mean", "m2", "m3", "m4")
STATE = pa.struct([(name, pa.float64()) for name in NAMES])
STATE_SQL = f"STRUCT({', '.join(f'{name} DOUBLE' for name in NAMES)})"


@dataclass(frozen=True)
class Moments:
    """`order` is 3 for skewness and 4 for kurtosis."""

    order: Literal[3, 4]

    @property
    def state_type(self) -> pa.DataType:
        return STATE

    def sql(self, step: str, column: str) -> str:
        """A step as DuckDB calls it, over a column."""
        return f"moments_{step}({column}, {self.order})"

    def fold(self, values: Column) -> pa.Array:
        """The state of each list of doubles."""
        lists = Lists.of(values)
        found, number, n = lists.values.to_numpy(), lists.number, lists.counts.astype(np.float64)
        some = np.maximum(n, 1)
        first = np.zeros(lists.size)
        first[number[::-1]] = found[::-1]
        with np.errstate(invalid="ignore", over="ignore"):
            mean = first + np.bincount(number, found - first[number], lists.size) / some
            away = found - mean[number]
            powers = [np.bincount(number, away**power, lists.size) for power in (2, 3, 4)]
        return _states(np.stack([n, mean, *powers]))

    def merge(self, states: Column) -> pa.Array:
        """The state of each list of states."""
        lists = Lists.of(states)
        merged = _scan(_numbers(lists.values), lists.number)
        found = np.zeros((len(NAMES), lists.size))
        found[:, lists.number] = merged  # of several states of a list the last stays, which has them all
        return _states(found)

    def evaluate(self, states: Column) -> pa.Array:
        """The value of each state; NULL where nothing differs."""
        return self._value(_numbers(combined(states)))

    def running(self, values: Column, segment: Places, before: Column) -> pa.Array:
        """At each row the value of its segment's rows up to it, with the state before; NULLs do not count."""
        column = combined(values)
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        given = column.fill_null(0).to_numpy()
        with np.errstate(invalid="ignore"):
            zero = given - given  # NaN where a value is not finite
        rows = np.stack([valid.astype(np.float64), given, zero, zero, zero])
        heads = np.flatnonzero(changes(segment))
        rows[:, heads] = _pairwise(_numbers(combined(before))[:, segment[heads]], rows[:, heads])
        return self._value(_scan(rows, segment))

    def _value(self, states: Doubles) -> pa.Array:
        n, _, m2, m3, m4 = states
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            greatest = m2 * np.sqrt(m2) if self.order == 3 else m2 * m2  # no sum of powers is greater
            value = np.sqrt(n) * m3 / greatest if self.order == 3 else n * (m4 / m2 / m2) - 3
            value[~np.isfinite(greatest)] = np.nan
        return pa.array(value, mask=(n == 0) | (m2 == 0), from_pandas=False)


def _numbers(states: pa.Array) -> Doubles:
    """A row for each of the five numbers; a state that is NULL has seen nothing."""
    columns = [column.fill_null(0).to_numpy() for column in states.flatten()]
    return np.stack(columns).astype(np.float64)


def _states(numbers: Doubles) -> pa.Array:
    columns = [pa.array(column, from_pandas=False) for column in numbers]
    return pa.StructArray.from_arrays(columns, fields=list(STATE))


def _scan(states: Doubles, segment: Places) -> Doubles:
    """Each state merged with all before it in its segment: with the one before, then two before, then four."""
    states, distance = states.copy(), 1
    longest = int(np.bincount(segment).max(initial=0)) if len(segment) else 0
    while distance < longest:
        later = np.flatnonzero(segment[distance:] == segment[:-distance]) + distance
        states[:, later] = _pairwise(states[:, later - distance], states[:, later])
        distance *= 2
    return states


def _pairwise(left: Doubles, right: Doubles) -> Doubles:
    """The states of the values of both."""
    (p, mean, p2, p3, p4), (q, other, q2, q3, q4) = left, right
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        n, d = p + q, other - mean
        merged = np.stack(
            [
                n,
                mean + d * q / n,
                p2 + q2 + d**2 * p * q / n,
                p3 + q3 + d**3 * (p / n) * (q / n) * (p - q) + 3 * d * (p * q2 - q * p2) / n,
                p4
                + q4
                + d**4 * (p / n) * (q / n) * ((p**2 - p * q + q**2) / n)
                + 6 * d**2 * ((p / n) ** 2 * q2 + (q / n) ** 2 * p2)
                + 4 * d * (p * q3 - q * p3) / n,
            ]
        )
    found: Doubles = np.where(q == 0, left, np.where(p == 0, right, merged))
    return found
