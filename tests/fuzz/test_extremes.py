"""Every very deep and very long text, held to the law at a size that may compile, at one that may not, and at its full size."""

from __future__ import annotations

import pytest

from .extremes import EXTREMES
from .law import check

MANY_STAGES = {
    "different partitions": lambda n: "SELECT " + ", ".join(f"lag(a) OVER (PARTITION BY a + {i})" for i in range(n)),
    "partitions in turn": lambda n: (
        "SELECT " + ", ".join(f"lag(lag(a + {i}) OVER (PARTITION BY a)) OVER (PARTITION BY b)" for i in range(n))
    ),
}


@pytest.mark.parametrize("size", [40, 400])
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme(name: str, size: int) -> None:
    check(EXTREMES[name](size))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMES)
def test_full_size(name: str) -> None:
    check(EXTREMES[name](10_000))


@pytest.mark.parametrize("name", MANY_STAGES)
def test_many_stages(name: str) -> None:
    check(MANY_STAGES[name](1_000) + " FROM users")
