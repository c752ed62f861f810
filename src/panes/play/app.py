"""The routes of the page. Long answers come as lines of JSON: what is under way, then the answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from panes.errors import PanesError
from panes.play import answers
from panes.play.arrange import arranged
from panes.play.assets import asset, page
from panes.play.document import Document
from panes.play.examples import EXAMPLES
from panes.play.guard import NONCE, Guard
from panes.play.known import Known
from panes.play.request import (
    MOST_BYTES,
    RefusedError,
    RunRequest,
    arrange_request,
    document_of,
    opened_text,
    read_json,
    run_request,
)
from panes.play.running import Outcome, run
from panes.play.script import script_of
from panes.play.session import Job, Line, Session
from panes.play.token import Gate
from panes.trace import from_json
from panes.trace.model import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES = "application/x-ndjson"


@dataclass(frozen=True)
class Play:
    """What the page begins with, and what it is answered from."""

    document: Document
    session: Session
    draw: Callable[[Trace], Mapping[str, str]]  # its picture for each theme
    in_short: Callable[[BaseException], str]
    trace: Trace | None = None  # of a file that was opened
    name: str = ""
    running: Callable[[RunRequest, SparkSession, Callable[[Line | None], None]], Outcome] = run
    known: Known = field(default_factory=Known)

    def app(self, gate: Gate) -> ASGIApp:
        """All routes, behind the gate."""
        routes = [
            Route("/", self.page),
            Route("/assets/{name}", self.asset),
            Route("/api/begin", self.begin),
            Route("/api/check", self.check, methods=["POST"]),
            Route("/api/run", self.run, methods=["POST"]),
            Route("/api/arrange", self.arrange, methods=["POST"]),
            Route("/api/open", self.open, methods=["POST"]),
        ]
        refused = {RefusedError: _refused}
        return Guard(Starlette(routes=routes, exception_handlers=refused), gate)

    async def page(self, request: Request) -> Response:
        return Response(page(request.scope[NONCE]), media_type="text/html")

    async def asset(self, request: Request) -> Response:
        found = asset(request.path_params["name"])
        return Response(found.content, media_type=found.media) if found else Response(status_code=404)

    async def begin(self, request: Request) -> Response:
        opened = answers.traced(self.trace, self.draw(self.trace)) if self.trace is not None else None
        examples = [{"name": one.name, "about": one.about, "document": one.document.plain()} for one in EXAMPLES]
        start = {"document": self.document.plain(), "name": self.name, "opened": opened, "examples": examples}
        return JSONResponse({**start, **answers.words()})

    async def check(self, request: Request) -> Response:
        return JSONResponse(answers.checked(document_of(await _body(request))))

    async def arrange(self, request: Request) -> Response:
        asked = arrange_request(await _body(request))
        try:
            found = arranged(asked.document, script_of(asked.document.sql).streams, asked.arrangement, asked.seed)
        except ValueError as error:  # a cell that is no time
            raise RefusedError(str(error)) from None
        return JSONResponse({"document": found.plain()})

    async def open(self, request: Request) -> Response:
        """A .panes.json file that the user chose in the page."""
        text = opened_text(await _body(request))
        try:
            trace = from_json(text)
            opened = answers.traced(trace, self.draw(trace))
            document = answers.document_of_trace(trace).plain()
        except PanesError as error:
            return JSONResponse(answers.failed(error, text, self.in_short), status_code=400)
        except (LookupError, TypeError, ValueError, AttributeError) as error:  # numbers that do not fit each other
            raise RefusedError(f"this is no trace of Panes: {type(error).__name__}: {error}") from None
        return JSONResponse({"document": document, "opened": opened})

    async def run(self, request: Request) -> Response:
        asked = run_request(await _body(request))
        return StreamingResponse(self._lines(asked), media_type=LINES)

    async def _lines(self, asked: RunRequest) -> AsyncIterator[bytes]:
        known = self.known.get(asked)
        if known is not None:
            yield _line(known)
            return
        lines: asyncio.Queue[Line | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        if not self.session.is_ready:
            yield _line({"progress": "starting"})
        self.session.submit(self._job(asked), lambda line: _hand_over(loop, lines, line))
        while (line := await lines.get()) is not None:
            yield _line(line)

    def _job(self, asked: RunRequest) -> Job:
        def job(spark: SparkSession, tell: Callable[[Line | None], None]) -> Line:
            began = time.perf_counter()
            try:
                found = self.running(asked, spark, tell)
                line = answers.outcome(found, self.draw(found.trace), time.perf_counter() - began)
            except Exception as error:
                return answers.failed(error, asked.document.sql, self.in_short)
            self.known.put(asked, line)
            return line

        return job


def _hand_over(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[Line | None], line: Line | None) -> None:
    """From Spark's thread to the server's; when the server has ended, nobody waits for it."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(lines.put_nowait, line)


def _line(line: Line) -> bytes:
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


async def _body(request: Request) -> Mapping[str, Any]:
    """The JSON of a request, which is not larger than it may be."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise RefusedError("the request is not JSON")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise RefusedError(f"the request has more than {MOST_BYTES} bytes")
        parts.append(part)
    return read_json(b"".join(parts))


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": {"message": str(error)}}, status_code=400)
