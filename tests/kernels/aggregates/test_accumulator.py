"""What an accumulator says of itself."""

from panes.kernels.aggregates.accumulator import AS_IS, Accumulator, Asked, given


def test_whether_a_state_is_the_value() -> None:
    assert Accumulator("sum($x) $w", "sum($s)", "$s", "double", AS_IS).is_value
    assert not Accumulator("sum($x) $w", "sum($s)", "-$s", "double", AS_IS).is_value


def test_that_all_arguments_are_given() -> None:
    assert given(["int", "int"]) == "$x IS NOT NULL AND $y IS NOT NULL"
    assert given([]) is None


def test_the_first_argument() -> None:
    assert Asked(["int", "string"]).x == "int"
