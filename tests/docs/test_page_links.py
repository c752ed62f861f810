"""The pages hang together: links lead somewhere, nothing is forgotten."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from panes.cli.main import app
from panes.compile import Compiled
from panes.errors import CODES
from panes.functions import Functions
from panes.logical.rules import RULES
from panes.sql.windows import USAGE

from .page_runner import play
from .test_pages import PAGES, ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def links_of(path: Path) -> list[tuple[Path, str]]:
    """The files and anchors that a page links to, blocks of code left out."""
    prose = re.sub(r"^(`{3,}).*?^\1", "", text_of(path), flags=re.MULTILINE | re.DOTALL)
    found = [link for link in LINK.findall(prose) if "://" not in link]
    return [((path.parent / name).resolve() if name else path, anchor) for name, _, anchor in map(_cut, found)]


def _cut(link: str) -> tuple[str, str, str]:
    return link.partition("#")


def anchors_of(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text_of(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in links_of(path):
        assert target.exists(), f"{path.name} links to {target.name}, which does not exist"
        assert not anchor or anchor in anchors_of(target), f"{target.name} has no heading #{anchor}"


def test_the_index_names_every_page() -> None:
    linked = {target for target, _ in links_of(DOCS / "index.md")}
    assert linked == {path.resolve() for path in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}


@pytest.mark.parametrize("code", CODES)
def test_the_errors_page_names_every_code(code: str) -> None:
    page = text_of(DOCS / "reference/errors.md")
    assert f"### {code}\n" in page or f"| `{code}` |" in page


def test_the_errors_page_names_no_other_code() -> None:
    page = text_of(DOCS / "reference/errors.md")
    assert set(re.findall(r"^### ([a-z-]+)$|^\| `([a-z-]+)` \|", page, flags=re.MULTILINE)) == {
        (code, "") if f"### {code}\n" in page else ("", code) for code in CODES
    }


@pytest.mark.parametrize("name", list(Functions().aggregates))
def test_the_aggregates_page_names_every_aggregate(name: str) -> None:
    assert re.search(rf"`{name}[`(]", text_of(DOCS / "reference/aggregates.md"))


@pytest.mark.parametrize("name", Functions().stateful.names())
def test_the_stateful_page_names_every_function(name: str) -> None:
    assert re.search(rf"`{name}[`(]", text_of(DOCS / "reference/stateful-functions.md"))


@pytest.mark.parametrize("name", list(Functions().over))
def test_the_over_page_names_every_function(name: str) -> None:
    assert f"`{name}`" in text_of(DOCS / "reference/over.md")


@pytest.mark.parametrize("name", USAGE)
def test_every_window_has_its_page(name: str) -> None:
    page = DOCS / f"reference/windows/{name.removesuffix('window')}.md"
    assert text_of(page).startswith(f"# {name}\n")


def test_the_rules_page_has_every_rule_in_order() -> None:
    headings = re.findall(r"^## (\w+)$", text_of(DOCS / "internals/rules.md"), flags=re.MULTILINE)
    assert headings == [rule.__name__ for rule in RULES]


def words_of(node: dict[str, Any]) -> set[str]:
    """The names of a plan's nodes, and the words that say what was decided about them."""
    return {node["node"], *node["info"]}.union(*(words_of(below) for below in node["inputs"]))


def test_the_explain_page_names_every_word_that_a_plan_on_any_page_has() -> None:
    steps = [step for path in PAGES for outcome in play(text_of(path)) for step in outcome.steps]
    plans = [json.loads(step.explain_json()) for step in steps if isinstance(step, Compiled)]
    words = {word for both in plans for plan in both.values() for word in words_of(plan)}
    page = text_of(DOCS / "reference/explain.md")
    assert {word for word in words if not re.search(rf"`{word}[`=]", page)} == set()


@pytest.mark.parametrize("command", [command.name for command in app.registered_commands])
def test_the_command_line_page_names_every_command(command: str) -> None:
    assert f"`panes {command}" in text_of(DOCS / "reference/command-line.md")


def test_the_index_names_every_command() -> None:
    (row,) = (line for line in text_of(DOCS / "index.md").splitlines() if "command-line.md" in line)
    named = re.findall(r"`(?:panes )?(\w+)`", row)
    assert named == [command.name for command in app.registered_commands]
