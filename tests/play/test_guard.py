"""The page answers to itself alone: not without its token, not to another host, not to another site."""

from __future__ import annotations

import socket

import pytest
from starlette.testclient import TestClient

from panes.play.serve import listening
from panes.play.token import Gate

from .conftest import GATE, HOME

PATHS = ("/", "/assets/main.js", "/api/begin", "/api/check", "/nothing")
DOCUMENT = {"document": {"sql": "SELECT 1", "streams": []}}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_nothing_is_answered_without_the_token(stranger: TestClient, path: str, method: str) -> None:
    answer = stranger.request(method, path, headers={"origin": HOME})
    assert answer.status_code == 403
    assert GATE.token not in answer.text


@pytest.mark.parametrize("path", PATHS[1:])
def test_a_token_in_the_address_opens_the_page_alone(stranger: TestClient, path: str) -> None:
    assert stranger.get(path, params={"token": GATE.token}).status_code == 403


@pytest.mark.parametrize("token", ["", "the-tokem", "the-token2", "ü"])
def test_another_token_opens_nothing(stranger: TestClient, token: str) -> None:
    assert stranger.get("/", params={"token": token}).status_code == 403
    assert stranger.get("/", headers={"authorization": f"Bearer {token}".encode()}).status_code == 403


def test_the_token_becomes_a_cookie_that_no_script_reads_and_leaves_the_address(stranger: TestClient) -> None:
    answer = stranger.get("/", params={"token": GATE.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "panes_play_4711" in cookie
    assert stranger.get("/").status_code == 200


def test_a_header_does_as_well(stranger: TestClient) -> None:
    assert stranger.get("/api/begin", headers={"authorization": f"Bearer {GATE.token}"}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4711", "127.0.0.1", "127.0.0.1:80", "localhost.evil:4711"]
)
def test_a_name_that_points_here_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 403


def test_localhost_is_this_machine(client: TestClient) -> None:
    headers = {"host": "localhost:4711", "authorization": f"Bearer {GATE.token}"}
    assert client.get("/api/begin", headers=headers).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:80", "https://127.0.0.1:4711", ""])
def test_another_sites_page_can_post_nothing(client: TestClient, origin: str) -> None:
    assert client.post("/api/check", json=DOCUMENT, headers={"origin": origin}).status_code == 403
    assert client.post("/api/check", json=DOCUMENT).status_code == 200


def test_nothing_is_posted_without_an_origin(client: TestClient) -> None:
    del client.headers["origin"]
    assert client.post("/api/check", json=DOCUMENT).status_code == 403


def test_a_browser_says_when_another_site_asks(client: TestClient) -> None:
    for site in ("cross-site", "same-site"):
        assert client.get("/api/begin", headers={"sec-fetch-site": site}).status_code == 403
    assert client.get("/api/begin", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_no_other_site_may_read_or_frame_it_and_no_script_but_our_files_runs(client: TestClient) -> None:
    for path in ("/", "/api/begin", "/assets/main.js", "/nothing"):
        headers = client.get(path).headers
        assert "access-control-allow-origin" not in headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_each_page_has_a_nonce_of_its_own(client: TestClient) -> None:
    nonces = []
    for _ in range(2):
        answer = client.get("/")
        nonce = answer.headers["content-security-policy"].partition("'nonce-")[2].partition("'")[0]
        assert f'content="{nonce}"' in answer.text
        nonces.append(nonce)
    assert nonces[0] != nonces[1]


def test_the_socket_is_on_this_machine_alone() -> None:
    with listening(0) as at:
        assert at.getsockname()[0] == "127.0.0.1"
        with pytest.raises(OSError):
            listening(at.getsockname()[1]).listen()
            raise OSError  # some systems let two be bound, and refuse the second that listens
        assert at.family is socket.AF_INET


def test_tokens_are_long_and_never_the_same() -> None:
    one, other = Gate.at(1), Gate.at(1)
    assert one.token != other.token and len(one.token) >= 40
    assert one.url == f"http://127.0.0.1:1/?token={one.token}"
