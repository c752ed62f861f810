"""Outcomes as JUnit XML, which CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from panes.testing.suite import Outcome
from panes.testing.told import told

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outcomes: Sequence[Outcome]) -> str:
    """One suite for each file, one case for each case."""
    root = ElementTree.Element("testsuites", _totals(outcomes))
    for path in dict.fromkeys(outcome.path for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.path == path]
        suite = ElementTree.SubElement(root, "testsuite", {"name": path.as_posix(), **_totals(own)})
        for outcome in own:
            _case(suite, outcome)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _totals(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(sum(_is_failure(one) for one in outcomes)),
        "errors": str(sum(one.error is not None for one in outcomes)),
        "time": f"{sum(one.seconds for one in outcomes):.3f}",
    }


def _is_failure(outcome: Outcome) -> bool:
    return not outcome.passed and outcome.error is None


def _case(suite: ElementTree.Element, outcome: Outcome) -> None:
    named = {"name": outcome.name, "classname": outcome.path.with_suffix("").as_posix().replace("/", ".")}
    place = {"file": outcome.path.as_posix(), "line": str(outcome.line), "time": f"{outcome.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", {**named, **place})
    if not outcome.passed:
        kind = "error" if outcome.error is not None else "failure"
        text = NOT_XML.sub("?", told(outcome))
        lines = text.split("\n")
        ElementTree.SubElement(case, kind, {"message": lines[min(1, len(lines) - 1)].strip()}).text = text


def write_junit(path: Path, outcomes: Sequence[Outcome]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(junit(outcomes), encoding="utf-8")
