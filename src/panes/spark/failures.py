"""What fails in Spark, as errors of Panes."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException

from panes.compile import Compiled
from panes.errors import CODES, PanesError
from panes.physical import plan as physical
from panes.secrets import masked
from panes.spark.refusals import place
from panes.spark.store_errors import full_or_forbidden, refused_by_store
from panes.spark.worker_python import unfit

RAISED = re.compile(r"\bPanesError: (?P<code>[a-z-]+): (?P<message>.*)(?:\nhint: (?P<hint>.*))?")
# SQLSTATE 22 is for data; behind it Spark quotes the expression that failed, and underlines the part of it.
BEGIN = r"\[[A-Z][A-Z0-9_.]+\] "  # how Spark's errors begin, whatever their class
DATA = re.compile(rf"(?P<message>{BEGIN}(?:(?!{BEGIN}).)*?) SQLSTATE: 22\w{{3}}(?P<context>(?:\n(?!\s+at ).+)*)")
QUOTED = re.compile(r"\n== SQL.*==\n(?P<line>.*)\n(?P<carets> *\^+)")
CAUSED = re.compile(r"^Caused by: .*$", re.MULTILINE)
NO_PANES = "No module named 'panes"
STATE = re.compile(r" SQLSTATE: \w+$")
PLAN = "\n=== Streaming Query ==="  # behind it Spark shows the plan, and in it what checks would say


def failure_of(failed: Exception, compiled: Compiled) -> PanesError | None:
    """The error of Panes in a query that failed; None if it is Spark's own affair."""
    return failure(str(failed), compiled) or full_or_forbidden(_causes(failed), _where(compiled))


def _causes(failed: Exception) -> str:
    """What Java says below the error of a query: why a file could not be written stands there alone."""
    below = str(getattr(getattr(failed, "_cause", None), "_stackTrace", ""))
    return "\n".join([below.partition("\n")[0], *CAUSED.findall(below)])


def _where(compiled: Compiled) -> str:
    return f" (INSERT INTO {compiled.physical.sink})" if compiled.physical.sink is not None else ""


def failure(text: str, compiled: Compiled) -> PanesError | None:
    """The error of Panes in what Spark says of a query that failed; None if it is Spark's own affair."""
    where = _where(compiled)
    text = text.split(PLAN)[0]
    raised = RAISED.search(text)
    if raised is not None and raised["code"] in CODES:
        hint = STATE.sub("", raised["hint"]) if raised["hint"] is not None else None
        return PanesError(raised["code"], f"{STATE.sub('', raised['message'])}{where}", None, hint)
    if NO_PANES in text:  # one worker has been asked, and this is another one
        return unfit("differ: on one executor they have no Panes")
    data = DATA.search(text)
    if data is None:
        return full_or_forbidden(text, where)
    expression = failing_expression(data["context"], calls(compiled.physical))
    within = compiled.statement.span
    span = place(expression, [within]) if expression is not None and within is not None else None
    named = f" In {expression}" if expression is not None and span is None else ""
    return PanesError("value-failed", f"{data['message']}{named}{where}", span)


def failing_expression(context: str, names: dict[str, str]) -> str | None:
    """The part of an expression that Spark underlines; `names` are calls by the columns that hold their values.

    >>> failing_expression(
    ...     "\\n== SQL (line 1, position 1) ==\\nCAST(col_1 AS INT) AS x\\n^^^^^^^^^^^^^^^^^^", {"col_1": "max(s)"}
    ... )
    'CAST(max(s) AS INT)'
    """
    found = QUOTED.search(context)
    if found is None:
        return None
    first = len(found["carets"]) - len(found["carets"].lstrip())
    text = found["line"][first : len(found["carets"])]
    return re.sub(r"`?\b(\w+)\b`?", lambda word: names.get(word[1], word[0]), text)


def calls(plan: physical.Plan) -> dict[str, str]:
    """The calls of a plan, by the columns that hold their values."""
    found: dict[str, str] = {}
    match plan:
        case physical.Window(aggregates=arguments) | physical.StatefulFunction(calls=arguments):
            found = {one.output: one.text for one in arguments}
        case physical.OverWindow(calls=over):
            found = {one.argument.output: one.argument.text for one in over}
        case _:
            pass
    for child in physical.children(plan):
        found |= calls(child)
    return found


@contextmanager
def masked_failures() -> Iterator[None]:
    """Whatever fails, no secret is in what is raised, nor in what that comes from."""
    try:
        yield
    except Exception as error:
        clean = masked_error(error)
        if clean is error:
            raise
        raise clean from None


def masked_error(error: Exception) -> Exception:
    """An error without secrets: the same one if there are none in it, nor in what it comes from."""
    told = "".join(traceback.format_exception(error, limit=0))  # frames show our code, and no values
    if masked(told) == told:
        return error
    text = masked(str(error))
    match error:
        case PanesError(code=code, message=message, span=span, hint=hint):
            return PanesError(code, masked(message), span, masked(hint) if hint is not None else None)
        case StreamingQueryException():
            return StreamingQueryException(text)
        case PySparkException() | Py4JError():
            return PySparkException(text)
        case _:
            return RuntimeError(f"{type(error).__name__}: {text}")


CONDITION = re.compile(f"{BEGIN}.*")


@contextmanager
def refused_by_spark(code: str, what: str) -> Iterator[None]:
    """What Spark finds wrong before a query runs, as an error of Panes."""
    try:
        yield
    except PanesError:
        raise
    except Exception as error:
        found = CONDITION.search(str(error))
        if found is not None:
            raise PanesError(code, f"{what}: {found[0]}") from error
        refused = full_or_forbidden(str(error), f" ({what})") or refused_by_store(error, what)
        if refused is not None:
            raise refused from error
        raise
