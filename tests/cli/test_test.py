"""`panes test` before Spark starts: its options, what is no test, and how outcomes are told."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from typer.testing import CliRunner

from panes.cli.main import app
from panes.cli.test import numbers_of
from panes.errors import PanesError
from panes.testing.check_promise import Verdict
from panes.testing.inputs import CaseError
from panes.testing.junit import junit
from panes.testing.markdown import Block
from panes.testing.results import Mismatch
from panes.testing.setup import load_setup
from panes.testing.suite import Outcome, files_in
from panes.testing.told import in_one_line, summary, told

BLOCK = Block(3, ("output",), "k\na", 12, "Sums")
FILE = Path("tests/test_sums.md")
WRONG = Outcome(FILE, "Sums", 10, 1.0, (Mismatch(BLOCK, "k\nb", "  k\n- a\n+ b"),))
REFUSED = Outcome(FILE, "Sums (2)", 20, 0.1, error=PanesError("unknown-column", "there is no \x00 column b"))
PASSED = Outcome(FILE, "More", 30, 0.5, verdict=Verdict(20, "rows not shuffled: …"))
BROKEN = Outcome(FILE, "Promise", 40, 9.0, verdict=Verdict(3, "", "- a\n+ b", "# The smallest\n"))


def test_test_files_are_known_by_their_names(tmp_path: Path) -> None:
    for name in ("test_a.md", "b_test.md", "notes.md", "test_c.py", "deep/test_d.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = files_in([tmp_path, tmp_path / "notes.md", tmp_path / "test_a.md"])
    assert [path.relative_to(tmp_path).as_posix() for path in found] == [
        "b_test.md",
        "deep/test_d.md",
        "test_a.md",
        "notes.md",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "cannot read nowhere"),
        (["."], "no test cases in ."),
        ([".", "--cuts", "-1"], "cuts"),
        ([".", "--shards", "1,x"], "1,x is not a list of numbers"),
    ],
)
def test_a_wrong_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["test", *arguments])
    assert done.exit_code == 2, done.output
    assert said in done.output


def test_a_file_that_cannot_be_read_as_a_test_fails(tmp_path: Path) -> None:
    (tmp_path / "test_a.md").write_text("# Sums\n\n```output\n```\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["test", str(tmp_path)])
    assert done.exit_code == 1
    assert "test_a.md:3\nno sql block stands before this output block" in done.output


def test_numbers_of_shards() -> None:
    assert numbers_of("1,2, 7") == (1, 2, 7)
    with pytest.raises(typer.BadParameter):
        numbers_of("0")


def test_outcomes_are_told_with_their_places() -> None:
    assert told(PASSED) == ""
    assert told(WRONG) == "tests/test_sums.md:12 output\n  k\n- a\n+ b"
    assert told(REFUSED).startswith("tests/test_sums.md:20\nunknown-column: ")
    assert told(BROKEN).endswith("The smallest case that was found, as a test file:\n\n# The smallest\n")
    assert [in_one_line(one).split("(")[0].split()[0] for one in (PASSED, WRONG, REFUSED, BROKEN)] == [
        "passed",
        *["FAILED"] * 3,
    ]
    assert in_one_line(PASSED) == "passed  More (20 variants, rows not shuffled: …, 0.5 s)"
    assert summary([PASSED, WRONG, REFUSED]) == "2 failed, 1 passed"


def test_junit() -> None:
    root = ElementTree.fromstring(junit([PASSED, WRONG, REFUSED, BROKEN]).partition("\n")[2])
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "1")
    wrong = suite[1]
    assert (wrong.get("classname"), wrong.get("line"), wrong[0].tag) == ("tests.test_sums", "10", "failure")
    assert wrong[0].text == told(WRONG)
    assert suite[2][0].text is not None and "no ? column" in suite[2][0].text


def test_setups_are_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "setups_of_a_test.py").write_text("def register(engine):\n    return engine\n", encoding="utf-8")
    assert load_setup("setups_of_a_test:register", (tmp_path,))("an engine") == "an engine"
    for wrong in ("setups_of_a_test", "setups_of_a_test:nothing", "no_such_module:register"):
        with pytest.raises(CaseError):
            load_setup(wrong, (tmp_path,))


def test_two_modules_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same_name_twice.py").write_text("def register(engine): ...\n", encoding="utf-8")
    load_setup("same_name_twice:register", (tmp_path / "one",))
    with pytest.raises(CaseError, match="something else"):
        load_setup("same_name_twice:register", (tmp_path / "two",))
