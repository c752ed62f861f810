from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres_server import Server

from spark.postgres.tables import Tables, tables


@pytest.fixture
def db(postgres: Server) -> Iterator[Tables]:
    """A schema for a test alone."""
    with tables(postgres, "shop") as found:
        yield found
