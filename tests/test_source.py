"""Spans and underlining."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.source import WIDTH, Source, Span, underline


def span(text: str, part: str, name: str = "") -> Span:
    start = text.index(part)
    return Span(Source(text, name), start, start + len(part))


@pytest.mark.parametrize(("offset", "position"), [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (4, (3, 1)), (6, (3, 3))])
def test_position(offset: int, position: tuple[int, int]) -> None:
    assert Source("ab\n\nxyz").position(offset) == position


def test_span() -> None:
    first, second = span("a + bc", "a"), span("a + bc", "bc")
    assert (second.text, second.line, second.column) == ("bc", 1, 5)
    assert first.to(second).text == second.to(first).text == "a + bc"


@pytest.mark.parametrize(
    ("text", "part", "shown"),
    [
        ("SELECT a\nFROM nowhere", "nowhere", ["   2 | FROM nowhere", "     |      ^^^^^^^"]),
        ("SELECT a", "SELECT", ["   1 | SELECT a", "     | ^^^^^^"]),
        ("\tSELECT\ta", "a", ["   1 |  SELECT a", "     |         ^"]),
        ("SELECT (a,\n  b)", "(a,\n  b)", ["   1 | SELECT (a,", "     |        ^^^"]),
        ("SELECT größe, ä", "ä", ["   1 | SELECT größe, ä", "     |               ^"]),
        ("a\r\nb c\r\n", "c", ["   2 | b c", "     |   ^"]),
    ],
)
def test_underline(text: str, part: str, shown: list[str]) -> None:
    assert underline(span(text, part)).split("\n") == shown


def test_a_place_without_text_still_has_a_caret() -> None:
    assert underline(Span(Source("ab"), 2, 2)).split("\n") == ["   1 | ab", "     |   ^"]
    assert underline(Span(Source(""), 0, 0)).split("\n") == ["   1 | ", "     | ^"]


def test_a_named_source_is_named() -> None:
    assert underline(span("SELECT a", "a", "view v")).split("\n")[0] == "in view v:"


@given(st.text("ab \t\né列", max_size=400), st.data())
def test_the_carets_stand_below_the_place(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    line, carets = underline(Span(Source(text), start, end)).split("\n")
    first, count = carets.index("^"), carets.count("^")
    assert count >= 1
    assert len(line) <= WIDTH + len("   1 | ")
    place = text[start:end].split("\n")[0].replace("\t", " ")
    assert line[first : first + count].startswith(place[:count]) or not place
    assert not place or line[first] == place[0]


def test_a_long_line_is_shown_around_the_place() -> None:
    text = "SELECT " + "a, " * 100 + "here" + ", b" * 100
    line, carets = underline(span(text, "here")).split("\n")
    first = carets.index("^")
    assert len(line) < 130
    assert line[first : first + carets.count("^")] == "here"


def test_secrets_are_not_shown_and_carets_stay_in_place() -> None:
    text = "CREATE SINK s WITH (connector = 'pg', my.`API-key` = 'it''s me', url = 'x://me:pass@db', nonsense = 1)"
    at = text.index("nonsense")
    shown, carets = underline(Span(Source(text), at, at + len("nonsense"))).splitlines()
    assert "it''s me" not in shown and ":pass@" not in shown and "connector = 'pg'" in shown
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "nonsense"
