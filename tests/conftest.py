"""What all tests share: Hypothesis prints how to repeat a failure, `--update` rewrites golden pages."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("panes", print_blob=True, deadline=None)
settings.load_profile("panes")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the golden blocks of documentation pages")
