"""JSON lines: each is an object that says what it is about."""

from __future__ import annotations

import io
import json
from typing import Any, cast

import pytest

from panes.cli.output import json_lines
from panes.cli.output.choice import Logged, Wanted, output_for, plain_output
from panes.cli.output.json_lines import JsonLines
from panes.cli.output.lines import Lines
from panes.errors import PanesError
from panes.script import Done, Listing
from panes.source import Source, Span
from panes.spark.rows import Rows

from ..reports import report


def said(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_run() -> None:
    out = io.StringIO()
    lines = JsonLines(out)
    lines.step(Done("stream t created"))
    lines.step(Listing(("stream", "time"), (("t", "ts"),)))
    lines.started(["out"], None)
    lines.batch(report(batch=3, rows_in=5, watermark=7, backlog=2))
    lines.failed("out", PanesError("value-failed", "an overflow", Span(Source("SELECT x"), 7, 8), "Use BIGINT."))
    lines.failed("out", RuntimeError("[STREAM_FAILED] Query [id = 1] terminated with exception: no disk\n\tat x.Y"))
    lines.ended("stopped")
    assert said(out) == [
        {"event": "statement", "message": "stream t created"},
        {"event": "statement", "rows": [{"stream": "t", "time": "ts"}]},
        {"event": "started", "queries": ["out"], "ui": None},
        {
            "event": "batch",
            "query": "out",
            "batch": 3,
            "seconds": 0.5,
            "rows_read": 0,
            "watermark": 7,
            "backlog": 2,
            "rows_in": 5,
        },
        {
            "event": "failed",
            "query": "out",
            "code": "value-failed",
            "message": "an overflow",
            "hint": "Use BIGINT.",
            "line": 1,
            "column": 8,
            "text": "x",
        },
        {"event": "failed", "query": "out", "code": None, "message": "no disk"},
        {"event": "ended", "reason": "stopped"},
    ]


def test_the_place_of_an_error_shows_no_secret() -> None:
    out = io.StringIO()
    text = "CREATE SINK s WITH (password = 'hunter2')"
    JsonLines(out).refused(PanesError("stream-options", "no connector", Span(Source(text), 0, len(text))))
    assert said(out)[0]["text"] == "CREATE SINK s WITH (password = '*******')"


def test_a_log_has_times_and_levels() -> None:
    out = io.StringIO()
    log = JsonLines(out, log=True)
    log.batch(report())
    log.refused(PanesError("unknown-sink", "there is no sink x"))
    log.warned("no disk")
    levels = [("info", "batch"), ("error", "refused"), ("warning", "warning")]
    assert [(one["level"], one["event"]) for one in said(out)] == levels
    assert all(one["time"].endswith("+00:00") for one in said(out))


def test_a_log_leaves_answers_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    logged = Logged(most_rows=5)
    logged.step(Done("stream t created"))
    logged.batch(report(rows_in=1))
    found = capsys.readouterr()
    assert found.out == "stream t created\n"
    assert json.loads(found.err)["rows_in"] == 1


def test_quiet_leaves_micro_batches_out() -> None:
    out = io.StringIO()
    lines = JsonLines(out, quiet=True)
    lines.started(["out"], None)
    lines.batch(report())
    lines.failed("out", RuntimeError("no disk"))
    lines.ended("failed")
    assert [one["event"] for one in said(out)] == ["started", "failed", "ended"]


@pytest.mark.parametrize("wanted", [Wanted(quiet=True, json=True), Wanted(quiet=True, log_json=True)])
def test_quiet_goes_with_json(wanted: Wanted, capsys: pytest.CaptureFixture[str]) -> None:
    plain_output(wanted).batch(report())
    assert capsys.readouterr() == ("", "")


def test_lines_are_ascii() -> None:
    out = io.StringIO()
    JsonLines(out).step(Done("stream größe created"))
    assert out.getvalue().isascii()
    assert said(out) == [{"event": "statement", "message": "stream größe created"}]


def test_rows_are_written_as_spark_wrote_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "json_of", lambda rows: ['{"d": 1.10000000000000000001}'])
    out = io.StringIO()
    JsonLines(out).rows(Rows("select-1", 3, cast(Any, None), 1))
    assert out.getvalue() == '{"event": "row", "query": "select-1", "batch": 3, "row": {"d": 1.10000000000000000001}}\n'


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [(Wanted(json=True), JsonLines), (Wanted(log_json=True), Logged), (Wanted(), Lines), (Wanted(quiet=True), Lines)],
)
def test_without_a_terminal_there_is_no_live_table(wanted: Wanted, kind: type) -> None:
    assert type(plain_output(wanted)) is kind
    with output_for(wanted, others_print=False) as output:
        assert type(output) is kind
