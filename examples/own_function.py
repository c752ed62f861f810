"""Stateful functions of your own, with state that survives restarts. Run: python examples/own_function.py"""

from __future__ import annotations

import panes
from panes.testing import Stream, replay


@panes.stateful(returns="bigint")
class Streak:
    """How many rows in a row had this value; the state of a partition is an object of this class."""

    def __init__(self) -> None:
        self.value: str | None = None
        self.length = 0

    def eval(self, x: str | None) -> int:
        self.length = self.length + 1 if x == self.value else 1
        self.value = x
        return self.length


@panes.stateful(returns="double", initial=None)
def smoothed(state: float | None, x: float) -> tuple[float, float]:
    """An exponential average: takes the state and the argument, returns the new state and the value."""
    state = x if state is None else 0.5 * state + 0.5 * x
    return state, state


def register(engine: panes.Engine) -> None:
    engine.register(Streak)
    engine.register(smoothed)


def main() -> None:
    """The query is stopped after the first micro-batch, and goes on from its checkpoint."""
    out = replay(
        """
        SELECT player,
               streak(result) OVER (PARTITION BY player) AS in_a_row,
               smoothed(points) OVER (PARTITION BY player) AS form
        FROM games
        """,
        setup=register,
        restart_after=[0],
        games=Stream(
            "player string, result string, points double",
            batches=[
                [("ann", "win", 8.0), ("bob", "win", 4.0), ("ann", "win", 4.0)],
                [("ann", "win", 2.0), ("bob", "loss", 0.0)],
            ],
        ),
    )
    assert sorted((row["in_a_row"], row["form"]) for row in out.batches[1]) == [(1, 2.0), (3, 4.0)]
    print(out.batches)


if __name__ == "__main__":
    main()
