"""What commands read and print: the user's text as it is, from any file, on any terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from panes.cli.main import app

STREAM = "CREATE STREAM t (a ARRAY<INT>, s STRING) WITH (connector = 'json', path = 'data/[a-z]*/x.json');"


def panes(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=text)


def test_brackets_are_no_markup(tmp_path: Path) -> None:
    done = panes(
        "explain", "-", text=f"{STREAM} CREATE VIEW v AS SELECT a[/*x*/0] AS b FROM t; DESCRIBE t; SHOW VIEWS;"
    )
    assert done.exit_code == 0, done.output
    assert "data/[a-z]*/x.json" in done.stdout
    assert "a[/*x*/0]" in done.stdout
    script = tmp_path / "a[b].sql"
    script.write_text(STREAM, encoding="utf-8")
    assert panes("check", str(script)).stdout == f"{script}: OK (0 queries)\n"


def test_colons_are_no_emoji() -> None:
    done = panes("explain", "-", text=f"{STREAM} SELECT concat('user:key:', s) AS k FROM t;")
    assert "'user:key:'" in done.stdout


@pytest.mark.parametrize("command", ["check", "explain", "run"])
def test_a_file_that_is_not_there(tmp_path: Path, command: str) -> None:
    done = panes(command, str(tmp_path / "x.sql"))
    assert (done.exit_code, done.stderr) == (2, f"cannot read {tmp_path}/x.sql: No such file or directory\n")


@pytest.mark.parametrize("command", ["check", "shell"])
def test_bytes_that_are_no_text(tmp_path: Path, command: str) -> None:
    arguments = ["check", "-"] if command == "check" else ["shell"]
    done = panes(*arguments, text=f"{STREAM}\nSELECT '".encode() + b"\xff';\n")
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    assert done.stderr == "cannot read standard input: it is not UTF-8 text\n"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.sql").write_bytes(b"\xff")
    done = panes("check", str(tmp_path / "x.sql"))
    assert (done.exit_code, done.stderr) == (2, f"cannot read {tmp_path}/x.sql: it is not UTF-8 text\n")


def test_a_byte_order_mark_is_no_statement(tmp_path: Path) -> None:
    marked = b"\xef\xbb\xbf" + STREAM.encode()
    (tmp_path / "x.sql").write_bytes(marked)
    assert panes("check", str(tmp_path / "x.sql")).exit_code == 0
    assert panes("check", "-", text=marked).exit_code == 0
    assert panes("shell", text=marked).stdout == "stream t created\n"


def test_lines_end_as_they_like() -> None:
    script = f"{STREAM}\r\nSELECT concat(s, 'a\r\nb') AS x\r\nFROM t;\r\n"
    told = panes("explain", "-", "--json", text=script.encode()).stdout
    assert "concat" in told
    assert told == panes("explain", "-", "--json", text=script.replace("\r\n", "\n")).stdout


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_standard_output_that_is_not_utf_8(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "x.sql").write_text(f"{STREAM} SELECT concat(s, 'é→') AS x FROM t;", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from panes.cli.main import app; app()", "explain", "x.sql", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    if options:
        assert "é→" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    else:
        assert b"'??'" in done.stdout


def test_explain_as_json_is_one_document() -> None:
    script = f"{STREAM} SHOW STREAMS; SELECT s FROM t; EXPLAIN SELECT a FROM t; EXPLAIN FORMAT JSON SELECT s FROM t;"
    done = panes("explain", "-", "--json", text=script)
    listed, *plans = json.loads(done.stdout)
    assert listed["rows"][0]["stream"] == "t"
    assert [set(plan) for plan in plans] == [{"logical", "physical"}] * 3
    assert plans[0] == plans[2]
