"""Plans as HTML: the tree that the table shows, whatever stands in it."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.explain import PlanText, Row, document, info_text
from panes.explain.html import drawn

ROWS = st.recursive(
    st.builds(Row, st.just("DataSource"), st.dictionaries(st.text("ab<&\"'>", min_size=1), st.text(max_size=9))),
    lambda inner: st.builds(
        Row, st.sampled_from(["Filter", "Window"]), st.just({"x": ["<b>", "&"]}), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)
VOID = ("br", "hr", "img", "input", "link", "meta")


class Tree(HTMLParser):
    """The nodes of a drawn plan as they are nested; tags that are not closed in order fail."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.nodes: list[dict[str, Any]] = []
        self.roots: list[dict[str, Any]] = []
        self.key = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag not in VOID
        self.open.append(tag)
        self.names.add(tag)
        if tag == "li":
            node: dict[str, Any] = {"id": "", "info": {}, "inputs": []}
            (self.nodes[-1]["inputs"] if self.nodes else self.roots).append(node)
            self.nodes.append(node)
        if tag in ("dt", "dd"):
            self.text = ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "li":
            self.nodes.pop()
        if tag == "dt":
            self.key = self.text
        if tag == "dd":
            self.nodes[-1]["info"][self.key] = self.text

    def handle_data(self, data: str) -> None:
        if self.open[-1] == "span":
            self.nodes[-1]["id"] += data
        elif self.open[-1] in ("dt", "dd"):
            self.text += data


def plain(found: dict[str, Any]) -> dict[str, Any]:
    """A node of `document` with its values as texts."""
    info = {key: info_text({key: value}).removeprefix(f"{key}=") for key, value in found["info"].items()}
    return {"id": found["id"], "info": info, "inputs": [plain(one) for one in found["inputs"]]}


@given(ROWS)
def test_the_drawn_tree_is_that_of_the_plan(row: Row) -> None:
    """Every name and value comes back as it was, and nothing in them becomes a tag."""
    tree = Tree(drawn({"plan": row}))
    assert tree.roots == [plain(document(row))]
    assert tree.names <= {"div", "style", "details", "summary", "ul", "li", "span", "dl", "dt", "dd"}


def test_every_plan_is_there_and_the_last_is_open() -> None:
    html = drawn({"logical plan": Row("A", {}), "physical plan": Row("B", {})})
    assert [one["id"] for one in Tree(html).roots] == ["A_1", "B_1"]
    assert html.count("<details>") == html.count("<details open>") == 1


@pytest.mark.parametrize("copied", [lambda text: text, lambda text: pickle.loads(pickle.dumps(text))])
def test_a_plan_is_a_text(copied: Any) -> None:
    text = copied(PlanText.of({"plan": Row("A", {"x": 1})}))
    assert isinstance(text, PlanText) and text == "plan\nid  | info\n----+------\nA_1 | x=1"
    assert repr(text) == str(text) and text + "" == text and "A_1" in text._repr_html_()
