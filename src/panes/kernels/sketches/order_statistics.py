"""The k-th least of the numbers between two places, for many places and k at once: a wavelet matrix.

    numbers      5  2  7  2        the 2nd least of the first three is 5

Numbers are split by their highest bit, then by the next, and so on; each level knows how many went left. A question
goes down one side at each level, so that it costs as many steps as numbers have bits, whatever it asks about.

Each number may also have a weight: it is there so many times more, wherever one looks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panes.kernels.sketches.lists import Places


@dataclass(frozen=True)
class Asked:
    """The numbers at places [start, stop), and the weights of the numbers in [low, high)."""

    start: Places
    stop: Places
    low: Places
    high: Places

    def where(self, chosen: Places) -> Asked:
        return Asked(self.start[chosen], self.stop[chosen], self.low[chosen], self.high[chosen])


@dataclass(frozen=True)
class OrderStatistics:
    """`left` has for each bit, the highest first, how many of the numbers before a place have a 0 there.

    `weights` are added up: those of all numbers below each number, and below the end.
    """

    left: tuple[Places, ...]
    weights: Places

    @staticmethod
    def of(numbers: Places, weights: Places) -> OrderStatistics:
        """Numbers from 0 on; each has a weight."""
        left = []
        for bit in reversed(range(max(1, (len(weights) - 1).bit_length()))):
            zero = (numbers >> bit) & 1 == 0
            left.append(np.concatenate([[0], np.cumsum(zero)]))
            numbers = np.concatenate([numbers[zero], numbers[~zero]])
        return OrderStatistics(tuple(left), np.concatenate([[0], np.cumsum(weights)]))

    def least(self, asked: Asked, rank: Places) -> Places:
        """The number of each rank, from 1 on."""
        start, stop, rank = asked.start, asked.stop, rank.copy()
        number = np.zeros(len(rank), np.int64)
        for level, before in enumerate(self.left):
            half = 1 << (len(self.left) - 1 - level)
            from_, to = before[start], before[stop]
            count = to - from_ + self._weight(asked, number, number + half)
            right = rank > count
            rank -= np.where(right, count, 0)
            number += np.where(right, half, 0)
            zeros = before[-1]
            start, stop = np.where(right, zeros + start - from_, from_), np.where(right, zeros + stop - to, to)
        return number

    def below(self, asked: Asked, number: Places) -> Places:
        """How many there are below each number."""
        start, stop = asked.start, asked.stop
        found = self._weight(asked, np.zeros(len(number), np.int64), number)
        found = found + np.where(number >= 1 << len(self.left), stop - start, 0)
        for level, before in enumerate(self.left):
            right = (number >> (len(self.left) - 1 - level)) & 1 == 1
            from_, to = before[start], before[stop]
            found += np.where(right & (number < 1 << len(self.left)), to - from_, 0)
            zeros = before[-1]
            start, stop = np.where(right, zeros + start - from_, from_), np.where(right, zeros + stop - to, to)
        return found

    def _weight(self, asked: Asked, low: Places, high: Places) -> Places:
        """The weights of numbers in [low, high), as far as they are asked for."""
        found: Places = (
            self.weights[np.clip(high, asked.low, asked.high)] - self.weights[np.clip(low, asked.low, asked.high)]
        )
        return found
