"""Counterexamples are found and made small, with a runner that takes no time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from panes.testing.search import Counterexample, Failed, NotComparable, Result, search
from panes.testing.shrink import smallest
from panes.testing.variants import Arrival, Variant, Wish, groups

ROWS = tuple(Arrival("t", (key, number), number) for number, key in enumerate("abacabadab"))


def running(rows: Sequence[Arrival]) -> list[dict[str, object]]:
    """How often each key has come so far."""
    seen: dict[str, int] = {}
    found = []
    for row in sorted(rows, key=lambda row: row.time or 0):
        key, number = row.values
        seen[key] = seen.get(key, 0) + 1
        found.append({"number": number, "n": seen[key]})
    return found


@dataclass
class Forgets:
    """A runner whose function forgets at each micro-batch, restart or kill how often a key has come."""

    what: str
    asked: list[int] = field(default_factory=list)

    def streams(self, variants: Sequence[Variant]) -> list[Result]:
        self.asked.append(len(variants))
        return [self.stream(one) for one in variants]

    def stream(self, variant: Variant) -> Result:
        forgets = {
            "micro-batch": range(len(variant.batches)),
            "restart": variant.restarts,
            "kill": variant.kills,
            "shards": range(len(variant.batches)) if variant.shards > 1 else (),
            "never": (),
        }[self.what]
        parts: list[list[Arrival]] = [[]]
        for number, batch in enumerate(variant.batches):
            parts[-1] += batch
            if number in forgets:
                parts.append([])
        return [row for part in parts for row in running(part)]

    def promised(self, variants: Sequence[Variant]) -> list[Result]:
        return [running(one.rows) for one in variants]


def found(what: str) -> Counterexample:
    tries = groups((ROWS,), Wish(40, 20, (1, 7), seed=3), {"t": 0}, cut=True, shuffle=False, size=4)
    result = search(tries, Forgets(what))
    assert isinstance(result, Counterexample)
    return result


def test_a_function_that_forgets_at_each_micro_batch() -> None:
    """Two rows of one key in two micro-batches; nothing restarts, nothing dies, one shard."""
    small = found("micro-batch").variant
    assert [len(batch) for batch in small.batches] == [1, 1]
    assert len({row.values[0] for row in small.rows}) == 1
    assert (small.restarts, small.kills, small.shards) == (frozenset(), frozenset(), 1)


def test_a_function_that_forgets_at_a_restart() -> None:
    small = found("restart").variant
    assert (len(small.rows), len(small.batches), small.restarts, small.kills) == (2, 2, frozenset([0]), frozenset())


def test_a_function_that_forgets_when_it_dies() -> None:
    small = found("kill").variant
    assert (len(small.rows), len(small.batches), small.kills, small.restarts) == (2, 2, frozenset([0]), frozenset())


def test_shards_stay_where_they_matter() -> None:
    small = found("shards").variant
    assert (len(small.rows), small.shards) == (2, 7)


def test_what_it_gives_and_what_it_should() -> None:
    case = found("micro-batch")
    assert [row["n"] for row in case.promised] == [1, 2]
    assert isinstance(case.result, list) and [row["n"] for row in case.result] == [1, 1]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    told: list[int] = []
    tries = groups((ROWS,), Wish(10, seed=3), {"t": 0}, cut=True, shuffle=True, size=4)
    assert search(tries, Forgets("never"), told.append) is None
    assert told == [4, 8, 10]


class Refuses(Forgets):
    def promised(self, variants: Sequence[Variant]) -> list[Result]:
        return [Failed("value-failed: 1 / 0")] * len(variants)


def test_rows_that_fail_by_themselves_are_no_counterexample() -> None:
    tries = groups((ROWS,), Wish(1), {"t": 0}, cut=True, shuffle=False, size=4)
    assert search(tries, Refuses("never")) == NotComparable("value-failed: 1 / 0")


def test_shrinking_ends_after_some_tries() -> None:
    tried = 0

    def first_failing(candidates: Sequence[Variant]) -> int | None:
        nonlocal tried
        tried += len(candidates)
        return None

    variant = Variant((ROWS,), frozenset([0]), frozenset([0]), 7)
    assert smallest(variant, first_failing, tries=5) == variant
    assert tried <= 5


def test_rows_come_in_the_order_of_their_times_where_that_fails_too() -> None:
    variant = Variant((ROWS[2:3], ROWS[:2]))
    small = smallest(
        variant, lambda candidates: next((n for n, one in enumerate(candidates) if len(one.rows) == 3), None)
    )
    assert [row.values[1] for row in small.rows] == [0, 1, 2]
