"""The inputs by number: each depends on nothing but the seed and its number."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .corpus import QUERIES
from .extremes import EXTREMES
from .grammar import Grammar
from .mutate import mutated


@dataclass(frozen=True)
class Input:
    kind: str
    sql: str


def nth_input(seed: int, number: int) -> Input:
    """Half from the grammar, half mutated, and now and then a very deep or very long one."""
    random = Random(f"{seed}/{number}")
    draw = random.random()
    if draw < 0.015:
        name = random.choice(list(EXTREMES))
        return Input(name, EXTREMES[name](int(10 ** random.uniform(0, 4))))
    if draw < 0.5:
        return Input("grammar", Grammar(random).script())
    texts = [random.choice(QUERIES) if random.random() < 0.7 else Grammar(random).script() for _ in range(2)]
    return Input("mutated", mutated(texts[0], texts[1], random))
