"""Parts of kernels are tested outside a step, too: there chunks are numbered through a test module.

Pages of fences are small, so that few rows are in several.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from panes.kernels.kernel import numbered_chunks
from panes.kernels.sorted_blocks import pages


@pytest.fixture(autouse=True, scope="module")
def numbers() -> Iterator[None]:
    with numbered_chunks():
        yield


@pytest.fixture(autouse=True, scope="module")
def small_pages() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "MOST", 8)
        yield
