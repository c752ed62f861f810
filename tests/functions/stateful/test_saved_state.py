"""What an instance of a user's function keeps without a save and load of its own."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.errors import CODES, PanesError
from panes.functions.stateful import StatefulFunctionInstance

ZONES = st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(hours=-3, minutes=-30)), ZoneInfo("Europe/Berlin")])
FLAT = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes(timezones=ZONES)
    | st.timedeltas()
)
HASHABLE = st.recursive(FLAT, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HASHABLE, inner, max_size=3),
    max_leaves=8,
)


class Holder(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.value: Any = "fresh"


@settings(max_examples=200)
@given(VALUES)
def test_a_state_comes_back_as_it_was(value: object) -> None:
    one, other = Holder(), Holder()
    one.value = value
    vars(one)["later"] = [value]
    other.load(one.save())
    assert repr(vars(other)) == repr(vars(one))
    assert type(other.value) is type(value)


def test_a_moment_that_came_twice() -> None:
    one, other = Holder(), Holder()
    one.value = dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    other.load(one.save())
    assert other.value.utcoffset() == dt.timedelta(hours=1)
    assert other.value.tzinfo is one.value.tzinfo


def test_not_a_number_comes_back() -> None:
    one, other = Holder(), Holder()
    one.value = [float("nan"), float("-inf"), Decimal("NaN")]
    other.load(one.save())
    assert str(other.value) == str(one.value)


class Slotted(StatefulFunctionInstance):
    __slots__ = ("count",)


def _holder(value: object) -> Holder:
    holder = Holder()
    holder.value = value
    return holder


@pytest.mark.parametrize("instance", [_holder({1, 2}), _holder([OrderedDict()]), _holder(print), Slotted()])
def test_what_it_cannot_hold_is_refused(instance: Holder | Slotted, monkeypatch: pytest.MonkeyPatch) -> None:
    if "function-failed" not in CODES:
        monkeypatch.setitem(CODES, "function-failed", "a user's function failed")
    with pytest.raises(PanesError) as caught:
        instance.save()
    assert caught.value.code == "function-failed"
    assert "save and a load of its own" in present(caught.value.hint)


def test_an_instance_needs_a_way_to_evaluate() -> None:
    with pytest.raises(NotImplementedError):
        Holder().eval([])
