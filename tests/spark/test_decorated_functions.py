"""`@panes.stateful` on Spark: every form goes to the workers by itself, and goes on after a restart."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import panes
from panes import Engine, PanesError
from panes.testing import Stream, replay

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]

# A module that only the driver can import: workers do not have its folder on their path.
MODULE = '''
import panes


@panes.stateful(returns="bigint")
class Streak:
    """How many rows in a row had this value."""

    def __init__(self):
        self.value, self.length = None, 0

    def eval(self, x):
        self.length = self.length + 1 if x == self.value else 1
        self.value = x
        return self.length
'''


@panes.stateful(returns="bigint", initial=0)
def summed(state: int, n: int, scale: int = 1) -> tuple[int, int]:
    return state + n * scale, state + n * scale


@panes.stateful(returns=lambda types: types[0], initial=0, vectorized=True)
def summed_at_once(state: int, n: pa.Array) -> tuple[int, pa.Array]:
    totals = pc.add(pc.cumulative_sum(n), state)
    return totals[-1].as_py(), totals


GAMES = [[("ann", "win", 1), ("bob", "win", 2), ("ann", "win", 3)], [("ann", "win", 4), ("bob", "loss", 5)], []]


def by_hand() -> list[tuple[Any, ...]]:
    """The definition, in plain Python."""
    sums: dict[str, int] = defaultdict(int)
    streaks: dict[str, list[str]] = defaultdict(list)
    rows = []
    for player, result, n in (row for batch in GAMES for row in batch):
        sums[player] += n
        streaks[player] = [*(streaks[player] if streaks[player][-1:] == [result] else []), result]
        rows.append((player, len(streaks[player]), sums[player], 10 * sums[player], sums[player]))
    return sorted(rows)


@pytest.mark.parametrize("restarts", [[], [0, 1]])
def test_every_form(spark: SparkSession, restarts: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "players_streak.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "players_streak", raising=False)
    streak = importlib.import_module("players_streak").Streak

    def register(engine: Engine) -> None:
        for function in (streak, summed, summed_at_once):
            engine.register(function)

    calls = ("streak(r)", "summed(n)", "summed(n, 10)", "summed_at_once(n)")
    selected = ", ".join(f"{call} OVER (PARTITION BY p) AS v{number}" for number, call in enumerate(calls))
    out = replay(
        f"SELECT p, {selected} FROM games",
        setup=register,
        spark=spark,
        restart_after=restarts,
        games=Stream("p string, r string, n bigint", GAMES),
    )
    assert sorted(tuple(row.values()) for row in out.rows) == by_hand()


@pytest.mark.parametrize("returns", ["nonsense", "bigint bigint", "variant", "array<interval day>", lambda types: None])
def test_a_type_that_is_none(spark: SparkSession, returns: Any) -> None:
    engine = Engine(spark)
    engine.stream("t", spark.createDataFrame([(1,)], "x int"))
    engine.register(panes.stateful(returns=returns, name="f")(lambda state, x: (state, x)))
    with pytest.raises(PanesError) as caught:
        engine.sql("SELECT f(x) FROM t")
    assert caught.value.code == "function-arguments"


def test_a_call_with_too_many_arguments(spark: SparkSession) -> None:
    engine = Engine(spark)
    engine.stream("t", spark.createDataFrame([(1,)], "x int"))
    engine.register(summed)
    with pytest.raises(PanesError) as caught:
        engine.sql("SELECT summed(x, 1, 2) FROM t")
    assert caught.value.code == "function-arguments"
    assert caught.value.hint == "Usage: summed(n [, scale])."


@pytest.mark.slow
def test_functions_of_a_script_that_is_run() -> None:
    """Defined in `__main__`, as in a notebook."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/own_function.py")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
