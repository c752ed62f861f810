"""Files of a checkpoint, by Python and by Hadoop: the same laws. S3 is in test_s3.py."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from jars import MissingError, skip
from present import present
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.spark.store import HadoopPath, LocalPath, StorePath, hadoop_of, store_path


@pytest.fixture(params=["local", pytest.param("hadoop", marks=pytest.mark.spark)])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> StorePath:
    if request.param == "local":
        return LocalPath(tmp_path)
    return HadoopPath(f"file:{tmp_path}", request.getfixturevalue("spark"))


def test_what_is_published_is_read(root: StorePath) -> None:
    file = root / "a.json"
    assert not file.exists()
    file.publish("é\n1")
    file.publish("é\n2")
    assert file.exists()
    assert file.read_text() == "é\n2"
    assert [name for name in root.names() if not name.startswith(".")] == ["a.json"]


def test_what_is_written_over(root: StorePath) -> None:
    file = root / "a"
    file.write_text("long")
    file.write_text("b")
    assert file.read_text() == "b"


def test_folders(root: StorePath) -> None:
    folder = root / "x" / "y"
    assert folder.names() == []
    folder.make_folder()
    folder.make_folder()
    (folder / "b").write_text("1")
    (folder / "a").write_text("1")
    assert [name for name in folder.names() if not name.startswith(".")] == ["a", "b"]
    assert (folder.name, folder.parent.name, str(folder.parent)) == ("y", "x", str(root / "x"))
    (root / "x").remove()
    (root / "x").remove()
    assert not folder.exists()


def test_what_is_refused(root: StorePath) -> None:
    (root / "file").write_text("1")
    for refused in (
        (root / "nowhere").read_text,
        (root / "file" / "x").make_folder,
        lambda: (root / "file" / "x").write_text("1"),
        lambda: (root / "file" / "x").publish("1"),
    ):
        with pytest.raises(PanesError) as caught:
            refused()
        assert caught.value.code == "store-failed"
        assert "Exception" not in caught.value.message


def test_a_full_disk() -> None:
    if not Path("/dev/full").exists():
        skip(MissingError("/dev/full is Linux's"))
    with pytest.raises(PanesError, match="No space left on device") as caught:
        LocalPath(Path("/dev/full")).write_text("1")
    assert (caught.value.code, bool(caught.value.hint)) == ("store-failed", True)


def test_over_spark_connect_there_is_this_machine_and_no_other(tmp_path: Path) -> None:
    remote = cast(SparkSession, object())
    assert store_path(str(tmp_path), remote) == store_path(f"file://{tmp_path}", remote) == LocalPath(tmp_path)
    with pytest.raises(PanesError) as caught:
        store_path("s3a://bucket/x", remote)
    assert caught.value.code == "store-failed"


@pytest.mark.spark
def test_a_path_without_a_scheme_is_on_the_default_file_system(spark: SparkSession, tmp_path: Path) -> None:
    assert store_path(tmp_path, spark) == LocalPath(tmp_path)
    spark.conf.set("fs.defaultFS", "s3a://bucket")
    try:
        with pytest.raises(PanesError) as caught:
            store_path(tmp_path, spark)
    finally:
        spark.conf.unset("fs.defaultFS")
    assert caught.value.code == "missing-package"


@pytest.mark.spark
def test_a_session_that_is_there_hands_settings_on_to_hadoop(spark: SparkSession) -> None:
    try:
        assert Engine(settings={"spark.hadoop.panes.test": "1"}).spark is spark
        assert present(hadoop_of(spark)).get("panes.test") == "1"
    finally:
        spark.conf.unset("panes.test")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("uri", "artifact"),
    [("s3a://bucket/x", "hadoop-aws"), ("abfss://c@account/x", "hadoop-azure"), ("gs://bucket/x", "hadoop-gcp")],
)
def test_a_store_without_its_jar(spark: SparkSession, uri: str, artifact: str) -> None:
    with pytest.raises(PanesError) as caught:
        store_path(uri, spark)
    assert caught.value.code == "missing-package"
    assert f"org.apache.hadoop:{artifact}:3." in (caught.value.hint or "")
