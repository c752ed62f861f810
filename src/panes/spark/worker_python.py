"""The Python that Spark's workers run: in a local session the driver's own, elsewhere one that has the same Panes.

Spark takes what PYSPARK_PYTHON named when the session began, else `python3` from PATH: of a virtual environment that is
not activated, that is another one, and a query dies with `No module named 'panes'`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession, functions

from panes.errors import PanesError

# Run by the other interpreter, which may have nothing of Panes; a module that cannot be imported is not there.
LOOK = """
import importlib, json, platform, sys

def version(module):
    try:
        return str(importlib.import_module(module).__version__)
    except Exception:
        return None

def found():
    versions = {"panes": version("panes"), "duckdb": version("duckdb")}
    return json.dumps({"interpreter": sys.executable, "python": platform.python_version(), **versions})
"""
MISSING_MODULE = re.compile(r"No module named '(?P<module>\w+)")
NOT_STARTED = re.compile(r'Cannot run program "(?P<interpreter>[^"]+)"')
IN_SESSION_FOLDER = re.compile(r'Cannot run program "(?!/)[^"/]*/[^"]+" \(in directory "')
OTHER_PYTHON = re.compile(r"Python in worker has different version:? (?P<python>\d[\d.]*)")

_fit: set[str] = set()  # applications and sessions whose workers have been looked at


@dataclass(frozen=True)
class Python:
    """An interpreter, and what it has."""

    interpreter: str
    python: str
    panes: str | None
    duckdb: str | None


@cache
def own() -> Python:
    return Python(**json.loads(_looked()))


def use_own_python(spark: SparkSession) -> None:
    """Let the workers of a local session run the driver's own interpreter, unless the named one will do."""
    context = getattr(spark, "_sc", None)  # Spark Connect has none: there the server's environment decides
    if context is None or not _is_local(context.master) or _is_own(context.pythonExec):
        return
    named = os.environ.get("PYSPARK_PYTHON") == context.pythonExec
    if not named or not _fits(_asked(context.pythonExec)):
        context.pythonExec = sys.executable


def check_workers(spark: SparkSession) -> None:
    """Refuse workers that cannot run Panes; on a cluster one of them is asked, once.

    For whatever of Panes runs there: operators, sources, and sinks that executors write to.
    """
    context = getattr(spark, "_sc", None)
    if context is not None and _is_local(context.master):
        return
    session = context.applicationId if context is not None else spark.session_id  # type: ignore[attr-defined]
    if session in _fit:
        return
    worker = _worker(spark, context.pythonExec if context is not None else None)
    if worker is not None and not _fits(worker):
        raise unfit(f"run {worker.interpreter} (Python {worker.python}), which has {_lack(worker)}")
    _fit.add(session)


def _is_local(master: str) -> bool:
    """Whether tasks run in the driver: so not in `local-cluster[…]`."""
    return master == "local" or master.startswith("local[")


def _is_own(interpreter: str) -> bool:
    """Whether it is the driver's: a link of the same environment is, one to the same program elsewhere is not."""
    found = shutil.which(interpreter)
    if found is None:
        return False
    theirs, ours = Path(found), Path(sys.executable)
    return theirs.parent.resolve() == ours.parent.resolve() and theirs.resolve() == ours.resolve()


@cache
def _asked(interpreter: str) -> Python:
    """What an interpreter of this machine says of itself."""
    nothing = Python(interpreter, "", None, None)
    try:
        command = [interpreter, "-c", f"{LOOK}\nprint(found())"]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        return Python(**json.loads(told))
    except (OSError, subprocess.SubprocessError, ValueError):
        return nothing


def _looked() -> str:
    scope: dict[str, object] = {}
    exec(LOOK, scope)
    found = scope["found"]
    assert callable(found)
    return str(found())


def _worker(spark: SparkSession, interpreter: str | None) -> Python | None:
    """What a worker says of itself: in one task, with a function that needs no module to be unpickled.

    None if it cannot be asked: over Spark Connect a batch looks for `./env/bin/python` in a folder of its session, and
    micro-batches where the archive is unpacked.
    """
    text = LOOK

    def look(_: int) -> str:
        scope: dict[str, object] = {}
        exec(text, scope)
        return scope["found"]()  # type: ignore[operator, no-any-return]

    asked = functions.udf(look, "string", useArrow=False)
    try:
        row = spark.range(0, 1, 1, 1).select(asked("id").alias("told")).first()
    except Exception as error:
        if IN_SESSION_FOLDER.search(str(error)):
            return None
        why = _why(str(error), interpreter)
        if why is None:
            raise
        raise unfit(why) from None
    assert row is not None
    return Python(**json.loads(row["told"]))


def _why(text: str, interpreter: str | None) -> str | None:
    """Why a worker could not even be asked; None if it is Spark's own affair.

    >>> _why('IOException: Cannot run program "/opt/py/bin/python": No such file or directory', None)
    'should run /opt/py/bin/python, which is not there'
    """
    if (stopped := NOT_STARTED.search(text)) is not None:
        return f"should run {stopped['interpreter']}, which is not there"
    named = interpreter or "a Python of the server"
    if (missing := MISSING_MODULE.search(text)) is not None:
        return f"run {named}, which has no {missing['module']}"
    if (other := OTHER_PYTHON.search(text)) is not None:
        return f"run {named}, which is Python {other['python']}"
    return None


def _fits(worker: Python) -> bool:
    ours = own()
    same_python = worker.python.split(".")[:2] == ours.python.split(".")[:2]
    return same_python and (worker.panes, worker.duckdb) == (ours.panes, ours.duckdb)


def _lack(worker: Python) -> str:
    """What a worker has instead of what the driver has."""
    ours = asdict(own())
    theirs = asdict(worker)
    names = {"panes": "Panes", "duckdb": "DuckDB"}
    other = [name for name in names if theirs[name] != ours[name]]
    if not other:
        return f"another Python than the driver's {ours['python']}"
    return " and ".join(f"{names[name]} {theirs[name]}" if theirs[name] else f"no {names[name]}" for name in other)


def unfit(why: str) -> PanesError:
    ours = own()
    python = ".".join(ours.python.split(".")[:2])
    text = f"Spark's Python workers {why}; the driver has Panes {ours.panes} and DuckDB {ours.duckdb}"
    needed = f"panes=={ours.panes} and duckdb=={ours.duckdb}"
    hint = (
        f"Let PYSPARK_PYTHON name a Python {python} with {needed} that every executor has, before the session starts; "
        "for Spark Connect, before the server does."
    )
    return PanesError("unfit-workers", text, None, hint)
