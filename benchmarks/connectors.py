"""The jars of the tests' connectors, for a Spark that a benchmark starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"


def name_connectors() -> None:
    """Java has its jars from its start, whichever benchmark starts it. Where they cannot be had, none is named."""
    sys.path.append(str(TESTS))
    from jars import CONNECTORS, MissingError, jars

    try:
        files = ",".join(map(str, jars("connectors", CONNECTORS, alone=True)))
    except MissingError:
        return
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--jars {files} pyspark-shell")
