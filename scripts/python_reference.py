"""The reference page of the Python API, made from docstrings. `python scripts/python_reference.py` writes it.

A docstring's paragraphs become prose, its examples (`>>> …`) and what it indents become code, both of which tests run,
and a class is followed by those of its methods that are listed here.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import panes
from panes import sinks, testing
from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance
from panes.options.stream import CLAUSES, DOCS

PAGE = Path(__file__).parents[1] / "docs/reference/python.md"

# What users call, in the order of the page: its name, the thing, and the methods that are shown with it.
ENTRIES: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("panes.Engine", panes.Engine, ("stream", "sql", "explain", "run", "register")),
    ("panes.stateful", panes.stateful, ()),
    ("panes.functions.stateful.StatefulFunction", StatefulFunction, ("return_type", "create_instance")),
    (
        "panes.functions.stateful.StatefulFunctionInstance",
        StatefulFunctionInstance,
        ("eval", "save", "load"),
    ),
    ("panes.counters", panes.counters, ()),
    ("panes.testing.replay", testing.replay, ()),
    ("panes.testing.Stream", testing.Stream, ()),
    ("panes.testing.Replay", testing.Replay, ("rows", "table", "counter")),
    ("panes.sinks.postgres", sinks.postgres, ()),
    ("panes.sinks.delta", sinks.delta, ()),
    ("panes.PanesError", panes.PanesError, ()),
)
HEAD = """# Python

What Python code calls, from its docstrings; `scripts/python_reference.py` makes this page, and its examples are run.
[Statements](statements.md) and [SELECT](select.md) say what may stand in the SQL.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(part for entry in ENTRIES for part in _entry(*entry))])


def _entry(name: str, thing: Any, methods: tuple[str, ...]) -> Iterator[str]:
    yield from _section(f"## {name}", name.rpartition(".")[2], thing)
    for method in methods:
        found = inspect.getattr_static(thing, method)
        shown = f"{name.rpartition('.')[2]}.{method}"
        yield from _section(f"### {shown}", shown, found.fget if isinstance(found, property) else found)
        if found is panes.Engine.stream:
            yield _options()


def _section(heading: str, called: str, thing: Any) -> Iterator[str]:
    yield f"{heading}\n"
    yield f"```python\n{_signature(called, thing)}\n```\n"
    doc = inspect.getdoc(thing)
    if doc:
        yield f"{markdown(doc)}\n"


def _options() -> str:
    """The options of a stream, which SQL, Python and tests share."""
    rows = [f"| `{name}` | {doc}{' (a clause in SQL)' if name in CLAUSES else ''} |" for name, doc in DOCS.items()]
    text = "The options of a stream; lengths of time are texts such as `'10 seconds'`, or a `timedelta`:"
    return "\n".join([text, "", "| option | meaning |", "|---|---|", *rows, ""])


def _signature(called: str, thing: Callable[..., Any]) -> str:
    """How it is called, one parameter in a line if they do not fit into one."""
    signature = inspect.signature(thing)
    params = [one for one in signature.parameters.values() if one.name != "self"]
    parts: list[str] = []
    for one in params:
        if one.kind is one.KEYWORD_ONLY and "*" not in parts and not any(p.startswith("*") for p in parts):
            parts.append("*")
        parts.append(_parameter(one))
    gives = "" if inspect.isclass(thing) or not signature.return_annotation else f" -> {signature.return_annotation}"
    line = f"{called}({', '.join(parts)}){gives}"
    return line if len(line) <= 110 else f"{called}(\n" + "".join(f"    {part},\n" for part in parts) + f"){gives}"


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    typed = f"{stars}{one.name}: {one.annotation}" if one.annotation is not one.empty else f"{stars}{one.name}"
    if one.default is one.empty:
        return typed
    default = json.dumps(one.default) if isinstance(one.default, str) else repr(one.default)
    return f"{typed} = {'…' if callable(one.default) else default}"


def markdown(doc: str) -> str:
    """A docstring as Markdown."""
    return "\n\n".join(_block(part) for part in _parts(doc))


def _parts(doc: str) -> list[str]:
    """Paragraphs; code that has empty lines in it stays together."""
    parts: list[str] = []
    for part in re.split(r"\n{2,}", doc):
        if parts and _is_indented(part) and _is_indented(parts[-1]):
            parts[-1] += "\n\n" + part
        else:
            parts.append(part)
    return parts


def _is_indented(part: str) -> bool:
    return all(line.startswith("    ") for line in part.split("\n") if line)


def _block(part: str) -> str:
    if part.startswith(">>> "):
        return f"```python\n{part}\n```"
    if _is_indented(part):
        return f"```python\n{inspect.cleandoc(part)}\n```"
    return part


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
