"""What a shard's step gives out, on its way to `unpack`: a blob, and in a file what does not fit into it.

Spark's worker gathers all that a processor yields before it hands it on. So a large result is written to a file, piece
by piece as the kernel makes it. `unpack` runs in the same task, in another worker of the machine: it reads the file and
removes it. What a task leaves that fails goes with Spark's local folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa

from panes.kernels.bounded import bounded
from panes.kernels.late_rows import is_late
from panes.spark.blob import from_bytes, to_bytes
from panes.spark.worker import local_folder

LENGTH = 8  # bytes, before each blob of a file


@dataclass(frozen=True)
class Result:
    """What was written: the first rows in `blob`, those that follow in `file`. Late rows are not among `rows`."""

    rows: int = 0
    blob: bytes | None = None
    file: str | None = None


def write_result(tables: Iterable[pa.Table], outputs: tuple[str, ...]) -> Result:
    """The columns of the result that somebody reads, and late rows as they are; tables are asked for one by one."""
    parts = (part for table in tables for part in bounded(table if is_late(table) else table.select(outputs)))
    first, second = next(parts, None), next(parts, None)
    if first is None or second is None:
        return Result() if first is None else Result(_rows(first), to_bytes(first))
    rows, blob = _rows(first), to_bytes(first)
    del first
    with NamedTemporaryFile(dir=local_folder(), prefix="panes-result-", delete=False) as file:
        for part in chain([second], parts):
            rows += _rows(part)
            written = to_bytes(part)
            file.write(len(written).to_bytes(LENGTH, "little"))
            file.write(written)
    return Result(rows, blob, file.name)


def _rows(part: pa.Table) -> int:
    return 0 if is_late(part) else int(part.num_rows)


def read_result(blob: bytes | None, file: str | None) -> Iterator[pa.Table]:
    """The tables of a result, one by one; its file is removed."""
    if blob is not None:
        yield from_bytes(blob)
    if file is not None:
        with Path(file).open("rb") as found:
            Path(file).unlink()
            while length := found.read(LENGTH):
                yield from_bytes(found.read(int.from_bytes(length, "little")))
