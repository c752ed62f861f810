"""Folders of files: one folder in several spellings, and what the INSERTs of a script may do with it. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.errors import PanesError
from panes.spark.folders import Files, check_folders, folder


@pytest.mark.parametrize(
    "spelled",
    [
        "/x/out",
        "/x/out/",
        "/x//out",
        "/x/./out",
        "/x/in/../out",
        "file:/x/out",
        "file:///x/out",
        "file:///x/out/",
        "FILE:/x/out",
        "file://localhost/x/out",
    ],
)
def test_spellings_of_a_local_folder(spelled: str) -> None:
    assert folder(spelled) == "/x/out"


def test_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder("out") == folder("./out") == folder("file:out") == folder(str(tmp_path / "out"))


def test_a_link_is_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    assert folder(f"{tmp_path}/link/a") == folder(f"file:{tmp_path}/out/a")


@pytest.mark.parametrize("spelled", ["s3a://b/x", "s3a://b/x/", "S3A://b//x", "s3a://b/y/../x"])
def test_spellings_of_a_folder_in_a_bucket(spelled: str) -> None:
    assert folder(spelled) == "s3a://b/x"


def test_other_buckets_are_other_folders() -> None:
    assert len({folder(one) for one in ("s3a://b/x", "s3a://c/x", "hdfs://b/x", "/b/x", "s3a://b/X")}) == 5


def refused(*inserts: Files) -> str:
    with pytest.raises(PanesError) as caught:
        check_folders(inserts)
    assert caught.value.code == "stream-options"
    return caught.value.message


def test_two_inserts_into_one_folder() -> None:
    check_folders([Files("a", "/x/a", ()), Files("b", "/x/b", ()), Files("c", None, ()), Files("d", None, ())])
    assert "INTO a and INSERT INTO b" in refused(Files("a", "/x/out", ()), Files("b", "file:///x/out/", ()))


def test_a_folder_inside_another() -> None:
    """Whoever reads the outer one would find the rows of both."""
    outer, inner = Files("a", "/x/out", ()), Files("b", "/x/out/late", ())
    assert "one inside it" in refused(outer, inner)
    assert "one inside it" in refused(inner, outer)
    check_folders([outer, Files("b", "/x/out-late", ())])


@pytest.mark.parametrize("read", ["/x/in", "/x/in/", "/x", "file:/x/*", "/x/i?"])
def test_an_insert_that_reads_what_it_writes(read: str) -> None:
    assert "reads" in refused(Files("a", "/x/in", (read,)))


def test_an_insert_that_reads_what_it_writes_through_others() -> None:
    """A chain of INSERTs is fine, a ring is not."""
    chain = [Files("a", "/x/a", ("/x/in",)), Files("b", "/x/b", ("/x/a",))]
    check_folders(chain)
    assert "reads" in refused(*chain, Files("c", "/x/in", ("file:/x/b",)))


@pytest.mark.parametrize("read", ["/x/in/deeper", "/x/input", "/y/*", "s3a://x/in"])
def test_an_insert_that_reads_something_else(read: str) -> None:
    check_folders([Files("a", "/x/in", (read,))])
