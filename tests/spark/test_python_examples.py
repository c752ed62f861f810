"""The examples in docstrings of what users call, where they need Spark."""

from __future__ import annotations

import doctest
import importlib

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", ["panes.engine", "panes.testing.replay"])
def test_examples(spark: SparkSession, name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.failed == 0 and done.attempted > 0
