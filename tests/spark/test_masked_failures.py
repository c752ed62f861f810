"""What fails tells no secret, to nobody, and is told once. No Spark."""

from __future__ import annotations

import io
import traceback
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from panes.catalog import Catalog, Column, Sink
from panes.cli.output.json_lines import JsonLines
from panes.cli.script_file import reported_errors
from panes.cli.supervise import Telling
from panes.compile import compile_query
from panes.declare import declare
from panes.errors import PanesError
from panes.functions import Functions
from panes.secrets import resolved
from panes.source import Source
from panes.spark.failures import masked_error, masked_failures
from panes.spark.run_options import Run
from panes.spark.runner import Running, _look_for_failure
from panes.sql.variables import Script

WORD = "correct-horse"


@pytest.fixture(autouse=True)
def _word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANES_TEST_WORD", WORD)
    monkeypatch.setattr("panes.secrets._handed_out", set())
    resolved({"password": "${ENV:PANES_TEST_WORD}"})


def failed_query(error: Exception) -> Running:
    """A query that Spark has ended."""
    catalog = Catalog()
    catalog.streams.put(declare("t", [Column("v", "int")], streaming=True))
    catalog.sinks.put(Sink("out", {"connector": "noop"}))
    compiled = compile_query("INSERT INTO out SELECT v FROM t", catalog, Functions())
    ready = SimpleNamespace(insert=SimpleNamespace(name="out", compiled=compiled))
    return Running(cast("Any", ready), cast("Any", SimpleNamespace(exception=lambda: error)), drains=False)


def how(telling: Telling, keep_going: bool) -> Run:
    return Run(
        cast("SparkSession", None),
        {},
        None,
        Functions(),
        once=True,
        flush=False,
        report=telling.batch,
        stopped=lambda: False,
        keep_going=keep_going,
        failed=telling.failed,
    )


FAILED = [
    StreamingQueryException(f"[STREAM_FAILED] Query [id = 1] terminated with exception: no login with {WORD}"),
    StreamingQueryException(f"PanesError: database-failed: no login with {WORD}\nhint: Not {WORD}."),
]


@pytest.mark.parametrize("failed", FAILED)
@pytest.mark.parametrize("keep_going", [False, True])
def test_a_query_that_fails_is_told_once_without_the_secret(failed: Exception, keep_going: bool) -> None:
    out = io.StringIO()
    telling = Telling(JsonLines(out), Script("", Source("")))
    query = failed_query(failed)

    def run() -> None:
        with masked_failures():
            _look_for_failure(query, how(telling, keep_going))
            assert keep_going and query.error is not None
            raise query.error

    with pytest.raises(Exception, match="no login") as caught:
        run()
    telling.refused(caught.value)
    assert WORD not in out.getvalue()
    assert out.getvalue().count("no login with ***") == 1
    assert caught.value is query.error


def test_a_secret_that_is_a_common_word_does_not_tell_it_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the name of a user; it stands in the names of our own classes."""
    monkeypatch.setenv("PANES_TEST_WORD", "panes")
    resolved({"user": "${ENV:PANES_TEST_WORD}"})
    out = io.StringIO()
    telling = Telling(JsonLines(out), Script("", Source("")))
    query = failed_query(PanesError("store-failed", "no disk"))
    with pytest.raises(PanesError) as caught, masked_failures():
        _look_for_failure(query, how(telling, keep_going=False))
    telling.refused(caught.value)
    assert len(out.getvalue().splitlines()) == 1


def test_what_has_no_secret_stays_what_it_is() -> None:
    error = ValueError("no disk")
    assert masked_error(error) is error


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (AnalysisException(f"[PATH_NOT_FOUND] {WORD}"), PySparkException, "[PATH_NOT_FOUND] ***"),
        (Py4JError(f"no {WORD}"), PySparkException, "no ***"),
        (StreamingQueryException(f"no {WORD}"), StreamingQueryException, "no ***"),
        (ValueError(f"no {WORD}"), RuntimeError, "ValueError: no ***"),
        (PanesError("store-failed", WORD, None, WORD), PanesError, "store-failed: ***\nhint: ***"),
    ],
)
def test_what_is_left_of_an_error(error: Exception, kind: type[Exception], text: str) -> None:
    found = masked_error(error)
    assert isinstance(found, kind)
    assert str(found) == text
    assert masked_error(found) is found


def test_what_an_error_comes_from_is_left_out() -> None:
    with pytest.raises(PanesError) as caught, masked_failures():
        try:
            raise ValueError(WORD)
        except ValueError as error:
            raise PanesError("store-failed", "no disk") from error
    assert WORD not in "".join(traceback.format_exception(caught.value))


def test_an_error_of_spark_is_no_traceback() -> None:
    told: list[Exception] = []
    with pytest.raises(BaseException) as caught, reported_errors(tell=told.append), masked_failures():
        raise AnalysisException(f"[PATH_NOT_FOUND] {WORD}")
    assert type(caught.value).__name__ == "Exit"
    assert [str(one) for one in told] == ["[PATH_NOT_FOUND] ***"]
