"""A worker settles in: what has been imported is never looked through again, and what tasks leave is collected."""

from __future__ import annotations

import gc
import sys
import weakref
from types import ModuleType

import pytest

from panes.spark.worker import settle_in


class Task:
    """What a task leaves behind: an object that refers to itself."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def thawed():
    yield
    gc.unfreeze()


def import_another(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, ModuleType(name))


def test_what_has_been_imported_stays(monkeypatch):
    import_another(monkeypatch, "first_of_test_worker")
    settle_in()
    frozen = gc.get_freeze_count()
    assert frozen > len(sys.modules)
    settle_in()
    assert gc.get_freeze_count() <= frozen  # nothing new: whatever was freed meanwhile is gone
    import_another(monkeypatch, "second_of_test_worker")
    keep = [Task() for _ in range(1_000)]
    settle_in()
    assert gc.get_freeze_count() >= frozen + len(keep)


def test_what_a_task_leaves_is_collected(monkeypatch):
    import_another(monkeypatch, "third_of_test_worker")
    import_another(monkeypatch, "fourth_of_test_worker")
    import_another(monkeypatch, "fifth_of_test_worker")
    settle_in()
    left = weakref.ref(Task())
    assert left() is not None
    gc.collect()
    assert left() is None
