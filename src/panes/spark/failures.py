"""What fails in Spark, as errors of Panes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from panes.errors import PanesError

CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*")  # how Spark's errors begin, whatever their class


@contextmanager
def refused_by_spark(code: str, what: str) -> Iterator[None]:
    """What Spark finds wrong before a query runs, as an error of Panes."""
    try:
        yield
    except PanesError:
        raise
    except Exception as error:
        found = CONDITION.search(str(error))
        if found is None:
            raise
        raise PanesError(code, f"{what}: {found[0]}") from error
