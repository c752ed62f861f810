"""The reference page of the Python API is what the docstrings say."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any
from unittest import mock

import pytest
from python_reference import ENTRIES, PAGE, _is_indented, _parts, markdown, page

import panes


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def indented() -> dict[str, str]:
    """The indented code of what the page shows, by the name that it stands under."""
    shown = [(name, thing) for name, thing, _ in ENTRIES]
    shown += [(f"{name}.{method}", getattr(thing, method)) for name, thing, methods in ENTRIES for method in methods]
    found = {name: filter(_is_indented, _parts(inspect.getdoc(thing) or "")) for name, thing in shown}
    code = {name: "\n\n".join(map(textwrap.dedent, parts)) for name, parts in found.items()}
    return {name: text for name, text in code.items() if text}


def test_indented_code_runs() -> None:
    """Examples with `>>>` are run as doctests; these are run here, with a result whose writer only takes the sink."""
    examples = indented()
    assert set(examples) == {"panes.stateful", "panes.sinks.postgres", "panes.sinks.delta"}
    names: dict[str, Any] = {"panes": panes, "result": mock.Mock()}
    for code in examples.values():
        exec(code, names)
    assert [callable(call.args[0]) for call in names["result"].writeStream.foreachBatch.call_args_list] == [True, True]
    streak, smoothed = names["Streak"].create_instance(), names["smoothed"].create_instance()
    assert [streak.eval([x]) for x in "aabbb"] == [1, 2, 1, 2, 3]
    assert [smoothed.eval([x]) for x in (10, 10)] == pytest.approx([1, 1.9])


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
