"""A worker settles in: what has been imported is never looked through again, and what tasks leave is collected.

And Spark's helper that starts a query is quiet, once an operator of Panes is there.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from panes.kernels.duck import connection, query
from panes.spark.memory import Memory
from panes.spark.worker import STARTING, be_quiet, freeze_imports, set_up


class Task:
    """What a task leaves behind: an object that refers to itself."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def import_another(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, ModuleType(name))


def seen(objects: list[Task]) -> int:
    """How many of them the collector looks at; what is frozen it does not."""
    return len(set(map(id, objects)) & set(map(id, gc.get_objects())))


def test_what_has_been_imported_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import_another(monkeypatch, "first_of_test_worker")
    freeze_imports()
    frozen = gc.get_freeze_count()
    assert frozen > len(sys.modules)
    freeze_imports()
    assert gc.get_freeze_count() <= frozen  # nothing new: whatever was freed meanwhile is gone
    import_another(monkeypatch, "second_of_test_worker")
    keep = [Task() for _ in range(1_000)]
    assert seen(keep) == len(keep)
    freeze_imports()
    assert seen(keep) == 0


def test_what_a_task_leaves_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    import_another(monkeypatch, "third_of_test_worker")
    import_another(monkeypatch, "fourth_of_test_worker")
    import_another(monkeypatch, "fifth_of_test_worker")
    freeze_imports()
    left = weakref.ref(Task())
    assert left() is not None
    gc.collect()
    assert left() is None


def test_duckdb_keeps_to_the_share_of_a_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    connection.cache_clear()
    set_up(Memory(6 << 30, 4))
    found = query("SELECT current_setting('memory_limit') AS m, current_setting('temp_directory') AS t")
    connection().close()
    connection.cache_clear()
    assert found.to_pylist() == [{"m": "768.0 MiB", "t": str(tmp_path / f"panes-spill-{os.getpid()}")}]


@pytest.mark.parametrize(("module", "printed"), [(STARTING, ""), ("pyspark.daemon", "told\n")])
def test_only_the_helper_that_starts_a_query_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str, printed: str
) -> None:
    assert find_spec(module) is not None
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", ModuleSpec(module, None))
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    be_quiet()
    print("told")
    assert capsys.readouterr().out == printed
