"""`panes draw`: which files it reads and writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from panes.cli.draw_files import given_of, named_pictures
from panes.cli.main import app
from panes.errors import PanesError
from panes.picture import svg
from panes.trace import Result, Row, StreamTrace, Trace, to_json

TRACE = Trace(
    "SELECT k FROM t",
    (StreamTrace("t", ("k",), (Row(1, 0, 0, 0, ("a",)), Row(2, 1, 0, 0, ("b",)))),),
    2,
    False,
    (),
    ("k",),
    (Result(1, 0, ("a",)), Result(2, 1, ("b",))),
)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner(env={"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}).invoke(app, ["draw", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    file = tmp_path / "x.panes.json"
    file.write_text(to_json(TRACE), encoding="utf-8")
    return file


def test_a_trace_is_drawn_without_spark(traced: Path, tmp_path: Path) -> None:
    picture = tmp_path / "x.svg"
    assert run(str(traced), "-o", str(picture), "--theme", "dark") == (0, f"{picture}\n")
    assert picture.read_text(encoding="utf-8") == svg(TRACE, theme="dark")
    assert run(str(traced)) == (0, svg(TRACE))
    assert run(str(traced), "--step", "1") == (0, svg(TRACE, 0))


def test_a_trace_is_written_again(traced: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.panes.json"
    assert run(str(traced), "-o", str(copy))[0] == 0
    assert copy.read_bytes() == traced.read_bytes()


@pytest.mark.parametrize("step", ["0", "3"])
def test_a_step_that_is_not_there_is_refused(traced: Path, step: str) -> None:
    code, output = run(str(traced), "--step", step)
    assert (code, "2 steps" in output) == (2, True)


def test_other_kinds_of_picture_are_refused_with_a_way_out(traced: Path, tmp_path: Path) -> None:
    code, output = run(str(traced), "-o", str(tmp_path / "x.png"))
    assert (code, "rsvg-convert" in output) == (2, True)
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize("rows", ["t", "=t.csv", "t=", "t=nowhere.csv"])
def test_rows_are_given_by_name(tmp_path: Path, rows: str) -> None:
    script = tmp_path / "q.sql"
    script.write_text("CREATE STREAM t (k STRING); SELECT k FROM t;", encoding="utf-8")
    assert run(str(script), "--rows", rows)[0] == 2


def test_rows_of_several_streams(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"k\n{name}\n", encoding="utf-8")
    given = given_of([f"{name}={tmp_path / name}.csv" for name in "ab"])
    assert {name: one.batches for name, one in given.items()} == {name: (({"k": name},),) for name in "ab"}


def test_a_page_without_pictures_says_how_to_name_one(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Nothing\n", encoding="utf-8")
    with pytest.raises(PanesError) as refused:
        named_pictures(page)
    assert refused.value.hint is not None and "![" in refused.value.hint
    code, output = run(str(page), "-o", str(tmp_path / "x.svg"))
    assert (code, "one example" in output) == (1, True)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("CREATE STREAM t (k STRING);", "parse-error"),
        ("CREATE STREAM u (k STRING); SELECT k FROM u;", "unknown-stream"),
        ("CREATE STREAM t (k STRING, n INT); SELECT k FROM t;", "unknown-column"),
    ],
)
def test_scripts_that_do_not_go_with_their_rows(tmp_path: Path, script: str, code: str) -> None:
    (tmp_path / "q.sql").write_text(script, encoding="utf-8")
    (tmp_path / "t.csv").write_text("k,m\na,1\n", encoding="utf-8")
    ended, output = run(str(tmp_path / "q.sql"), "--rows", f"t={tmp_path / 't.csv'}")
    assert ended == 1
    assert output.startswith(code)


def test_no_rows_at_all_name_the_streams(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE STREAM t (k STRING); SELECT k FROM t;", encoding="utf-8")
    code, output = run(str(tmp_path / "q.sql"))
    assert code == 1
    assert "--rows" in output and " t." in output
