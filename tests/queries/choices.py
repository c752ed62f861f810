"""Random choices that can be made again, and made simpler: a query is shrunk by shrinking the numbers it came from."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Numbers, drawn at random or given; where the given ones end, 0 is drawn. The first option is the simplest."""

    def __init__(self, seed: int | None = None, given: Sequence[int] = ()) -> None:
        self._random = random.Random(seed) if seed is not None else None
        self._given = given
        self.made: list[int] = []

    def below(self, limit: int) -> int:
        if self._random is not None:
            number = self._random.randrange(limit)
        else:
            number = self._given[len(self.made)] if len(self.made) < len(self._given) else 0
        self.made.append(number % limit)
        return number % limit

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Different ones, in any order."""
        left = list(options)
        count = min(least + self.below(most - least + 1), len(left))
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def keys(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """As `some`, but one of several may be said twice."""
        found = self.some(options, least, most)
        return [*found, found[0]] if len(found) > 1 and self.chance(20) else found


def shrunk(numbers: list[int], fails: Callable[[list[int]], bool], tries: int = 300) -> list[int]:
    """Fewer and smaller numbers that still fail."""
    better = True
    while better and tries > 0:
        better = False
        for candidate in _simpler(numbers):
            tries -= 1
            if tries <= 0:
                break
            if fails(candidate):
                numbers, better = candidate, True
                break
    return numbers


def _simpler(numbers: list[int]) -> Iterator[list[int]]:
    size = len(numbers)
    while size >= 1:
        for start in range(0, len(numbers), size):
            yield numbers[:start] + numbers[start + size :]
        size //= 2
    for at, number in enumerate(numbers):
        if number:
            yield [*numbers[:at], 0, *numbers[at + 1 :]]


def fewer(items: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Fewer items that still fail."""
    size = max(1, len(items) // 2)
    while True:
        for start in range(0, len(items), size):
            candidate = items[:start] + items[start + size :]
            if fails(candidate):
                items = candidate
                break
        else:
            if size == 1:
                return items
            size //= 2
