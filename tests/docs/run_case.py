"""Executes an example: its inputs as scripted micro-batches, on real Structured Streaming."""

from __future__ import annotations

from collections.abc import Mapping

from panes.testing.cases import Way
from panes.testing.inputs import Input
from panes.testing.queries import Query
from panes.testing.run_case import Runnable, run_stream

from .page_runner import Batches


def run_case(query: Query, given: Mapping[str, Input]) -> Batches:
    """What comes out of a query, per micro-batch and at the flush."""
    batches = {name: one.rows() for name, one in given.items()}
    return run_stream(Runnable(query, given), batches, Way()).batches
