"""A warm Spark in a thread of its own. One job runs at a time; of those that wait the newest stays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Line: TypeAlias = Mapping[str, Any]
Tell: TypeAlias = Callable[[Line | None], None]  # a line of an answer; None ends it
Job: TypeAlias = Callable[["SparkSession", Tell], Line]


@dataclass(frozen=True)
class _Asked:
    job: Job
    tell: Tell


class Session:
    """Jobs for one Spark; `failed` makes the last line of what a job raises."""

    def __init__(self, start: Callable[[], SparkSession], failed: Callable[[Exception], Line]) -> None:
        self._start, self._failed = start, failed
        self._changed = threading.Condition()
        self._waiting: _Asked | None = None
        self._stopped = False
        self.is_ready = False
        self._thread = threading.Thread(target=self._work, name="panes-play", daemon=True)

    def begin(self) -> None:
        """Start Spark in the background."""
        self._thread.start()

    def submit(self, job: Job, tell: Tell) -> None:
        """Run a job when the one before is done, unless a newer one comes until then."""
        with self._changed:
            replaced, self._waiting = self._waiting, _Asked(job, tell)
            self._changed.notify()
        if replaced is not None:
            _end(replaced.tell, {"replaced": True})

    def stop(self) -> None:
        """End the thread; what runs is not waited for."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _work(self) -> None:
        spark: SparkSession | None = None
        begin: Exception | None = None
        try:
            spark = self._start()
            self.is_ready = True
        except Exception as error:
            begin = error
        while (asked := self._next()) is not None:
            _end(asked.tell, self._answer(asked, spark, begin))

    def _next(self) -> _Asked | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._waiting is not None)
            asked, self._waiting = self._waiting, None
            return None if self._stopped else asked

    def _answer(self, asked: _Asked, spark: SparkSession | None, begin: Exception | None) -> Line:
        try:
            if begin is not None:
                raise begin
            return asked.job(cast("SparkSession", spark), asked.tell)  # it has started, or there was an error
        except Exception as error:
            return self._failed(error)


def _end(tell: Tell, line: Line) -> None:
    tell(line)
    tell(None)
