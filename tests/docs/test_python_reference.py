"""The reference page of the Python API is what the docstrings say."""

from __future__ import annotations

import inspect

import pytest
from python_reference import ENTRIES, PAGE, markdown, page

import panes


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_public_name_has_its_section() -> None:
    named = {name for name, _, _ in ENTRIES}
    assert {f"panes.{name}" for name in panes.__all__} - named == {"panes.__version__"}


def test_everything_shown_has_a_docstring() -> None:
    shown = [(name, thing) for name, thing, _ in ENTRIES]
    shown += [(f"{name}.{method}", getattr(thing, method)) for name, thing, methods in ENTRIES for method in methods]
    assert [name for name, thing in shown if not inspect.getdoc(thing)] == []


def test_code_in_a_docstring_is_code_on_the_page() -> None:
    doc = "Text,\nmore.\n\n    def f():\n        pass\n\n    f()\n\n>>> 1 + 1\n2"
    code = "```python\ndef f():\n    pass\n\nf()\n```"
    assert markdown(doc) == f"Text,\nmore.\n\n{code}\n\n```python\n>>> 1 + 1\n2\n```"
