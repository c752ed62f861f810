"""Every very deep and very long text is held to the law, at three sizes."""

from __future__ import annotations

import pytest

from .extremes import EXTREMES
from .law import check


@pytest.mark.parametrize("size", [40, 400])
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme(name: str, size: int) -> None:
    check(EXTREMES[name](size))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMES)
def test_full_size(name: str) -> None:
    check(EXTREMES[name](10_000))
