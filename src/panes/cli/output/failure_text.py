"""What went wrong, in the words that say it: without Java's stack, without Spark's plan, without Python's frames."""

from __future__ import annotations

import re

from panes.errors import PanesError

PLAN = "\n=== Streaming Query ==="  # behind it Spark shows the plan
WRAPPED = re.compile(r"^\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: ")
TASK = re.compile(r"Job aborted due to stage failure: .*? executor [^)]*\): ", re.DOTALL)
STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
CAUSE = re.compile(r"^Caused by: (?P<cause>.*)$", re.MULTILINE)
CALL = re.compile(r"^An error occurred while calling \S+?\.(?: Trace:)?\n(?:: )?")  # of Python's bridge to Java
TRACEBACK = "Traceback (most recent call last):"
WORKER = "An exception was thrown from the Python worker"
RAISED = re.compile(r"^\S.*$", re.MULTILINE)  # frames are indented
NO_JAVA = "JAVA_GATEWAY_EXITED"
CLASS = re.compile(r"^(?:[a-z]\w*\.)+(?=[A-Z]\w*(?:Exception|Error)\b)")


def in_short(error: BaseException) -> str:
    """An error as text for a person; a Panes error is one already."""
    if isinstance(error, PanesError):
        return str(error)
    return shortened(str(error)) or type(error).__name__


def shortened(text: str) -> str:
    r"""The first line of what Spark says, and what caused it, if that is something else.

    Of what a Python worker raised, only that: it is the user's, or says all.

    >>> shortened("[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: no disk\n\tat x.Y.z(Y.java:1)")
    'no disk'
    """
    text = TASK.sub("", WRAPPED.sub("", CALL.sub("", text.split(PLAN)[0].strip())))
    raised = RAISED.search(_traceback(text))
    causes = [found["cause"] for found in CAUSE.finditer(text)]
    head = _named(_first_line(text))
    root = _named(raised[0] if raised is not None else (causes or [""])[-1])
    if raised is not None and (head.endswith(TRACEBACK) or head.startswith(WORKER)):
        head = root
    text = head if not root or root in head else f"{head}\ncaused by {root}"
    return f"{text}\npanes doctor shows what is missing" if NO_JAVA in text else text


def _traceback(text: str) -> str:
    """What stands behind the last traceback of a Python worker."""
    return text.rpartition(TRACEBACK)[2] if TRACEBACK in text else ""


def _first_line(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("at ")), "")


def _named(line: str) -> str:
    """Without the packages of a Java class, and without the SQL state."""
    return CLASS.sub("", STATE.sub("", line.strip()))
