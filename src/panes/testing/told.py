"""How a case fared, as text for a person."""

from __future__ import annotations

from collections.abc import Iterator

from panes.errors import PanesError
from panes.testing.check_promise import Verdict
from panes.testing.inputs import CaseError
from panes.testing.results import Mismatch
from panes.testing.suite import Outcome


def told(outcome: Outcome) -> str:
    """What is wrong with a case, with the places in its file; empty if nothing is."""
    parts = [_mismatch(outcome, one) for one in outcome.mismatches]
    if outcome.error is not None:
        parts.append(f"{outcome.path}:{outcome.line}\n{_error(outcome.error)}")
    if outcome.verdict is not None and outcome.verdict.difference is not None:
        parts.append(_counterexample(outcome, outcome.verdict, outcome.verdict.difference))
    return "\n\n".join(parts)


def _mismatch(outcome: Outcome, one: Mismatch) -> str:
    return f"{outcome.path}:{one.block.line} {' '.join(one.block.words)}\n{one.difference}"


def _error(error: Exception) -> str:
    match error:
        case CaseError(text=text):
            return text
        case PanesError():
            return str(error)
        case _:
            return f"{type(error).__name__}: {_first_lines(str(error))}"


def _first_lines(text: str) -> str:
    """Without the stacks of Java and Python."""
    lines = text.strip().split("\n")
    return "\n".join([line for line in lines if not line.lstrip().startswith(("at ", 'File "'))][:12])


def _counterexample(outcome: Outcome, verdict: Verdict, difference: str) -> str:
    where = f"{outcome.path}:{outcome.line} the result depends on how the rows come"
    head = f"{where} (found by variant {verdict.tried}). As promised (-), and as it came out (+):"
    return f"{head}\n{difference}\n\nThe smallest case that was found, as a test file:\n\n{verdict.file}"


def in_one_line(outcome: Outcome) -> str:
    """A case as one line.

    >>> from pathlib import Path
    >>> in_one_line(Outcome(Path("t.md"), "A total", 3, 1.234))
    'passed  A total (1.2 s)'
    """
    word = "updated" if outcome.updated else "passed " if outcome.passed else "FAILED "
    notes = list(_notes(outcome.verdict)) if outcome.verdict is not None else []
    return f"{word} {outcome.name} ({', '.join([*notes, f'{outcome.seconds:.1f} s'])})"


def _notes(verdict: Verdict) -> Iterator[str]:
    if verdict.tried:
        yield f"{verdict.tried} variant{'s' if verdict.tried > 1 else ''}"
    else:
        yield "no variants"
    if verdict.note:
        yield verdict.note


def summary(outcomes: list[Outcome]) -> str:
    """All cases as one line.

    >>> summary([])
    'no cases'
    """
    counts = {
        "failed": sum(not one.passed for one in outcomes),
        "updated": sum(one.updated for one in outcomes),
        "passed": sum(one.passed and not one.updated for one in outcomes),
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no cases"
