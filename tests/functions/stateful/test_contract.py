"""What a user's own stateful function has to be."""

from typing import Any

from panes.functions.stateful import StatefulFunctionInstance


class Counter(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.count = 0

    def eval(self, args: Any) -> Any:
        self.count += 1
        return self.count

    def save(self) -> Any:
        return str(self.count).encode()

    def load(self, saved: Any) -> Any:
        self.count = int(saved)


def test_an_instance_saves_and_loads() -> None:
    one, other = Counter(), Counter()
    one.eval([])
    other.load(one.save())
    assert other.eval([]) == 2
