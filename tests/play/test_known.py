"""The same question has the same answer, and another one none."""

from __future__ import annotations

from dataclasses import replace

from starlette.testclient import TestClient

from panes.play.document import Document
from panes.play.examples import EXAMPLES, FIRST
from panes.play.known import MOST, Known
from panes.play.request import RunRequest, Way

ASKED = RunRequest(FIRST)


def test_an_answer_is_for_what_was_asked() -> None:
    known = Known()
    known.put(ASKED, {"answer": 1})
    assert known.get(RunRequest(replace(FIRST))) == {"answer": 1}
    others = (replace(ASKED, way=Way.KILL), replace(ASKED, compare=True), replace(ASKED, seed=1))
    for other in (*others, RunRequest(EXAMPLES[1].document), RunRequest(replace(FIRST, query=0))):
        assert known.get(other) is None


def test_only_the_last_answers_are_kept() -> None:
    known = Known()
    for number in range(MOST + 1):
        known.put(RunRequest(Document(str(number))), {"answer": number})
    assert known.get(RunRequest(Document("0"))) is None
    assert known.get(RunRequest(Document(str(MOST)))) == {"answer": MOST}


def test_the_second_time_nothing_runs(client: TestClient) -> None:
    asked = {"document": FIRST.plain()}
    first, second = (client.post("/api/run", json=asked).text.splitlines() for _ in range(2))
    assert len(first) > 1
    assert second == first[-1:]
