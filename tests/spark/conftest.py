"""One Spark session for all tests of the runtime."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from panes.spark.session import embedded


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = embedded(2)
    yield session
    session.stop()
