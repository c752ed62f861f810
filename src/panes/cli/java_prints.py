"""What Java prints past everything: greetings, warnings, what its Python workers say. A file takes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STDERR = 2


@contextmanager
def java_prints_to(log: Path) -> Iterator[None]:
    """A process that is started in this block has `log` as its standard error; if the block fails, it is shown."""
    sys.stderr.flush()
    ours = os.dup(STDERR)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), STDERR)
        yield
    except BaseException:
        os.dup2(ours, STDERR)
        sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
        raise
    finally:
        os.dup2(ours, STDERR)
        os.close(ours)
