"""Who may ask: only a page that was opened with the token that was printed, on this machine, and no other site's page.

A browser sends requests to localhost for any page that it shows. So each request has to bring the token, which no other
page knows, in a cookie that browsers send for our own page alone, or in a header; its Host has to be this machine, or
a name that somebody points at 127.0.0.1 would do; and what changes anything has to come from our own page.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

HOSTS = ("127.0.0.1", "localhost")
SAFE = ("GET", "HEAD")


class Request(Protocol):
    """What is looked at of a request."""

    @property
    def method(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def cookies(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class Gate:
    """The token of a run, and where the run listens."""

    token: str
    port: int

    @classmethod
    def at(cls, port: int) -> Gate:
        """With a new token."""
        return cls(secrets.token_urlsafe(32), port)

    @property
    def url(self) -> str:
        """What the user opens."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers share cookies between the ports of a host."""
        return f"panes_play_{self.port}"

    def refusal(self, request: Request, given: str | None) -> str | None:
        """Why a request is refused; `given` is a token in its address. None if it is not."""
        if request.headers.get("host") not in [f"{host}:{self.port}" for host in HOSTS]:
            return "this page is for 127.0.0.1 alone"
        tokens = (given, request.cookies.get(self.cookie), bearer(request.headers.get("authorization")))
        if not any(self.knows(one) for one in tokens):
            return "open the address with the token that panes play printed"
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "another site's page asks"
        if request.method not in SAFE and request.headers.get("origin") != f"http://{request.headers['host']}":
            return "another site's page asks"
        return None

    def knows(self, token: str | None) -> bool:
        return token is not None and secrets.compare_digest(token.encode(), self.token.encode())


def bearer(header: str | None) -> str | None:
    """The token of an Authorization header.

    >>> bearer("Bearer abc"), bearer("Basic abc"), bearer(None)
    ('abc', None, None)
    """
    word, _, token = (header or "").partition(" ")
    return token if word == "Bearer" else None
