"""Which state a query may go on from, and what is said where it may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from panes.errors import PanesError
from panes.physical.identity import (
    Identity,
    check_identity,
    column_name,
    column_of_state,
    differences,
)

SUM = ("sum(v)", "double")


def identity(columns: dict[str, tuple[str, str]] | None = None, **depends_on: Any) -> Identity:
    return Identity(depends_on, {"x": SUM} if columns is None else columns)


def test_what_is_written_is_read() -> None:
    one = identity({"x": SUM, "ä": ("first(`ä`)", "string")}, size="10 s", source={"stream": "t", "where": ["v > 0"]})
    assert Identity.decode(one.encode()) == one
    assert Identity.decode(one.encode()).digest == one.digest


def test_equal_identities_have_equal_texts() -> None:
    one = Identity({"a": 1, "b": {"c": 2, "d": [3]}}, {"x": SUM, "y": SUM})
    assert Identity({"b": {"d": [3], "c": 2}, "a": 1}, {"y": SUM, "x": SUM}).encode() == one.encode()


def test_another_version_is_refused() -> None:
    text = json.dumps({**json.loads(identity().encode()), "version": 2})
    with pytest.raises(PanesError) as caught:
        Identity.decode(text)
    assert caught.value.code == "state-mismatch"


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (identity(size="10 s", keys=["k"]), []),
        (identity({}, size="10 s", keys=["k"]), []),
        (identity(size="20 s", keys=["k"]), ["size was 10 s, now 20 s"]),
        (identity(size="10 s", keys=["k", "j"]), ["keys was k, now k, j"]),
        (identity(size="10 s", keys=[]), ["keys was k, now there is none"]),
        (identity(size="10 s", keys=["k"], offset="1 s"), ["offset is new: 1 s"]),
        (identity({"x": ("sum(v)", "bigint")}, size="10 s", keys=["k"]), ["sum(v) was double, now bigint"]),
        (identity({"x": SUM, "y": ("max(v)", "int")}, size="10 s", keys=["k"]), ["max(v) is new"]),
    ],
)
def test_differences_are_said_in_the_words_of_the_query(new: Identity, said: list[str]) -> None:
    old = identity(size="10 s", keys=["k"])
    assert list(differences(old, new)) == said
    if not said:
        check_identity(old, new)
        return
    with pytest.raises(PanesError) as caught:
        check_identity(old, new)
    assert caught.value.code == "state-mismatch"


def test_what_lies_below_is_compared_in_its_parts() -> None:
    old = identity(source={"window": {"kind": "tumbling", "length": "10 s"}, "of": {"stream": "t"}})
    new = identity(source={"window": {"kind": "tumbling", "length": "20 s"}, "of": {"stream": "t"}})
    assert list(differences(old, new)) == ["length was 10 s, now 20 s"]


def test_names_of_state_columns_follow_from_what_they_are() -> None:
    names = [column_name(text) for text in ("sum(a + 1)", "sum(a - 1)", "1 + a", "ünï(a)")]
    assert len(set(names)) == 4
    assert all(column_of_state(f"running {name}") == name for name in names)
    assert column_of_state("rows_in_group") is None
