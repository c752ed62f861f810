"""Other ways for the same rows to come: micro-batches, order within the delay, restarts, kills, shards."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

MOST_BATCHES = 4


@dataclass(frozen=True)
class Arrival:
    """A row of a stream: its time in microseconds, if it has one, and what breaks ties of it."""

    stream: str
    values: tuple[Any, ...]
    time: int | None = None
    key: tuple[Any, ...] = ()


Batches: TypeAlias = tuple[tuple[Arrival, ...], ...]


@dataclass(frozen=True)
class Variant:
    """Rows in micro-batches, after which of them the query restarts, which of them die first, and the shards."""

    batches: Batches
    restarts: frozenset[int] = frozenset()
    kills: frozenset[int] = frozenset()
    shards: int = 1

    @property
    def rows(self) -> tuple[Arrival, ...]:
        return tuple(row for batch in self.batches for row in batch)

    def of_stream(self, name: str) -> list[list[tuple[Any, ...]]]:
        """The values of a stream's rows, per micro-batch."""
        return [[row.values for row in batch if row.stream == name] for batch in self.batches]


@dataclass(frozen=True)
class Wish:
    """How many variants of each case there are: in `kills` of them a micro-batch dies; shards are tried in turn."""

    cuts: int = 20
    kills: int = 0
    shards: tuple[int, ...] = (1, 2, 7)
    seed: int = 0

    @property
    def count(self) -> int:
        return max(self.cuts, self.kills)


def groups(
    written: Batches, wish: Wish, delays: Mapping[str, int | None], cut: bool, shuffle: bool, size: int
) -> list[list[Variant]]:
    """Random variants of rows; those of one group have as many micro-batches, and restart and die together."""
    choose = random.Random(wish.seed)
    found: list[list[Variant]] = []
    left = wish.count
    kills = wish.kills
    while left > 0:
        many = min(size, left)
        dies = kills > 0
        found.append(
            _group(choose, written, wish.shards, delays, cut, shuffle, min(many, kills) if dies else many, dies)
        )
        left -= len(found[-1])
        kills -= len(found[-1]) if dies else 0
    return found


def _group(
    choose: random.Random,
    written: Batches,
    shards: Sequence[int],
    delays: Mapping[str, int | None],
    cut: bool,
    shuffle: bool,
    size: int,
    dies: bool,
) -> list[Variant]:
    rows = [row for batch in written for row in batch]
    count = choose.randint(1, max(1, min(MOST_BATCHES, len(rows)))) if cut else len(written)
    restarts = frozenset(number for number in range(count) if choose.random() < 1 / (count + 1))
    kills = frozenset([choose.randint(0, count)] if dies else [])
    ends = sorted(choose.random() for _ in range(count - 1))
    found = []
    for _ in range(size):
        order = shuffled(rows, delays, choose) if shuffle else rows
        batches = _cut(order, ends, choose) if cut else written
        found.append(Variant(batches, restarts, kills, choose.choice(list(shards))))
    return found


def _cut(rows: Sequence[Arrival], ends: Sequence[float], choose: random.Random) -> Batches:
    """Micro-batches that end at about these parts of the rows: a group shares a clock, so its variants keep step."""
    places = [round(end * len(rows)) + choose.randint(-1, 1) for end in ends]
    places = sorted(min(max(place, 0), len(rows)) for place in places)
    return tuple(tuple(rows[a:b]) for a, b in zip([0, *places], [*places, len(rows)], strict=True))


def shuffled(rows: Sequence[Arrival], delays: Mapping[str, int | None], choose: random.Random) -> list[Arrival]:
    """Rows in another order in which none is late; those of one time and key stay in theirs."""
    chosen: dict[tuple[str, int | None, tuple[Any, ...]], tuple[float, float]] = {}
    last = 0

    def arrives(row: Arrival) -> tuple[float, float]:
        nonlocal last
        last = row.time if row.time is not None else last  # one without time stays where it was
        which = (row.stream, row.time, row.key) if row.time is not None else (row.stream, last, ("no time",))
        if which not in chosen:
            chosen[which] = (last + choose.random() * (delays[row.stream] or 0), choose.random())
        return chosen[which]

    return sorted(rows, key=arrives)


# What asks whether any of some variants fails, and which; several are run at once.
FirstFailing: TypeAlias = Callable[[Sequence[Variant]], int | None]
