"""The page served in this process, as `panes play` serves it, with a run that a test brings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from panes.play.app import Play
from panes.play.document import Document
from panes.play.examples import FIRST
from panes.play.pictures import pictures
from panes.play.serve import listening, server
from panes.play.session import Session
from panes.play.token import Gate


def play(running: Callable[..., Any], document: Document = FIRST, **more: Any) -> Play:
    """A page whose Spark is nothing."""
    session = Session(lambda: None, lambda error: {"error": {"message": str(error)}})  # type: ignore[arg-type, return-value]
    session.begin()
    return Play(document, session, pictures, str, running=running, **more)


@contextmanager
def serving(page: Play) -> Iterator[str]:
    """The address of a page, while it is served."""
    at = listening(0)
    gate = Gate.at(at.getsockname()[1])
    ready = threading.Event()
    one = server(page.app(gate), ready.set)
    thread = threading.Thread(target=one.run, kwargs={"sockets": [at]}, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield gate.url
    finally:
        one.should_exit = True
        thread.join(60)
        page.session.stop()
