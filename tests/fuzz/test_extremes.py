"""Every very deep and very long text, once at its full size, and once at a size that still compiles or nearly so."""

from __future__ import annotations

import pytest

from .extremes import EXTREMES
from .law import check


@pytest.mark.parametrize("size", [40, 10_000])
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme(name: str, size: int) -> None:
    check(EXTREMES[name](size))
