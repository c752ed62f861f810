"""SQL, Python and `panes.testing` take the same options of a stream, with the same defaults."""

from __future__ import annotations

import inspect
import typing
from dataclasses import fields
from typing import Any

import pytest
from present import present

from panes import Engine
from panes.catalog import Catalog, Column, Stream
from panes.declare import OWN_OPTIONS, declare, declare_from
from panes.functions import Functions
from panes.options import StreamOptions
from panes.options.stream import CLAUSES, DOCS, NAMES, WITH
from panes.script import Listing, steps
from panes.sql import parse
from panes.sql.statements import CreateStream
from panes.testing import Stream as Scripted
from panes.testing.declared import options_of

DEFAULTS = {one.name: one.default for one in fields(StreamOptions)}
TYPES = typing.get_type_hints(StreamOptions)
DDL = "id STRING, n INT, ts TIMESTAMP"
COLUMNS = [Column("id", "string"), Column("n", "int"), Column("ts", "timestamp")]
WATERMARK = "WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"
TIMED: dict[str, Any] = {"time": "ts", "watermark": "5 seconds"}
CHANGES: dict[str, Any] = {"key": ["id"], "changelog": True}

# An option, what stands beside it in Python, and the same in SQL: the clauses, then WITH.
SAID: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    "time": (TIMED, WATERMARK, {}),
    "watermark": (TIMED, WATERMARK, {}),
    "key": ({"key": ["id", "n"]}, "PRIMARY KEY (id, n)", {}),
    "changelog": (CHANGES, "PRIMARY KEY (id)", {"changelog": "true"}),
    "sequence": ({**CHANGES, "sequence": "n"}, "PRIMARY KEY (id)", {"changelog": "true", "sequence": "n"}),
    "state_ttl": ({"state_ttl": "1 day"}, "", {"state_ttl": "1 day"}),
    "heartbeat": ({"heartbeat": "2 seconds"}, "", {"heartbeat": "2 seconds"}),
    "idle_timeout": ({**TIMED, "idle_timeout": "1 minute"}, WATERMARK, {"idle_timeout": "1 minute"}),
    "on_inconsistency": (
        {**CHANGES, "on_inconsistency": "skip"},
        "PRIMARY KEY (id)",
        {"changelog": "true", "on_inconsistency": "skip"},
    ),
    "preimages": (
        {**CHANGES, "preimages": "always"},
        "PRIMARY KEY (id)",
        {"changelog": "true", "preimages": "always"},
    ),
}


def of_sql(name: str) -> tuple[str, Stream]:
    _, clause, with_ = SAID[name]
    options = ", ".join(f"{key} = '{value}'" for key, value in with_.items())
    sql = f"CREATE STREAM s ({DDL}{', ' + clause if clause else ''})" + (f" WITH ({options})" if options else "")
    (statement,) = parse(sql)
    assert isinstance(statement, CreateStream)
    return sql, declare_from(statement)


def test_every_option_is_tried_and_has_a_doc() -> None:
    assert set(SAID) == set(NAMES) == set(DOCS)
    assert all(DOCS.values())


def test_python_takes_them_all_as_keywords() -> None:
    """Written out for editors, and so kept equal here: names, order, defaults and types."""
    parameters = inspect.signature(Engine.stream).parameters
    types = typing.get_type_hints(Engine.stream, localns={"DataFrame": Any})
    taken = {name: one.default for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert list(taken.items()) == list(DEFAULTS.items())
    assert {name: types[name] for name in taken} == TYPES


def test_a_scripted_stream_takes_them_all() -> None:
    own = {"schema": inspect.Parameter.empty, "batches": ()}
    taken = {name: one.default for name, one in inspect.signature(Scripted).parameters.items()}
    assert taken == own | DEFAULTS
    assert Scripted("a int", time="ts").keywords() == {**DEFAULTS, "time": "ts"}


def test_sql_takes_them_all() -> None:
    """Those without a clause of their own in WITH, beside what is about a connector's records."""
    assert set(WITH) | {"on_error", "dead_letter"} == OWN_OPTIONS and set(WITH) | set(CLAUSES) == set(NAMES)


def test_a_stream_of_which_nothing_is_said_has_the_defaults() -> None:
    bare = Stream("s", tuple(COLUMNS))
    assert declare("s", COLUMNS, streaming=True) == bare
    assert options_of(bare) == StreamOptions()


@pytest.mark.parametrize("name", NAMES)
def test_sql_and_python_mean_the_same(name: str) -> None:
    python, _, _ = SAID[name]
    sql, stream = of_sql(name)
    assert stream == declare("s", COLUMNS, StreamOptions(**python), streaming=True), sql
    assert getattr(options_of(stream), name) != DEFAULTS[name]
    assert declare("s", COLUMNS, options_of(stream), streaming=True) == stream


@pytest.mark.parametrize("name", NAMES)
def test_describe_shows_what_was_said(name: str) -> None:
    catalog, functions = Catalog(), Functions()
    _, shown = steps(f"{of_sql(name)[0]}; DESCRIBE s", catalog, functions)
    assert isinstance(shown, Listing)
    assert f"({name})" in present([row[0] for row in shown.rows])
