"""What the routes answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from panes.play.answers import document_of_trace
from panes.play.examples import EXAMPLES, FIRST
from panes.trace import to_json

from .conftest import TRACE

UNFIT = replace(
    TRACE, streams=tuple(replace(one, columns=()) for one in TRACE.streams)
)  # rows with more values than that
SQL = "CREATE STREAM t (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS);\n"


def document(sql: str, rows: Any = ()) -> dict[str, Any]:
    return {"document": {"sql": sql, "streams": [{"name": "t", "rows": list(rows)}]}}


def row(batch: int = 0, **values: Any) -> dict[str, Any]:
    return {"batch": batch, "values": values}


def test_the_page_begins_with_a_document_and_has_examples(client: TestClient) -> None:
    start = client.get("/api/begin").json()
    assert start["document"] == FIRST.plain()
    assert [one["name"] for one in start["examples"]] == [one.name for one in EXAMPLES]
    assert "statewindow" in start["calls"] and "lag" in start["calls"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.name)
def test_examples_are_right(client: TestClient, example: Any) -> None:
    checked = client.post("/api/check", json={"document": example.document.plain()}).json()
    assert (checked["error"], checked["cells"], len(checked["queries"])) == (None, [], 1)


def test_an_error_has_its_place_in_the_text(client: TestClient) -> None:
    sql = SQL + "SELECT nowhere FROM t GROUP BY tumblingwindow('ss', 10)"
    error = client.post("/api/check", json=document(sql)).json()["error"]
    assert (error["code"], sql[error["start"] : error["end"]]) == ("unknown-column", "nowhere")
    assert error["hint"]


def test_streams_before_an_error_keep_their_tables(client: TestClient) -> None:
    checked = client.post("/api/check", json=document(SQL + "SELEC")).json()
    assert [one["name"] for one in checked["streams"]] == ["t"]
    assert checked["error"]["code"] == "parse-error"


def test_a_cell_that_is_no_value_is_told_with_its_place(client: TestClient) -> None:
    rows = [row(v="1", ts="2024-01-01 00:00:01"), row(V="x", ts="noon"), row(v=str(2**31))]
    cells = client.post("/api/check", json=document(SQL + "SELECT k FROM t", rows)).json()["cells"]
    assert [(one["row"], one["column"]) for one in cells] == [(1, "v"), (1, "ts"), (2, "v")]


def test_a_run_comes_in_lines_and_ends_with_the_answer(client: TestClient) -> None:
    answer = client.post("/api/run", json=document(SQL + "SELECT k FROM t"))
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[-2] == {"progress": "running"}
    found = lines[-1]["answer"]
    assert found["trace"]["columns"] == ["k"]
    assert found["file"] == to_json(TRACE)
    assert found["comparison"] is None


def test_pictures_escape_what_they_show(client: TestClient) -> None:
    answer = client.post("/api/run", json=document(SQL + "SELECT k FROM t")).text.splitlines()[-1]
    for picture in json.loads(answer)["answer"]["pictures"].values():
        assert "<script" not in picture and "<b>" not in picture
        assert "&lt;script" in picture


def test_what_was_saved_is_opened(client: TestClient) -> None:
    answer = client.post("/api/open", json={"text": to_json(TRACE)}).json()
    assert answer["document"] == document_of_trace(TRACE).plain()
    assert [one["batch"] for one in answer["document"]["streams"][0]["rows"]] == [0, 1]
    assert answer["opened"]["file"] == to_json(TRACE)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"streams": 1}', to_json(UNFIT)])
def test_what_is_no_trace_is_refused(client: TestClient, text: str) -> None:
    answer = client.post("/api/open", json={"text": text})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_rows_are_cut_anew(client: TestClient) -> None:
    given = {**document(SQL, [row(0, v=str(n)) for n in range(9)]), "arrangement": "cut", "seed": 1}
    found = client.post("/api/arrange", json=given).json()["document"]["streams"][0]["rows"]
    assert [one["values"]["v"] for one in found] == [str(n) for n in range(9)]
    assert {one["batch"] for one in found} != {0}


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/..%2fapp.py",
        "/assets/%2e%2e/app.py",
        "/assets/%2e%2e%2f%2e%2e%2fengine.py",
        "/assets//etc/passwd",
        "/assets/index.html",
        "/assets/editor.LICENCES.txt",
        "/assets/",
        "/app.py",
        "/..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_file_is_read_but_the_pages_own(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_assets_have_their_types(client: TestClient) -> None:
    page = client.get("/").text
    for name, media in (("main.js", "text/javascript"), ("page.css", "text/css"), ("icon.svg", "image/svg+xml")):
        assert f"/assets/{name}" in page
        assert client.get(f"/assets/{name}").headers["content-type"].startswith(media)
    assert client.get("/assets/editor.min.js").status_code == 200


def test_a_body_that_is_too_large_or_no_json_is_refused(client: TestClient) -> None:
    plain = {"content-type": "text/plain"}
    assert client.post("/api/check", content="{}", headers=plain).status_code == 400
    json_ = {"content-type": "application/json"}
    for body in (b"", b"[", b"[]", b"\xff", b"[" * 100_000, b'"' + b"a" * (4 * 1024**2) + b'"'):
        assert client.post("/api/check", content=body, headers=json_).status_code == 400
