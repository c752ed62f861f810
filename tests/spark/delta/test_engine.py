"""Which engine writes a Delta table: by what the sink names and what the session has."""

from __future__ import annotations

import pytest
from present import present
from pyspark.sql import SparkSession

from panes.connectors.delta import DELTA_RS, SPARK, DeltaSink
from panes.errors import PanesError
from panes.spark.delta.engine import Found, engine_of, found_in, lacking, suits
from panes.spark.delta.jar import CATALOG, EXTENSION, with_delta

JAR = "io.delta_delta-spark_4.2_2.13-4.4.0.jar"
READY = Found("4.2.0", JAR)
PLAIN = DeltaSink("/lake/t")
S3 = {"AWS_REGION": "eu"}


@pytest.mark.parametrize(
    ("found", "engine"),
    [
        (READY, SPARK),
        (Found("4.2.1", "delta-spark_4.2_2.13-4.4.1.jar"), SPARK),
        (Found("4.2.0", None), DELTA_RS),
        (Found("4.3.0", None), DELTA_RS),
        (Found("4.3.0", JAR), DELTA_RS),  # it writes there, and cannot read what it has written
        (Found("4.2.0", "delta-spark_4.1_2.13-4.4.0.jar"), DELTA_RS),
        (Found("4.2.0", "delta-spark_2.13-4.0.0.jar"), DELTA_RS),  # its name tells no Spark
        (Found("4.2.0", "our-lake.jar"), DELTA_RS),
        (Found("4.2.0", ""), DELTA_RS),
        (Found("4.1.1", "delta-spark_4.1_2.13-4.4.0.jar"), DELTA_RS),  # not tested, so not unasked
        (Found("4.2.0", JAR, extension=False), DELTA_RS),
        (Found("4.2.0", JAR, catalog=False), DELTA_RS),
        (Found("4.2.0", None, connect=True), DELTA_RS),
    ],
)
def test_unasked(found: Found, engine: str) -> None:
    assert engine_of(PLAIN, found) == engine
    assert suits(found) == (engine == SPARK)


@pytest.mark.parametrize(
    ("sink", "engine"),
    [
        (DeltaSink("abfss://c@a.dfs.core.windows.net/t"), SPARK),
        (DeltaSink("s3a://lake/t"), DELTA_RS),
        (DeltaSink("S3://lake/t"), DELTA_RS),
        (DeltaSink("abfss://c@a/t", storage=S3), DELTA_RS),
        (DeltaSink("s3a://lake/t", engine=SPARK), SPARK),
        (DeltaSink("/lake/t", engine=DELTA_RS), DELTA_RS),
    ],
)
def test_where_the_table_is(sink: DeltaSink, engine: str) -> None:
    assert engine_of(sink, READY) == engine


@pytest.mark.parametrize(
    ("found", "code", "says"),
    [
        (Found("4.2.0", None), "missing-package", "--packages io.delta:delta-spark_4.2_2.13:4.4.0 --conf"),
        (Found("4.3.0", None), "missing-package", "none for Spark 4.3"),
        (Found("4.3.0", JAR), "missing-package", f"for Spark 4.3, and {JAR} is for Spark 4.2"),
        (Found("4.2.0", "our-lake.jar"), "missing-package", "our-lake.jar names no Spark"),
        (Found("4.2.0", JAR, extension=False), "spark-settings", "Delta in spark.sql.extensions"),
        (Found("4.2.0", JAR, catalog=False), "spark-settings", "Delta in spark.sql.catalog.spark_catalog"),
        (Found("4.2.0", None, connect=True), "stream-options", "Spark Connect"),
    ],
)
def test_asked_for_and_not_there(found: Found, code: str, says: str) -> None:
    with pytest.raises(PanesError) as caught:
        engine_of(DeltaSink("/lake/t", engine=SPARK), found)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert caught.value.hint
    assert engine_of(DeltaSink("/lake/t", engine=DELTA_RS), found) == DELTA_RS


def test_asked_for_where_it_is_not_tested() -> None:
    found = Found("4.1.1", "delta-spark_4.1_2.13-4.4.0.jar")
    assert engine_of(DeltaSink("/lake/t", engine=SPARK), found) == SPARK


def test_a_session_that_starts_with_the_package_is_set_up_for_it() -> None:
    package = "io.delta:delta-spark_4.2_2.13:4.4.0"
    settings = {"spark.sql.extensions": "a.B", "spark.sql.catalog.spark_catalog": "c.D"}
    assert with_delta(settings, ["x:y:1"], {}, "4.2.0") == settings
    assert with_delta({}, [package], {}, "4.2.0") == {
        "spark.sql.extensions": EXTENSION,
        "spark.sql.catalog.spark_catalog": CATALOG,
    }
    assert with_delta(settings, [package], {}, "4.3.0") == settings
    kept = {**settings, "spark.sql.extensions": f"a.B,{EXTENSION}"}
    assert with_delta(settings, [package], {}, "4.2.0") == kept
    assert with_delta(kept, [package], {"spark.sql.extensions": "of.Others"}, "4.2.0") == kept


@pytest.mark.spark
def test_a_session_without_delta(spark: SparkSession) -> None:
    found = found_in(spark)
    assert (found.spark, found.jar, found.extension, found.catalog) == (spark.version, None, False, False)
    assert present(lacking(found)).code == "missing-package"
