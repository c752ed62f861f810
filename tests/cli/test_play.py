"""`panes play`: what it begins with, and what it says when it cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from panes.cli.main import app
from panes.cli.play import begin
from panes.play.document import PlayRow
from panes.play.examples import FIRST
from panes.play.serve import listening
from panes.trace import Trace, to_json
from panes.trace.model import Row, StreamTrace

SAVED = Trace("SELECT 1", (StreamTrace("t", ("k",), (Row(1, 1, 0, None, (5,)),)),), 2, False, (), (), ())


def test_without_arguments_there_is_an_example() -> None:
    assert begin(None, ()) == (FIRST, None)


def test_a_script_begins_with_its_rows(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT k FROM t")
    (tmp_path / "t.csv").write_text("k,_batch\na,1\nb,2\n")
    document, trace = begin(tmp_path / "q.sql", [f"t={tmp_path / 't.csv'}"])
    assert document.sql == "SELECT k FROM t" and trace is None
    assert document.rows_of("t").rows == (PlayRow(0, {"k": "a"}), PlayRow(1, {"k": "b"}))


def test_a_saved_page_is_opened_and_other_rows_take_the_place_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.panes.json").write_text(to_json(SAVED))
    document, trace = begin(tmp_path / "x.panes.json", ())
    assert trace == SAVED
    assert document.rows_of("t").rows == (PlayRow(1, {"k": "5"}),)
    (tmp_path / "t.json").write_text('{"k": 7, "_batch": 1}')
    document, trace = begin(tmp_path / "x.panes.json", [f"T={tmp_path / 't.json'}"])
    assert trace is None
    assert document.rows_of("t").rows == (PlayRow(0, {"k": "7"}),)
    assert len(document.streams) == 1


def test_rows_that_cannot_be_read_end_it(tmp_path: Path) -> None:
    for option in ("t", f"t={tmp_path / 'none.csv'}"):
        with pytest.raises(typer.Exit) as left:
            begin(None, [option])
        assert left.value.exit_code == 2


def test_a_port_that_is_taken_is_told() -> None:
    with listening(0) as at:
        at.listen()
        done = CliRunner().invoke(app, ["play", "--no-browser", "--port", str(at.getsockname()[1])])
    assert done.exit_code == 1
    assert "cannot be used" in done.output


def test_without_its_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(app, ["play", "--no-browser"])
    assert done.exit_code == 1
    assert "missing-package" in done.output and "pip install 'panes[play]'" in done.output
