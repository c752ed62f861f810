"""Serve the page on 127.0.0.1 until Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from panes.errors import PanesError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

EXTRA = "pip install 'panes[play]'"


def check_extra() -> None:
    """Say what is missing, if the packages of the server are."""
    try:
        import starlette  # noqa: F401 - looked for
        import uvicorn  # noqa: F401
    except ImportError as missing:
        text = f"panes play needs the package {missing.name}, which is not installed"
        raise PanesError("missing-package", text, None, EXTRA) from None


def listening(port: int) -> socket.socket:
    """A socket on this machine alone; port 0 takes any that is free. OSError where it is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except OSError:
        found.close()
        raise
    return found


def server(app: ASGIApp, opened: Callable[[], object]) -> uvicorn.Server:
    """A server that says when it answers."""
    import uvicorn

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            opened()

    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1)
    return Announced(config)


def serve(app: ASGIApp, at: socket.socket, opened: Callable[[], object]) -> None:
    """Answer requests until Ctrl-C; `opened` is called when the first would be answered."""
    server(app, opened).run(sockets=[at])
