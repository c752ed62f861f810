"""What a connector needs beyond Spark's own jars."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from panes.catalog import Sink, Stream
from panes.errors import PanesError
from panes.spark import packages
from panes.spark.packages import check_packages, needed_packages, unresolved, with_packages

KAFKA = Stream("orders", (), options={"connector": "kafka", "Format": "AVRO"})
FILES = Stream("files", (), options={"connector": "json", "path": "x"})
OUT = Sink("out", {"connector": "kafka", "topic": "t"})
AVRO = f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}"
OTHER = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"


def test_packages_are_those_of_the_spark_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    version = pyspark.__version__
    assert needed_packages([FILES]) == []
    assert needed_packages([OUT]) == [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"]
    assert needed_packages([FILES, KAFKA, OUT]) == [
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}",
        f"org.apache.spark:spark-avro_2.13:{version}",
    ]


def test_what_the_user_names_is_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars /x/spark-sql-kafka-0-10_2.13-4.2.0.jar pyspark-shell")
    assert needed_packages([KAFKA]) == [AVRO]


@pytest.fixture
def defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


@pytest.mark.parametrize(
    ("named", "settings"),
    [
        ([OTHER], {}),
        ([], {"spark.jars.packages": f"a:b:1, {OTHER}"}),
        ([], {"spark.jars": "/y/other.jar, /x/spark-sql-kafka-0-10_2.13-4.2.0.jar"}),
        ([], {"spark.jars": "hdfs://h/spark-sql-kafka-0-10-assembly.jar"}),
    ],
)
def test_what_an_option_or_setting_names_is_not_added(
    named: list[str], settings: dict[str, str], defaults: Path
) -> None:
    assert needed_packages([KAFKA], named, settings) == [AVRO]
    defaults.write_text("".join(f"{name}  {value}\n" for name, value in settings.items()), encoding="utf-8")
    assert needed_packages([KAFKA], named) == [AVRO]


def test_jars_of_a_folder_are_looked_up(tmp_path: Path, defaults: Path) -> None:
    (tmp_path / "spark-sql-kafka-0-10_2.13-4.2.0.jar").touch()
    assert needed_packages([KAFKA], settings={"spark.jars": f"{tmp_path}/*.jar"}) == [AVRO]


def test_another_artifact_of_the_group_is_not_it(defaults: Path) -> None:
    assert len(needed_packages([KAFKA], ["org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.2.0"])) == 2


def test_packages_of_the_defaults_stay(defaults: Path) -> None:
    defaults.write_text("# ours\nspark.jars.packages = a:b:1,c:d:2\n", encoding="utf-8")
    assert with_packages({}, ["x:y:3", "a:b:1"]) == {"spark.jars.packages": "x:y:3,a:b:1,c:d:2"}
    assert with_packages({"spark.jars.packages": "e:f:4"}, ["x:y:3"]) == {"spark.jars.packages": "x:y:3,e:f:4"}
    assert with_packages({"spark.ui.port": "1"}, []) == {"spark.ui.port": "1"}


BY_SPARK = Sink("lake", {"connector": "delta", "path": "t", "engine": "spark"})
DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"


def test_delta_is_added_where_a_sink_asks_for_it(defaults: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is none for this Spark the sink is refused, and says so."""
    unasked = Sink("lake", {"connector": "delta", "path": "t"})
    for version, needed in (("4.2.0", [DELTA]), ("4.3.0", [])):
        monkeypatch.setattr(pyspark, "__version__", version)
        assert needed_packages([unasked]) == []
        assert needed_packages([unasked, BY_SPARK, BY_SPARK]) == needed


@pytest.mark.parametrize(
    ("named", "settings"),
    [
        (["io.delta:delta-spark_4.2_2.13:4.4.1"], {}),
        (["io.delta:delta-spark_2.13:4.1.0"], {}),
        ([], {"spark.jars.packages": DELTA}),
        ([], {"spark.jars": "/x/delta-spark_4.2_2.13-4.4.0.jar"}),
    ],
)
def test_delta_is_not_added_twice(
    named: list[str], settings: dict[str, str], defaults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    assert needed_packages([BY_SPARK], named, settings) == []


def test_packages_that_cannot_be_had() -> None:
    error = unresolved(["a:b:1"])
    assert error.code == "missing-package"
    assert "a:b:1" in error.message


@pytest.mark.spark
def test_a_session_that_runs_is_told_what_to_add(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "has_source", lambda spark, source: False)
    check_packages(spark, FILES)
    with pytest.raises(PanesError) as caught:
        check_packages(spark, OUT)
    assert caught.value.code == "missing-package"
    assert f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}" in (caught.value.hint or "")


@pytest.mark.spark
def test_sources_that_are_there(spark: SparkSession) -> None:
    assert packages.has_source(spark, "parquet")
    assert not packages.has_source(spark, "nonsense")
