"""The law: a text compiles into steps that explain and pickle, or a PanesError refuses it and shows the place."""

from __future__ import annotations

import json
import pickle
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from types import FrameType

from panes.compile import Compiled
from panes.errors import PanesError
from panes.script import Done, Explanation, Listing, Step, steps
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize

from .relations import FUNCTIONS, fresh_catalog

SECONDS = 20  # of processor time: other work on the machine does not count
ASLEEP = 300  # by the clock: nothing waits that long


class Hang(BaseException):
    """Not an Exception, so that no handler on the way takes it for an ordinary one."""


def check(sql: str) -> str:
    """Compile a script and hold it to the law; the answer is `compiled`, or the code of the refusal."""
    with no_hang():
        try:
            for step in steps(sql, fresh_catalog(), FUNCTIONS):
                check_step(step)
        except PanesError as error:
            check_error(error)
            return error.code
    return "compiled"


@contextmanager
def no_hang() -> Iterator[None]:
    """A guard against endless work, where the platform has one."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang("not done in time")

    before = [signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(ASLEEP)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


def check_step(step: Step) -> None:
    match step:
        case Compiled():
            check_compiled(step)
        case Explanation(text=text):
            assert text
        case Listing(header=header, rows=rows):
            assert all(len(row) == len(header) and all(isinstance(cell, str) for cell in row) for row in rows)
        case Done(message=message):
            assert message


def check_compiled(compiled: Compiled) -> None:
    text = compiled.explain()
    assert text == compiled.explain()
    plans = json.loads(compiled.explain_json())
    assert plans.keys() == {"logical", "physical"}
    assert pickle.loads(pickle.dumps(compiled.physical)) == compiled.physical
    for expr in expressions(compiled.logical):
        check_round_trip(expr)


def check_round_trip(expr: Expr) -> None:
    """The canonical text of an expression reads as the same expression, and is its own canonical text."""
    again = Expr(tokenize(Source(expr.sql)))
    assert again == expr, (expr.sql, expr.key, again.key)
    assert again.sql == expr.sql, (expr.sql, again.sql)


def expressions(node: object) -> Iterator[Expr]:
    """Every expression in a plan."""
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, Expr):
            yield one
        elif isinstance(one, tuple | list):
            todo += one
        elif is_dataclass(one) and not isinstance(one, type):
            todo += [getattr(one, each.name) for each in fields(one)]


def check_error(error: PanesError) -> None:
    span = error.span
    if span is not None:
        assert 0 <= span.start <= span.end <= len(span.source.text), (span.start, span.end, len(span.source.text))
    assert str(error).startswith(f"{error.code}: ")
