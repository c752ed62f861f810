"""Parts of kernels are tested outside a step, too: there chunks are numbered through a test module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from panes.kernels.kernel import numbered_chunks


@pytest.fixture(autouse=True, scope="module")
def numbers() -> Iterator[None]:
    with numbered_chunks():
        yield
