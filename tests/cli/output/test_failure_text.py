"""What Spark says of a failure, in short."""

from __future__ import annotations

import pytest

from panes.cli.output.failure_text import in_short, shortened
from panes.errors import PanesError

STACK = "\n\tat org.apache.spark.sql.X.y(X.scala:1)\n\tat java.base/java.lang.Thread.run(Thread.java:840)"
TASK = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage "
    "3.0 (TID 3) (host executor driver): "
)
QUERY = "[STREAM_FAILED] Query [id = 0c1, runId = 9d2] terminated with exception: "
PLAN = "\n=== Streaming Query ===\nIdentifier: x\nLogical Plan: y"
WORKER = (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "/x/worker.py", line 1, in main\n    process()\nValueError: no such shop\n'
)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (f"{QUERY}no disk SQLSTATE: XXKST{STACK}{PLAN}", "no disk"),
        (f"{QUERY}{TASK}java.io.IOException: No space left on device{STACK}", "IOException: No space left on device"),
        (f"an error occurred{STACK}\nCaused by: java.io.IOException: Disk quota exceeded{STACK}",
         "an error occurred\ncaused by IOException: Disk quota exceeded"),
        (f"{QUERY}{TASK}{WORKER}{STACK}",
         "PythonException: Traceback (most recent call last):\ncaused by ValueError: no such shop"),
        ("plain words", "plain words"),
        ("[JAVA_GATEWAY_EXITED] Java exited", "[JAVA_GATEWAY_EXITED] Java exited\npanes doctor shows what is missing"),
    ],
)  # fmt: skip
def test_in_short(text: str, short: str) -> None:
    assert shortened(text) == short
    assert "\tat " not in shortened(text)


def test_an_error_without_words_has_its_name() -> None:
    assert in_short(ValueError()) == "ValueError"


def test_an_error_of_panes_is_text_already() -> None:
    error = PanesError("unknown-sink", "there is no sink x", None, "Use y.")
    assert in_short(error) == str(error)
