"""What every query of one statement is bound against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from panes.catalog import Catalog
from panes.functions import Functions
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.statements import (
    Query,
)

MOST_QUERIES = 1_000


@dataclass(frozen=True)
class Binder:
    """What every query of one statement is bound against; `views` are those being expanded.

    `queries` counts them: views that read two views that read two views … are soon more than a plan can hold.
    `whole_rows`: the stream's rows are carried whole, for LATE ROWS INTO.
    """

    catalog: Catalog
    functions: Functions
    allocator: ColPlaceholderAllocator
    ctes: Mapping[str, tuple[Query, Binder]]
    queries: Iterator[int]
    views: tuple[str, ...] = ()
    whole_rows: bool = False
