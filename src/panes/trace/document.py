"""A trace as JSON, the text of a `.panes.json` file, and back.

>>> from panes.trace.model import Trace
>>> trace = Trace("SELECT 1", (), 0, False, (), (), ())
>>> from_json(to_json(trace)) == trace
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from panes.errors import PanesError
from panes.trace.model import Trace

VERSION = 1


def to_json(trace: Trace) -> str:
    """The text of a `.panes.json` file; what has its default is left out."""
    return json.dumps(_plain(trace), ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> Trace:
    """The trace in the text of a `.panes.json` file."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _no_trace(f"it is not JSON: {error}") from error
    if not isinstance(document, Mapping) or "streams" not in document:
        raise _no_trace("it has no streams")
    if document.get("version", VERSION) != VERSION:
        raise _no_trace(f"it has version {document['version']}, and this Panes reads {VERSION}")
    try:
        trace = _made(Trace, document)
    except (KeyError, TypeError, ValueError) as error:
        raise _no_trace(f"{type(error).__name__}: {error}") from error
    assert isinstance(trace, Trace)
    return trace


def _no_trace(why: str) -> PanesError:
    return PanesError(
        "parse-error", f"this is no trace of Panes: {why}", None, "Write one with panes draw -o x.panes.json."
    )


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        own = {one.name: getattr(value, one.name) for one in fields(value) if getattr(value, one.name) != one.default}
        return {name: _plain(part) for name, part in own.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value


def _made(type_: Any, value: Any) -> Any:
    """A value of a type from what JSON has of it."""
    origin = get_origin(type_)
    if isinstance(type_, type) and is_dataclass(type_):
        hints = get_type_hints(type_)
        return type_(**{name: _made(hints[name], part) for name, part in value.items()})
    if isinstance(type_, type) and issubclass(type_, Enum):
        return type_(value)
    if origin is tuple:
        inner, *more = get_args(type_)
        assert more == [...]
        return tuple(_made(inner, part) for part in value)
    if origin in (Union, UnionType):
        own = [one for one in get_args(type_) if one is not NoneType]
        return value if value is None or len(own) > 1 else _made(own[0], value)
    return value
