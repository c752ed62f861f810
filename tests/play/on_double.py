"""Runs of the page on the double of Spark's runtime: Panes' own kernels, and no Java."""

from __future__ import annotations

from dataclasses import replace
from trace.on_double import trace_on_double
from typing import Any

from panes.play.request import RunRequest
from panes.play.running import Outcome, ready
from panes.play.session import Tell


def run_on_double(asked: RunRequest, spark: Any, tell: Tell) -> Outcome:
    given = ready(asked.document)
    tell({"progress": "running"})
    return Outcome(replace(trace_on_double(given.query.text, given.scripted()), sql=asked.document.sql))
