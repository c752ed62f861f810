"""What a user's own stateful function has to be."""

from panes.functions.stateful import StatefulFunctionInstance


class Counter(StatefulFunctionInstance):
    def __init__(self):
        self.count = 0

    def eval(self, args):
        self.count += 1
        return self.count

    def save(self):
        return str(self.count).encode()

    def load(self, saved):
        self.count = int(saved)


def test_an_instance_saves_and_loads():
    one, other = Counter(), Counter()
    one.eval([])
    other.load(one.save())
    assert other.eval([]) == 2
