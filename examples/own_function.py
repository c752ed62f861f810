"""A stateful function of your own, with state that survives restarts. Run: python examples/own_function.py"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from panes import Engine
from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance
from panes.testing import Stream, replay


class Streak(StatefulFunction):
    """How many rows in a row had this value."""

    name = "streak"

    def return_type(self, input_types: Sequence[str]) -> str:
        return "bigint"

    def create_instance(self) -> StatefulFunctionInstance:
        return StreakInstance()


class StreakInstance(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.value: Any = None
        self.length = 0

    def eval(self, args: Sequence[Any]) -> int:
        self.length = self.length + 1 if args[0] == self.value else 1
        self.value = args[0]
        return self.length


def register(engine: Engine) -> None:
    engine.register(Streak())


def main() -> None:
    """The query is stopped after the first micro-batch, and goes on from its checkpoint."""
    out = replay(
        "SELECT player, result, streak(result) OVER (PARTITION BY player) AS in_a_row FROM games",
        setup=register,
        restart_after=[0],
        games=Stream(
            "player string, result string",
            batches=[[("ann", "win"), ("bob", "win"), ("ann", "win")], [("ann", "win"), ("bob", "loss")]],
        ),
    )
    assert sorted(row["in_a_row"] for row in out.batches[1]) == [1, 3]
    print(out.batches)


if __name__ == "__main__":
    main()
