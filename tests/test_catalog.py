"""The catalogue: names without case, and the rules that a declaration must keep."""

from typing import Any

import pytest
from present import present

from panes.catalog import Catalog, Column, Sink, Stream, View, check_stream, without_change_type
from panes.errors import PanesError

COLUMNS = (Column("K", "string"), Column("a", "int"), Column("ts", "timestamp"), Column("unknown"))


def stream(**options: Any) -> Stream:
    return Stream("s", COLUMNS, **options)


def test_shelves_have_no_case_and_keep_their_order() -> None:
    catalog = Catalog()
    catalog.views.put(View("Beta", "SELECT 1"))
    catalog.views.put(View("alpha", "SELECT 2"))
    assert present(catalog.views.get("BETA")).name == "Beta"
    assert catalog.views.names() == ["Beta", "alpha"]
    catalog.views.put(View("BETA", "SELECT 3"))
    assert [view.sql for view in catalog.views] == ["SELECT 3", "SELECT 2"]
    catalog.views.drop("beta")
    assert catalog.views.names() == ["alpha"]


@pytest.mark.parametrize(
    ("shelf", "code"), [("streams", "unknown-stream"), ("views", "unknown-view"), ("sinks", "unknown-sink")]
)
def test_dropping_what_is_not_there(shelf: str, code: str) -> None:
    catalog = Catalog()
    catalog.streams.put(stream())
    catalog.views.put(View("s", "SELECT 1"))
    catalog.sinks.put(Sink("s"))
    with pytest.raises(PanesError) as caught:
        getattr(catalog, shelf).drop("ss")
    assert caught.value.code == code
    assert "s" in present(caught.value.hint)


def test_streams_and_views_share_names_but_sinks_do_not() -> None:
    catalog = Catalog()
    catalog.sinks.put(Sink("x"))
    catalog.check_free("x")
    catalog.views.put(View("x", "SELECT 1"))
    with pytest.raises(PanesError) as caught:
        catalog.check_free("X")
    assert caught.value.code == "duplicate-name"
    catalog.streams.put(stream())
    assert catalog.relations() == ["s", "x"]


def test_columns_are_found_without_case() -> None:
    assert stream().column("k") == COLUMNS[0]
    assert stream().column("nope") is None
    assert without_change_type([Column("_CHANGE_TYPE"), Column("a")]) == (Column("a"),)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"time": "ts", "delay": 0},
        {"time": "TS", "delay": 10_000_000},
        {"time": "unknown", "delay": 1_000},
        {"time": "ts", "streaming": False},
        {"key": ("k",)},
        {"key": ("k",), "changelog": True, "sequence": "a"},
        {"key": ("k",), "changelog": True, "on_inconsistency": "skip"},
        {"state_ttl": 1, "heartbeat": 1},
    ],
)
def test_what_can_work(options: dict[str, int | str | tuple[str]]) -> None:
    assert check_stream(stream(**options)) == stream(**options)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"time": "ts"}, "watermark-required"),
        ({"delay": 1_000}, "stream-options"),
        ({"time": "nope", "delay": 0}, "unknown-column"),
        ({"time": "a", "delay": 0}, "stream-options"),
        ({"time": "ts", "delay": -1_000}, "stream-options"),
        ({"time": "ts", "delay": 1_500}, "stream-options"),
        ({"key": ("nope",)}, "unknown-column"),
        ({"changelog": True}, "stream-options"),
        ({"sequence": "a"}, "stream-options"),
        ({"key": ("k",), "changelog": True, "sequence": "nope"}, "unknown-column"),
        ({"on_inconsistency": "ignore"}, "stream-options"),
        ({"state_ttl": 0}, "stream-options"),
        ({"heartbeat": 0}, "stream-options"),
    ],
)
def test_what_cannot(options: dict[str, int | str | tuple[str]], code: str) -> None:
    with pytest.raises(PanesError) as caught:
        check_stream(stream(**options))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("columns", "code"), [((), "stream-options"), ((Column("a"), Column("A")), "ambiguous-column")]
)
def test_columns_of_a_stream(columns: tuple[Column, ...], code: str) -> None:
    with pytest.raises(PanesError) as caught:
        check_stream(Stream("s", columns))
    assert caught.value.code == code
