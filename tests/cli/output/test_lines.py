"""Lines of text for a run."""

from __future__ import annotations

import pytest

from panes.cli.output.lines import Lines, batch_line, failure_line
from panes.errors import PanesError

from ..reports import report


def test_a_line_per_micro_batch() -> None:
    assert batch_line(report(batch=2, rows_in=5, backlog=7)) == "out batch 2 0.50 s rows_in=5 backlog=7"
    assert batch_line(report()) == "out batch 0 0.50 s"


def test_a_failure_has_the_name_of_its_query_once() -> None:
    assert failure_line("out", RuntimeError("no disk")) == "out failed: no disk"
    named = PanesError("value-failed", "an overflow (INSERT INTO out)")
    assert failure_line("out", named) == "value-failed: an overflow (INSERT INTO out)"
    unnamed = PanesError("value-failed", "an overflow", None, "Use BIGINT.")
    assert failure_line("select-1", unnamed) == "value-failed: an overflow (select-1)\nhint: Use BIGINT."


def test_quiet_lines_still_tell_of_failures(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(quiet=True)
    lines.started(["out"], "http://127.0.0.1:4040")
    lines.batch(report())
    assert capsys.readouterr() == ("", "")
    lines.failed("out", RuntimeError("no disk"))
    assert capsys.readouterr().err == "out failed: no disk\n"
