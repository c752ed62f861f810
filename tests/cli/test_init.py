"""`panes init`: a project that compiles as it is, and that overwrites nothing."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from panes.cli.main import app


def test_what_is_made_compiles(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    done = CliRunner().invoke(app, ["init", str(folder)])
    assert done.exit_code == 0
    made = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert made == ["README.md", "data/events-1.json", "script.sql"]
    checked = CliRunner().invoke(app, ["check", str(folder / "script.sql")])
    assert "OK (2 queries)" in checked.output


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "script.sql").write_text("mine")
    done = CliRunner().invoke(app, ["init", str(tmp_path)])
    assert done.exit_code == 1
    assert "has files already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["script.sql"]
    assert (tmp_path / "script.sql").read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(app, ["init", str(tmp_path / "file" / "below")])
    assert done.exit_code == 1
    assert "cannot make" in done.stderr
