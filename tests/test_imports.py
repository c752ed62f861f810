"""`import panes` and `panes --help` need no Spark and start no Java."""

import os
import subprocess
import sys

import pytest

CHECK = """
import subprocess, sys

def refuse(*args, **kwargs):
    raise AssertionError(f"a process was started: {args}")

subprocess.Popen = refuse
code = 0
try:
    %s
except SystemExit as exit:
    code = exit.code or 0
loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j"))
assert not loaded, loaded
sys.exit(code)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "import panes; panes.PanesError, panes.__version__",
        "import panes.compile, panes.script, panes.declare",
        "from panes.cli.main import app; app(['--help'])",
        "from panes.cli.main import app; app(['--version'])",
        "from panes.cli.main import app; app(['explain', '--help'])",
    ],
)
def test_without_spark(statement: str) -> None:
    env = {**os.environ, "JAVA_HOME": os.devnull}
    done = subprocess.run([sys.executable, "-c", CHECK % statement], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_unknown_names_are_unknown() -> None:
    import panes

    with pytest.raises(AttributeError):
        _ = panes.nonsense


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("panes.spark.processor", ("pyarrow", "numpy", "duckdb", "sqlglot")),
        ("panes.spark.shard", ("sqlglot",)),
        ("panes.spark.pack", ("sqlglot",)),
        ("panes.spark.unpack", ("sqlglot",)),
    ],
)
def test_what_starts_in_a_worker_is_light(module: str, heavy: tuple[str, ...]) -> None:
    """The helper that starts a query needs no kernels, and workers need no compiler: each would cost at every start.

    What PySpark imports by itself (4.1 does NumPy) is its own affair.
    """
    theirs = "import sys, pyspark.sql.streaming.stateful_processor; theirs = set(sys.modules)"
    code = f"{theirs}; import {module}; print(*(name for name in {heavy!r} if name in sys.modules.keys() - theirs))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
