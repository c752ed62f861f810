"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import panes

NEEDS_SPARK = ("panes.spark", "panes.engine", "panes.testing")
NAMES = [module.name for module in pkgutil.walk_packages(panes.__path__, "panes.", onerror=lambda name: None)]
MODULES = [name for name in NAMES if not name.startswith(NEEDS_SPARK)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    assert any(test.examples for name in MODULES for test in finder.find(importlib.import_module(name)))
