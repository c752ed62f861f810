"""Thousands of random inputs are held to the law of `law.py`.

A failure names its seed and number. To repeat one input:

    PANES_FUZZ_SEED=1 PANES_FUZZ_INPUT=1234 pytest tests/fuzz/test_inputs.py -k one_input
"""

from __future__ import annotations

import os
import traceback
from collections import Counter

import pytest

from .inputs import nth_input
from .law import Hang, check

SEED = int(os.environ.get("PANES_FUZZ_SEED", "1"))
ONE = os.environ.get("PANES_FUZZ_INPUT")
SHOWN = 5


def run(first: int, last: int) -> Counter[tuple[str, str]]:
    """How often each kind of input had each outcome; every input that breaks the law is told at the end."""
    outcomes: Counter[tuple[str, str]] = Counter()
    failures: list[str] = []
    for number in range(first, last):
        one = nth_input(SEED, number)
        try:
            outcomes[one.kind.split(" ")[0], check(one.sql)] += 1
        except (Exception, Hang) as error:
            failures.append(failure(number, one.sql, error))
    if failures:
        shown = "\n\n".join(failures[:SHOWN])
        pytest.fail(f"{len(failures)} of {last - first} inputs break the law\n\n{shown}", pytrace=False)
    return outcomes


def failure(number: int, sql: str, error: BaseException) -> str:
    text = repr(sql)
    cut = text if len(text) <= 2_000 else f"{text[:1_000]} … {text[-500:]} ({len(sql)} characters)"
    trace = "".join(traceback.format_exception(error, limit=-4)[-12:])
    repeat = f"PANES_FUZZ_SEED={SEED} PANES_FUZZ_INPUT={number} pytest tests/fuzz/test_inputs.py -k one_input"
    return f"seed {SEED}, input {number}: {cut}\nrepeat: {repeat}\n{trace}"


def check_variety(outcomes: Counter[tuple[str, str]]) -> None:
    """Inputs that are all refused for the same reason would test little."""
    grammar = Counter({code: n for (kind, code), n in outcomes.items() if kind == "grammar"})
    assert grammar["compiled"] > 0.2 * grammar.total(), grammar
    assert len({code for _, code in outcomes}) > 15, outcomes


def test_some_inputs() -> None:
    check_variety(run(0, 1_000))


@pytest.mark.slow
def test_many_inputs() -> None:
    check_variety(run(1_000, 21_000))


@pytest.mark.skipif(ONE is None, reason="set PANES_FUZZ_INPUT to the number of an input")
def test_one_input() -> None:
    one = nth_input(SEED, int(ONE or 0))
    print(one.kind, one.sql, sep="\n")
    print(check(one.sql))
