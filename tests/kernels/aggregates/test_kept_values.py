"""Percentiles, modes and texts: order, direction and delimiters. Their definitions are in test_accumulators."""

from typing import Any

import pyarrow as pa
import pytest

from panes.functions.within import Direction
from panes.kernels.aggregates.accumulator import Accumulator, Asked
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.aggregates.kept_values import discrete_percentile, listed, listed_once, mode, percentile

UP, DOWN = Direction(), Direction(True)


def value(one: Accumulator, **columns: list[Any]) -> Any:
    """An aggregate over rows, each of which was folded alone."""
    names = tuple(columns)
    grouping = Grouping((), (Fold(one, names, None, "s"),), ("o",))
    size = len(columns[names[0]])
    table = pa.table({**columns, "o": range(size)})
    parts = [grouping.fold(table.slice(at, 1)) for at in range(size)] or [grouping.fold(table)]
    return grouping.evaluate(grouping.merge(parts))["s"][0].as_py()


@pytest.mark.parametrize(("way", "expected"), [(UP, [1.0, 1.75, 2.0]), (DOWN, [4.0, 2.5, 3.0])])
def test_percentiles_in_both_directions(way: Direction, expected: list[float]) -> None:
    values = [4.0, 1.0, 3.0, 2.0]
    assert value(percentile((0.0, 0.25), (way,)), x=values)[0] == expected[0]
    assert value(percentile(0.25, (way,)), x=values) == (1.75 if way is UP else 3.25)
    assert value(discrete_percentile(0.5, (way,)), x=values) == expected[2]
    assert value(discrete_percentile(0.0, (way,)), x=values) == expected[0]


@pytest.mark.parametrize(("way", "expected"), [((), 1), ((UP,), 1), ((DOWN,), 3)])
def test_of_several_modes_the_direction_decides(way: tuple[Direction, ...], expected: int) -> None:
    assert value(mode(Asked(["int"], within=way)), x=[3, 1, 2, 3, 1]) == expected


def test_the_sign_of_zero_does_not_show() -> None:
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        assert str(value(mode(Asked(["double"])), x=zeros)) == "0.0"


def test_inside_a_struct_null_is_least() -> None:
    structs = [{"a": 1}, {"a": None}, {"a": 1}, {"a": None}]
    assert value(mode(Asked(["struct<a:int>"])), x=structs) == {"a": None}


def test_texts_follow_their_keys_then_the_stream() -> None:
    columns: dict[str, list[Any]] = {"x": ["a", "b", None, "c", "d"], "y": [1, 2, 3, None, 1]}
    first = Direction(True, nulls_first=True)
    for way, expected in ((UP, "c,a,d,b"), (DOWN, "b,a,d,c"), (first, "c,b,a,d")):
        assert value(listed(Asked(["string", "int"], delimiter=",", within=(way,))), **columns) == expected
    assert value(listed(Asked(["string"], delimiter="$'")), x=["a", "", "b"]) == "a$'$'b"
    assert value(listed(Asked(["string"])), x=pa.array([None], pa.string()).to_pylist() or [""]) is None


def test_each_text_once() -> None:
    own = accumulator("collect_set", ["string"])
    assert own is not None
    assert value(listed_once(Asked(["string"], delimiter=","), own), x=["b", "a", "b"]) == "b,a"
    by_value = listed_once(Asked(["string", "int"], delimiter=",", within=(DOWN,)), own)
    assert value(by_value, x=["9", "10", "9"], y=[9, 10, 9]) == "10,9"
