"""Indexes of keys as they were kept before: in sorted blocks, by key. They are read whole, once, and kept otherwise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from panes.kernels.kernel import Chunk
from panes.kernels.sorted_blocks.blocks import HOME, Directory

FORMER = "index "  # how the kinds of such chunks begin


def former_rows(chunks: Iterable[Chunk]) -> pa.Table | None:
    """All rows of such an index; None if there is none."""
    directory = Directory.read(chunks, FORMER)
    if not len(directory):
        return None
    return directory.load(np.ones(len(directory), np.bool_)).drop_columns([HOME]).combine_chunks()


def former_size(chunks: Iterable[Chunk]) -> int:
    """How many rows it has."""
    return int(Directory.read(chunks, FORMER).sizes.sum())
