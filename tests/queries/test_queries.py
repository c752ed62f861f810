"""Random whole queries: however they are cut, restarted and sharded, they are what a batch and an oracle say."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from .double.engine import no_spark
from .fuzz import Outcome, random_seed, smallest, tried
from .keep import to_json

BUILD = Path(__file__).parents[2] / "build" / "queries"
SHRUNK = 3  # of the failures of a run: shrinking takes a minute each
CHUNK = 50


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with no_spark():
        yield


def run(first: int, count: int) -> list[Outcome]:
    with no_spark():
        return [tried(seed) for seed in range(first, first + count)]


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_queries(first: int) -> None:
    judge([tried(seed) for seed in range(first, first + 40)])


@pytest.mark.slow
def test_many_queries(request: pytest.FixtureRequest) -> None:
    """5,000 of them, other ones in every run; `--seed` repeats one."""
    first, count = request.config.getoption("--seed"), request.config.getoption("--queries")
    first = random_seed() if first is None else first
    starts = range(first, first + count, CHUNK)
    print(f"\nseeds {first} to {first + count - 1}")
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        done = pool.map(run, starts, [min(CHUNK, first + count - one) for one in starts])
        judge(list(shown(done, count)))


def shown(done: Iterable[list[Outcome]], count: int) -> Iterator[Outcome]:
    """The outcomes, as they come; how far the run is stands on the terminal, and what is wrong so far."""
    seen = wrong = 0
    for outcomes in done:
        seen, wrong = seen + len(outcomes), wrong + sum(one.wrong is not None for one in outcomes)
        if seen % (10 * CHUNK) == 0:
            print(f"{seen} of {count}, {wrong} wrong")
        yield from outcomes


def judge(outcomes: list[Outcome]) -> None:
    """Print the share of queries that were refused, and fail with the wrong ones, shrunk and written down."""
    refused = Counter(one.refused for one in outcomes if one.refused is not None)
    print(f"{len(outcomes)} queries, refused: {dict(refused)}")
    wrong = [one for one in outcomes if one.wrong is not None]
    if wrong:
        BUILD.mkdir(parents=True, exist_ok=True)
        texts = [f"seed {one.seed}: {(one.wrong or '').strip().splitlines()[-1]}" for one in wrong]
        print("\n".join(texts))
        for one in wrong[:SHRUNK]:
            made, how = smallest(one.seed)
            path = BUILD / f"seed_{one.seed}.json"
            path.write_text(to_json(made.case, how, made.expected()))
            texts.append(f"\n{path}\n{made.case.sql}\n{how}")
        pytest.fail("\n".join(texts), pytrace=False)
    assert sum(refused.values()) <= 0.2 * len(outcomes), "too many queries are refused"
