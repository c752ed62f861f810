"""Shard ids: numbers that Spark's hash partitioner spreads evenly over any number of shuffle partitions."""

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
    return _signed(h)


def hashed_to(hash_: int, seed: int = 42) -> int:
    """The one INT that has this hash: `murmur3` backwards, step by step.

    >>> hashed_to(-559580957)
    1
    """
    h = hash_ & MASK
    h ^= h >> 16
    h = h * pow(0xC2B2AE35, -1, MASK + 1) & MASK
    h ^= h >> 13 ^ h >> 26
    h = h * pow(0x85EBCA6B, -1, MASK + 1) & MASK
    h ^= h >> 16
    h ^= 4
    h = (h - 0xE6546B64) * pow(5, -1, MASK + 1) & MASK
    h = (h >> 13 | h << 19) & MASK
    k = seed ^ h
    k = k * pow(0x1B873593, -1, MASK + 1) & MASK
    k = (k >> 15 | k << 17) & MASK
    return _signed(k * pow(0xCC9E2D51, -1, MASK + 1) & MASK)


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits


@cache
def shard_ids(shards: int) -> tuple[int, ...]:
    """The ids of shards: the hash of each is its number, so Spark deals them out in turn.

        partitions   shards in each, of 8
        8            0 | 1 | 2 | 3 | 4 | 5 | 6 | 7
        3            0 3 6 | 1 4 7 | 2 5

    A partition works its shards off one after the other: where they are uneven, the others wait for it.
    """
    return tuple(hashed_to(number) for number in range(shards))
