"""Without PySpark, or with one that is too old: what works, and one sentence for all that does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from panes.errors import PanesError
from panes.spark.installed import check_version

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
OLD = """
import sys, types

sys.modules["pyspark"] = types.ModuleType("pyspark")
sys.modules["pyspark"].__version__ = "4.0.1"
"""
COMMAND = "from panes.cli.main import app; app(sys.argv[1:])"
SCRIPT = """
CREATE STREAM t (ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts) WITH (connector = 'json', path = 'in');
SELECT sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10);
"""


def python(code: str, *arguments: str, prelude: str = BLOCKED) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"{prelude}\n{code}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input="SELECT 1;\n", timeout=60)


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "script.sql"
    file.write_text(SCRIPT)
    return str(file)


def test_import() -> None:
    done = python("import panes, panes.compile, panes.script, panes.sinks; print(panes.__version__, panes.counters)")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("command", "shown"), [("check", "OK (1 query)"), ("explain", "Window")])
def test_commands_that_need_none(script: str, command: str, shown: str) -> None:
    done = python(COMMAND, command, script)
    assert (done.returncode, shown in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["run", "{script}"], ["demo"], ["shell"], ["state", "{folder}"], ["rescale", "{folder}", "--partitions", "2"]],
    ids=lambda arguments: arguments[0],
)
def test_commands_that_need_it_say_what_to_install(script: str, arguments: list[str]) -> None:
    given = [one.format(script=script, folder=Path(script).parent) for one in arguments]
    done = python(COMMAND, *given)
    assert done.returncode == 1
    assert done.stderr.startswith("missing-spark: "), done.stderr
    assert "pip install 'panes[spark]'" in done.stderr


def test_the_doctor_says_so_too() -> None:
    done = python(COMMAND, "doctor", "--json")
    found = {one["what"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert (done.returncode, found["Spark"]["grade"]) == (1, "fail")
    assert "panes[spark]" in found["Spark"]["remedy"]


@pytest.mark.parametrize(
    "code",
    [
        "import panes; panes.Engine()",
        "from panes import Engine; Engine(None, shards=2)",
        "import panes.testing",
        "from panes.testing import replay",
        "import panes.sinks; panes.sinks.delta(id='a', path='b')",
    ],
)
@pytest.mark.parametrize(("prelude", "told"), [(BLOCKED, "not installed"), (OLD, "this is Spark 4.0.1")])
def test_python_that_needs_it(code: str, prelude: str, told: str) -> None:
    done = python(code, prelude=prelude)
    assert "PanesError: missing-spark: " in done.stderr
    assert told in done.stderr
    assert "panes[spark]" in done.stderr
    assert "During handling" not in done.stderr and "direct cause" not in done.stderr


@pytest.mark.parametrize("version", ["4.0.1", "3.5.9", "4.0.0.dev2"])
def test_a_server_that_is_too_old(version: str) -> None:
    with pytest.raises(PanesError) as caught:
        check_version(version)
    assert caught.value.code == "missing-spark"


@pytest.mark.parametrize("version", ["4.1.0", "4.3.0", "4.10.0", "5.0.0-preview1"])
def test_one_that_is_not(version: str) -> None:
    check_version(version)
