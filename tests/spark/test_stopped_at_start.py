"""A run that is stopped while its queries start starts no more of them. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from panes.functions import Functions
from panes.spark import runner
from panes.spark.news import News
from panes.spark.run_options import Run
from panes.why.plan import QueryPlan


class Query:
    """A query that has read all that there is."""

    isActive = False  # noqa: N815
    lastProgress = None  # noqa: N815

    def __init__(self) -> None:
        self.stopped = False

    def exception(self) -> None:
        return None

    def stop(self) -> None:
        self.stopped = True


class Queries:
    """The queries of a script; from `last` on, the user has asked for the end."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.started: list[Query] = []
        self.ended_inputs = 0
        self.told: list[list[str]] = []
        self.how = Run(
            cast("SparkSession", None),
            {},
            None,
            Functions(),
            once=True,
            flush=False,
            report=lambda report: None,
            stopped=self.asked,
            started=self.told.append,
        )

    def asked(self) -> bool:
        return len(self.started) + self.ended_inputs >= self.last

    def start(self, how: Run) -> runner.Running:
        self.started.append(Query())
        ready = SimpleNamespace(insert=SimpleNamespace(name=f"q{len(self.started)}", streams=(), keeps_letters=False))
        running = runner.Running(cast("Any", ready), cast("Any", self.started[-1]), drains=False)
        running.end_input = self.end_input  # type: ignore[method-assign]
        return running

    def end_input(self, how: Run) -> None:
        self.ended_inputs += 1

    def run(self, how: Run) -> bool:
        record = SimpleNamespace(plan=asdict(QueryPlan((), ())))
        inserts = [SimpleNamespace(name=f"q{number}") for number in range(1, 5)]
        ready = [SimpleNamespace(start=self.start, insert=one, record=record) for one in inserts]
        return runner._run_ready(cast("Any", ready), how)


@pytest.fixture(autouse=True)
def _no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def listening(spark: object) -> Iterator[News]:
        yield News()

    monkeypatch.setattr(runner, "listening", listening)


@pytest.mark.parametrize("last", [0, 1, 3])
def test_no_more_queries_are_started(last: int) -> None:
    queries = Queries(last)
    assert queries.run(queries.how) is False
    assert len(queries.started) == last
    assert all(one.stopped for one in queries.started)
    assert queries.told == []


def test_no_more_inputs_are_ended() -> None:
    queries = Queries(last=4 + 2)
    assert queries.run(replace(queries.how, flush=True)) is False
    assert queries.ended_inputs == 2


def test_else_all_come_to_their_end() -> None:
    queries = Queries(last=100)
    assert queries.run(replace(queries.how, flush=True)) is True
    assert (len(queries.started), queries.ended_inputs) == (4, 4)
