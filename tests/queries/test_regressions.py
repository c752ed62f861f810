"""Queries that were wrong once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .double.engine import no_spark
from .keep import FOLDER, expected_text, from_json
from .law import check

KEPT = sorted(FOLDER.glob("*.json"))


def marked(path: Path) -> object:
    """A case may say why it is still wrong (`xfail`)."""
    reason = json.loads(path.read_text()).get("xfail")
    return pytest.param(path, marks=[pytest.mark.xfail(reason=reason)] if reason else [], id=path.stem)


@pytest.mark.parametrize("path", [marked(path) for path in KEPT])
def test_a_query_that_was_wrong(path: Path) -> None:
    expected = json.loads(path.read_text()).get("expected")
    with no_spark():
        result = check(from_json(path.read_text()))
    if expected is not None:
        names = json.loads(expected[0]).keys() if expected else ()
        assert expected_text([{name: row[name] for name in names} for row in result]) == expected
