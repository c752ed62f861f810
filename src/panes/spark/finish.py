"""Spark's last word on a kernel's value."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from pyspark.sql import SparkSession


def finished(finish: str, value: str, call: str, row: Mapping[str, str], spark: SparkSession) -> str:
    """The text of a call's value, where `finish` says what Spark makes of `$v`."""
    return Template(finish).substitute(v=value)
