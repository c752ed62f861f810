"""Plans as text: what is told is the same at any width, in lines that fit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from panes.explain import PlanText, Row, info_text, table
from panes.explain.table import Info, wrapped

WORDS = st.text("abc", min_size=1, max_size=12)
INFOS: st.SearchStrategy[Info] = st.dictionaries(WORDS, st.one_of(WORDS, st.lists(WORDS, max_size=5), st.none()))
PLAN = Row(
    "Join",
    {"kind": "left"},
    (Row("Filter", {"predicates": ["a > 0", "b > 0"]}, (Row("Source", {"stream": "s"}),)), Row("Source", {"x": 1})),
)


@given(INFOS, st.integers(1, 120))
def test_every_word_is_told_once_and_in_order(info: Info, width: int) -> None:
    assert " ".join(" ".join(wrapped(info, width)).split()) == info_text(info)


@given(INFOS, st.integers(1, 120))
def test_only_what_cannot_be_parted_is_longer_than_a_line(info: Info, width: int) -> None:
    assert all(len(line) <= max(width, 2 + len(line.split()[-1])) for line in wrapped(info, width) if line)


@given(INFOS)
def test_what_fits_stands_in_one_line(info: Info) -> None:
    text = info_text(info)
    assert wrapped(info, max(len(text), 40)) == [text]


def test_branches_are_drawn_beside_what_goes_on_below() -> None:
    assert table(PLAN, 24).splitlines()[2:] == [
        "Join_1       | kind=left",
        "├─Filter_2   | predicates=[a > 0,",
        "│ │          |   b > 0]",
        "│ └─Source_3 | stream=s",
        "└─Source_4   | x=1",
    ]


def test_a_plan_fits_any_width() -> None:
    text = PlanText.of({"plan": PLAN})
    assert text == f"plan\n{table(PLAN)}"
    assert text.fitted(24) == f"plan\n{table(PLAN, 24)}"
