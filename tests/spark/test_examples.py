"""The examples in docstrings of the rooms that import Spark; they start none."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import panes.spark

MODULES = [module.name for module in pkgutil.iter_modules(panes.spark.__path__, "panes.spark.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
