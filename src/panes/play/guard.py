"""What stands before every answer: the gate, and the headers that keep a browser from doing anything else with it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from panes.play.token import Gate

NONCE = "panes_nonce"  # of the styles that the editor makes, in the scope of a request
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def content_policy(nonce: str) -> str:
    """Scripts and styles are our own files alone; nothing is fetched from elsewhere, nothing frames the page."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


@dataclass(frozen=True)
class Guard:
    """An app behind the gate."""

    app: ASGIApp
    gate: Gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope[NONCE] = nonce

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = content_policy(nonce)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._answer(scope)
        await (answer or self.app)(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """A refusal, or the way to the page without the token in its address; None where the app answers."""
        given = HTTPConnection(scope).query_params.get("token")
        if scope["type"] != "http":
            return Response(status_code=403)
        request = Request(scope)
        refusal = self.gate.refusal(request, given if request.url.path == "/" else None)
        if refusal is not None:
            return JSONResponse({"error": {"message": refusal}}, status_code=403)
        if not self.gate.knows(given) or request.url.path != "/":
            return None
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(self.gate.cookie, self.gate.token, httponly=True, samesite="strict", path="/")
        return response
