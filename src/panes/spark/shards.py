"""Shard ids: numbers that Spark's hash partitioner puts one into each shuffle partition."""

from __future__ import annotations

from functools import cache

MASK = 0xFFFFFFFF


def murmur3(value: int, seed: int = 42) -> int:
    """Spark's hash of an INT, as a signed 32-bit number.

    >>> murmur3(1)
    -559580957
    """
    k = (value & MASK) * 0xCC9E2D51 & MASK
    k = (k << 15 | k >> 17) & MASK
    k = k * 0x1B873593 & MASK
    h = seed ^ k
    h = (h << 13 | h >> 19) & MASK
    h = (h * 5 + 0xE6546B64) & MASK
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


@cache
def shard_ids(shards: int) -> tuple[int, ...]:
    """One id for each of `shards` shuffle partitions: two shards in one partition would halve the speed."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < shards:
        found.setdefault(murmur3(number) % shards, number)
        number += 1
    return tuple(found[partition] for partition in range(shards))
