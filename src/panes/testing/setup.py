"""`module:function`: Python that registers functions with an engine before a test's query is compiled."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle

from panes.testing.inputs import CaseError

Setup = Callable[[Any], object]


def load_setup(text: str, folders: tuple[Path, ...], line: int = 0) -> Setup:
    """The function of `module:function`, looked for in some folders first.

    Spark's workers do not look in these folders, so modules that come from there travel by their content.
    """
    module_name, colon, function_name = text.strip().partition(":")
    if not colon or not module_name or not function_name:
        raise CaseError(line, f"{text!r} is not module:function")
    before = set(sys.modules)
    with _searched(folders):
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise CaseError(line, f"cannot import {module_name}: {error}") from None
    _check_place(module, folders, line)
    for name in [*(set(sys.modules) - before), module_name]:
        if _is_in(sys.modules[name], folders):
            cloudpickle.register_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]
    found = getattr(module, function_name, None)
    if not callable(found):
        raise CaseError(line, f"{module_name} has no function {function_name}")
    return found  # type: ignore[no-any-return]


def _check_place(module: ModuleType, folders: tuple[Path, ...], line: int) -> None:
    """Python keeps one module under a name: of two folders with one each, the second would get the first."""
    there = (folder / f"{module.__name__.replace('.', '/')}.py" for folder in folders)
    meant = next((path.resolve() for path in there if path.is_file()), None)
    if meant is not None and Path(module.__file__ or "").resolve() != meant:
        raise CaseError(line, f"{module.__name__} is {module.__file__} already: call {meant} something else")


@contextmanager
def _searched(folders: tuple[Path, ...]) -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = [str(folder.resolve()) for folder in folders]
    try:
        yield
    finally:
        sys.path[:] = before


def _is_in(module: ModuleType, folders: tuple[Path, ...]) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and any(folder.resolve() in Path(file).resolve().parents for folder in folders)
