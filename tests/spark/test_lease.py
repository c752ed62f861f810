"""Leases: one user at a time, where there are no locks. No Spark: any store will do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from panes.errors import PanesError
from panes.spark import lease
from panes.spark.lease import leased
from panes.spark.store import LocalPath


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[LocalPath]:
    """Two folders, of a store in which a user that lives is seen quickly, and never taken for dead."""
    monkeypatch.setattr(lease, "BEAT", 0.02)
    monkeypatch.setattr(lease, "LOOK", 0.01)
    return [LocalPath(tmp_path / name) for name in "ab"]


def test_a_second_user_is_refused(folders: list[LocalPath]) -> None:
    with leased(folders) as check:
        for some in (folders, folders[:1], folders[1:]):
            with pytest.raises(PanesError) as caught, leased(some):
                pass
            assert caught.value.code == "checkpoint-in-use"
            assert "process" in caught.value.message
        check()
        assert [len(folder.names()) for folder in folders] == [1, 1]
    assert [folder.names() for folder in folders] == [[], []]


def test_a_user_that_is_done_is_in_nobodys_way(folders: list[LocalPath]) -> None:
    for _ in range(3):
        with leased(folders) as check:
            check()


def test_a_user_that_is_dead_is_outlived(folders: list[LocalPath], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "SILENT", 0.2)
    for folder in folders:
        folder.make_folder()
        (folder / "dead").write_text('{"host": "gone", "process": 1, "beat": 7}')
    with leased(folders) as check:
        check()
        assert not any("dead" in folder.names() for folder in folders)


def test_a_user_that_was_taken_for_dead_stops(folders: list[LocalPath]) -> None:
    with leased(folders) as check:
        folders[1].remove()
        with pytest.raises(PanesError) as caught:
            until_refused(check)
    assert caught.value.code == "checkpoint-in-use"


def test_a_user_that_cannot_say_that_it_lives_stops(folders: list[LocalPath], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: LocalPath, text: str) -> None:
        raise PanesError("store-failed", "full")

    with leased(folders) as check:
        monkeypatch.setattr(lease, "LOST", 0.2)
        monkeypatch.setattr(LocalPath, "write_text", full)
        with pytest.raises(PanesError) as caught:
            until_refused(check)
    assert caught.value.code == "checkpoint-in-use"
    assert "could not be written" in caught.value.message


def test_a_sign_of_life_that_came_too_late_does_not_count(
    folders: list[LocalPath], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then another user may have taken this one for dead, and run: that nobody looked meanwhile does not matter."""
    write_text = LocalPath.write_text

    def stall(path: LocalPath, text: str) -> None:
        time.sleep(0.5)
        write_text(path, text)

    with leased(folders) as check:
        monkeypatch.setattr(lease, "LOST", 0.3)
        monkeypatch.setattr(LocalPath, "write_text", stall)
        time.sleep(1.5)
        monkeypatch.setattr(LocalPath, "write_text", write_text)
        time.sleep(0.3)
        with pytest.raises(PanesError) as caught:
            check()
    assert caught.value.code == "checkpoint-in-use"


def until_refused(check: object) -> None:
    assert callable(check)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        check()
        time.sleep(0.01)
