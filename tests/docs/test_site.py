"""The site of the documentation: it builds without a warning, and has every page in the order of docs/index.md."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pages_of(nav: list[dict[str, object]]) -> Iterator[str]:
    for entry in nav:
        for below in entry.values():
            if isinstance(below, list):
                yield from pages_of(below)
            else:
                yield str(below)


def test_every_page_is_on_the_site_and_on_the_index() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = list(pages_of(config["project"]["nav"]))
    assert len(pages) == len(set(pages))
    assert set(pages) == {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8").partition("## The pages")[2]
    assert set(re.findall(r"\]\(([^)#]+\.md)\)", index)) == set(pages) - {"index.md"}


def test_it_builds() -> None:
    """A link to a heading or a page that is not there is a warning, and a warning is an error."""
    done = subprocess.run([sys.executable, "scripts/make_site.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    built = (ROOT / "build/site/quickstart/index.html").read_text(encoding="utf-8")
    assert "rows of events" in built and "```" not in built
