"""One job at a time, and of those that wait the newest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from panes.play.session import Line, Session


class Told:
    """The lines of one answer."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.ended = threading.Event()

    def __call__(self, line: Line | None) -> None:
        if line is None:
            self.ended.set()
        else:
            self.lines.append(line)

    def all(self) -> list[Line]:
        assert self.ended.wait(30)
        return self.lines


def failed(error: Exception) -> Line:
    return {"error": str(error)}


@pytest.fixture
def session() -> Iterator[Session]:
    found = Session(lambda: None, failed)  # type: ignore[arg-type, return-value]
    found.begin()
    yield found
    found.stop()


def test_a_job_tells_on_the_way_and_then_its_answer(session: Session) -> None:
    def job(spark: Any, tell: Any) -> Line:
        tell({"progress": 1})
        return {"answer": 2}

    told = Told()
    session.submit(job, told)
    assert told.all() == [{"progress": 1}, {"answer": 2}]
    assert session.is_ready


def test_a_newer_job_replaces_one_that_waits_and_not_one_that_runs(session: Session) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(spark: Any, tell: Any) -> Line:
        begun.set()
        assert go_on.wait(30)
        return {"answer": "slow"}

    first, second, third = Told(), Told(), Told()
    session.submit(slow, first)
    assert begun.wait(30)
    session.submit(lambda spark, tell: {"answer": "second"}, second)
    session.submit(lambda spark, tell: {"answer": "third"}, third)
    assert second.all() == [{"replaced": True}]
    go_on.set()
    assert first.all() == [{"answer": "slow"}]
    assert third.all() == [{"answer": "third"}]


def test_a_job_that_fails_says_so_and_the_next_one_runs(session: Session) -> None:
    def job(spark: Any, tell: Any) -> Line:
        raise ValueError("no")

    told, after = Told(), Told()
    session.submit(job, told)
    assert told.all() == [{"error": "no"}]
    session.submit(lambda spark, tell: {"answer": 1}, after)
    assert after.all() == [{"answer": 1}]


def test_a_spark_that_does_not_start_is_told_to_each_job() -> None:
    def start() -> Any:
        raise ValueError("no Java")

    session = Session(start, failed)
    session.begin()
    for _ in range(2):
        told = Told()
        session.submit(lambda spark, tell: {"answer": 1}, told)
        assert told.all() == [{"error": "no Java"}]
    session.stop()
