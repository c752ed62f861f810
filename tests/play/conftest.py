"""A page behind its gate, asked without a browser."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from panes.play.running import Outcome
from panes.play.token import Gate
from panes.trace.model import Fate, Result, Row, StreamTrace, Trace
from play.serving import play

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have a package that lower versions of Starlette cannot use
    from starlette.testclient import TestClient

GATE = Gate("the-token", 4711)
HOME = "http://127.0.0.1:4711"
TRACE = Trace(
    "SELECT 1",
    (
        StreamTrace(
            "t",
            ("k", "ts"),
            (Row(1, 0, 0, 1_000_000, ("<b>a</b>", "x")), Row(2, 1, 0, None, (None, None), Fate.LATE)),
            watermarks=(None, None),
        ),
    ),
    2,
    False,
    (),
    ("k",),
    (Result(1, 1, ("<script>alert(1)</script>",), rows=(1,)),),
)


def traced(asked: Any, spark: Any, tell: Any) -> Outcome:
    tell({"progress": "running"})
    return Outcome(TRACE)


@pytest.fixture
def stranger() -> Iterator[TestClient]:
    """One who does not have the token."""
    page = play(traced)
    yield TestClient(page.app(GATE), base_url=HOME, follow_redirects=False)
    page.session.stop()


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    """The page that was opened with the token."""
    stranger.get("/", params={"token": GATE.token})
    stranger.headers["origin"] = HOME
    return stranger
