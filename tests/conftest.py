"""What all tests share: Hypothesis tries the same examples in every normal run and new ones in every slow run.

So `make test` is the same everywhere, and `make slow` searches; both print how to repeat a failure. `--update` rewrites
golden pages.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from jars import CONNECTORS, DATABASES, MissingError, jars, skip
from kafka_broker import Addresses, broker
from postgres_server import Server, server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A Java that lives for minutes at most is faster with its quick compiler alone. The 48 MB that it then has for compiled
# code are full after a third of the tests, and a fifth of its time goes into throwing code away.
JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=400m -XX:+UseSerialGC"
if sys.platform == "linux":  # Hadoop starts four processes to write a file; this takes half the time for each
    JAVA += " -Djdk.lang.Process.launchMechanism=VFORK"
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA)
settings.register_profile("same", print_blob=True, deadline=None, derandomize=True, max_examples=50)
settings.register_profile("search", print_blob=True, deadline=None, max_examples=200)


def pytest_configure(config: pytest.Config) -> None:
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="panes-state-")  # runs of the command line are told there
    settings.load_profile("search" if config.option.markexpr == "slow" else "same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the golden blocks of documentation pages")
    parser.addoption("--seed", type=int, help="the first seed of the random queries; another one in every slow run")
    parser.addoption("--queries", type=int, default=5000, help="how many random queries a slow run tries")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Java has its jars from its start, whichever test starts it: so they are named before the first test runs."""
    if any(item.get_closest_marker("spark") for item in session.items) and not session.config.option.collectonly:
        _name_connectors()


def _name_connectors() -> None:
    """Name the connectors for every Spark that starts here; tests that need them say so where they are missing."""
    named: list[Path] = []
    for name, coordinates in (("connectors", CONNECTORS), ("databases", DATABASES)):
        with suppress(MissingError):
            named += jars(name, coordinates, alone=True)
    if named:
        os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--jars {','.join(map(str, named))} pyspark-shell")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests that need one."""
    from panes.spark.session import embedded

    session = embedded(2)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka_addresses(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Addresses]:
    """A Kafka broker, for tests with a Spark that has the connector."""
    with ExitStack() as stack:
        try:
            jars("connectors", CONNECTORS, alone=True)
            addresses = stack.enter_context(broker(tmp_path_factory.mktemp("kafka")))
        except MissingError as missing:
            skip(missing)
        yield addresses


@pytest.fixture(scope="session")
def kafka(kafka_addresses: Addresses) -> str:
    """Its address, where it lets everybody in."""
    return kafka_addresses.open


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server."""
    with ExitStack() as stack:
        try:
            found = stack.enter_context(server())
        except MissingError as missing:
            skip(missing)
        yield found
