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

TRACEBACK = WORKER.partition("PythonException: ")[2]
OTHER = TRACEBACK.replace("ValueError: no such shop", "KeyError: 'shop'")
OWN_WORKER = WORKER.replace("ValueError: no such shop", "shops.NoShop: north")


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (f"{QUERY}no disk SQLSTATE: XXKST{STACK}{PLAN}", "no disk"),
        (f"{QUERY}{TASK}java.io.IOException: No space left on device{STACK}", "IOException: No space left on device"),
        (f"an error occurred{STACK}\nCaused by: java.io.IOException: Disk quota exceeded{STACK}",
         "an error occurred\ncaused by IOException: Disk quota exceeded"),
        (f"{QUERY}{TASK}{WORKER}{STACK}", "ValueError: no such shop"),
        (f"{QUERY}{TASK}{OWN_WORKER}{STACK}", "shops.NoShop: north"),
        (f"\n  An exception was thrown from the Python worker. Please see the stack trace below.\n{TRACEBACK}",
         "ValueError: no such shop"),
        (f"[FOREACH_BATCH] An error in foreach batch sink. Reason: Return Message: {TRACEBACK}{STACK}",
         "ValueError: no such shop"),
        (f"the sink failed\n{TRACEBACK}", "the sink failed\ncaused by ValueError: no such shop"),
        (f"{TRACEBACK}\nDuring handling of the above exception, another exception occurred:\n\n{OTHER}",
         "KeyError: 'shop'"),
        (f"An error occurred while calling o46.load.\n: java.io.IOException: no such bucket{STACK}",
         "IOException: no such bucket"),
        (f"An error occurred while calling o46.load.\n: java.io.IOException: no{STACK}\nCaused by: a.BError: why",
         "IOException: no\ncaused by BError: why"),
        (f"An error occurred while calling None.org.apache.spark.X.\n: java.lang.BadError: no{STACK}", "BadError: no"),
        (f"An error occurred while calling o1.foo. Trace:\npy4j.Py4JException: Method foo([]) does not exist{STACK}",
         "Py4JException: Method foo([]) does not exist"),
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
