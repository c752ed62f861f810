"""Variables of scripts: what is replaced, and where errors are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present

from panes.catalog import Catalog
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import steps
from panes.source import Source, Span
from panes.sql.variables import with_variables

VALUES = {"t": "orders", "n": "10", "empty": ""}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT ${n} FROM ${t}", "SELECT 10 FROM orders"),
        ("'a/${t}/b' \"${n}\" `${t}`", "'a/orders/b' \"10\" `orders`"),
        ("x${empty}y", "xy"),
        ("-- ${nobody}\n${n} /* ${nobody}\n */", "-- ${nobody}\n10 /* ${nobody}\n */"),
        ("'-- no comment ${n}' ${n}", "'-- no comment 10' 10"),
        (r"'it\'s -- ${n}' -- ${nobody}", r"'it\'s -- 10' -- ${nobody}"),
        ("'it''s -- ${n}' -- ${nobody}", "'it''s -- 10' -- ${nobody}"),
        ("'${ENV:PASSWORD}' '${FILE:/run/secret}'", "'${ENV:PASSWORD}' '${FILE:/run/secret}'"),
        ("rlike '^a${2}$'", "rlike '^a${2}$'"),
    ],
)
def test_replaced(written: str, text: str) -> None:
    assert with_variables(Source(written), VALUES).text == text


@pytest.mark.parametrize(("values", "hint"), [({}, "--set tt="), (VALUES, "--set tt="), ({"ttt": "x"}, "mean ttt?")])
def test_an_unknown_variable_is_underlined(values: dict[str, str], hint: str) -> None:
    with pytest.raises(PanesError) as caught:
        with_variables(Source("SELECT 1\nFROM ${tt}"), values)
    assert caught.value.code == "unknown-variable"
    assert present(caught.value.span).text == "${tt}"
    assert hint in present(caught.value.hint)


def error_in(written: str, values: dict[str, str]) -> Span:
    script = with_variables(Source(written, "script.sql"), values)
    with pytest.raises(PanesError) as caught:
        list(steps(script.text, Catalog(), Functions(), "script.sql"))
    shown = script.as_written(caught.value)
    assert isinstance(shown, PanesError)
    return present(shown.span)


def test_an_error_is_underlined_in_what_the_user_wrote() -> None:
    stream = "CREATE STREAM ${t} (a INT);"
    longer = {"t": "a_stream_with_a_long_name", "u": "nobody"}
    span = error_in(f"{stream}\nSELECT a FROM ${{t}} WHERE b > 1", longer)
    assert (span.text, span.line, span.source.name) == ("b", 2, "script.sql")
    assert error_in(f"{stream}\nSELECT a, ${{u}} FROM ${{t}}", longer).text == "${u}"
    assert error_in(f"{stream}\nSELECT a, x${{u}}y FROM ${{t}}", longer).text == "x${u}y"


PIECES = st.lists(st.sampled_from(["a", " ", "${t}", "${n}", "${empty}", "\n"]), max_size=12)


@given(PIECES, st.data())
def test_places_lie_where_the_text_came_from(pieces: list[str], data: st.DataObject) -> None:
    """A part that was not replaced is found again as it is, whatever stands before it."""
    script = with_variables(Source("".join([*pieces, "HERE", *pieces])), VALUES)
    at = script.text.index("HERE")
    assert script.written(Span(Source(script.text), at, at + 4)).text == "HERE"
    start = data.draw(st.integers(0, len(script.text)))
    end = data.draw(st.integers(start, len(script.text)))
    span = script.written(Span(Source(script.text), start, end))
    assert 0 <= span.start <= span.end <= len(script.source.text)
