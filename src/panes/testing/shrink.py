"""The smallest variant that still fails: fewer rows, micro-batches, restarts and kills, and one shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from panes.testing.variants import Arrival, Batches, FirstFailing, Variant


def smallest(variant: Variant, first_failing: FirstFailing, tries: int = 120) -> Variant:
    """Simpler and simpler variants, as long as they fail; at most so many are tried."""
    left = tries
    at_once = True
    simplify = (_plainer, _fewer_rows, _fewer_batches, _in_order)
    while at_once and left > 0:
        before = variant
        for simpler in simplify:
            variant, left = _simplified(variant, simpler, first_failing, left)
        at_once = variant != before
    return variant


def _simplified(
    variant: Variant,
    simpler: Callable[[Variant], Iterator[list[Variant]]],
    first_failing: FirstFailing,
    left: int,
) -> tuple[Variant, int]:
    """One kind of simplification, again and again."""
    found = True
    while found:
        found = False
        for candidates in simpler(variant):
            if len(candidates) > left:
                return variant, 0
            left -= len(candidates)
            at = first_failing(candidates)
            if at is not None:
                variant, found = candidates[at], True
                break
    return variant, left


def _plainer(variant: Variant) -> Iterator[list[Variant]]:
    """Without restarts, kills and shards: all of them, then each alone."""
    plain = replace(variant, restarts=frozenset(), kills=frozenset(), shards=1)
    if plain != variant:
        yield [plain]
    alone = [replace(variant, restarts=variant.restarts - {one}) for one in sorted(variant.restarts)]
    alone += [replace(variant, kills=variant.kills - {one}) for one in sorted(variant.kills)]
    alone += [replace(variant, shards=1)] if variant.shards > 1 else []
    for one in alone:
        if one != plain:
            yield [one]


def _fewer_rows(variant: Variant) -> Iterator[list[Variant]]:
    """Without half of the rows, a quarter of them, and so on down to one."""
    rows = variant.rows
    size = len(rows) // 2
    while size >= 1:
        starts = range(0, len(rows), size)
        yield [_without(variant, start, min(start + size, len(rows))) for start in starts]
        size //= 2


def _without(variant: Variant, first: int, end: int) -> Variant:
    place = 0
    batches: list[tuple[Arrival, ...]] = []
    for batch in variant.batches:
        batches.append(tuple(row for at, row in enumerate(batch, place) if not first <= at < end))
        place += len(batch)
    return replace(variant, batches=tuple(batches))


def _fewer_batches(variant: Variant) -> Iterator[list[Variant]]:
    """With two neighbouring micro-batches in one."""
    for at in range(1, len(variant.batches)):
        yield [_joined(variant, at)]


def _joined(variant: Variant, at: int) -> Variant:
    before, batches = variant.batches[: at - 1], variant.batches
    joined: Batches = (*before, (*batches[at - 1], *batches[at]), *batches[at + 1 :])
    restarts, kills = (frozenset(one - (one >= at) for one in many) for many in (variant.restarts, variant.kills))
    return replace(variant, batches=joined, restarts=restarts, kills=kills)


def _in_order(variant: Variant) -> Iterator[list[Variant]]:
    """With rows in the order of their times, in micro-batches of the same sizes."""
    ordered = sorted(variant.rows, key=lambda row: row.time if row.time is not None else 0)
    if ordered != list(variant.rows):
        yield [replace(variant, batches=_of_sizes(ordered, [len(batch) for batch in variant.batches]))]


def _of_sizes(rows: Sequence[Arrival], sizes: Sequence[int]) -> Batches:
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return tuple(tuple(rows[end - size : end]) for end, size in zip(ends, sizes, strict=True))
