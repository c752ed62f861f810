"""One random query from a seed, and its shrinking when a law does not hold."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace

from panes.errors import PanesError

from .choices import Choices, fewer, shrunk
from .law import REFUSALS, Case
from .recipes import Generated, generated
from .rows import Cut, Row

# What is known to be wrong, by its message, and the kept case that shows it; counted, and not a finding any more.
KNOWN: dict[str, str] = {}


@dataclass(frozen=True)
class Outcome:
    """How a seed fared: the code of its refusal or the name of a known defect, or what was wrong with it."""

    seed: int
    refused: str | None = None
    wrong: str | None = None
    case: Case | None = None


def attempt(made: Generated) -> tuple[str | None, str | None]:
    """The code of a legitimate refusal or the name of a known defect, and what was wrong."""
    try:
        made.run()
    except PanesError as error:
        if error.code in REFUSALS:
            return error.code, None
        return None, f"{error.code}: {error}"
    except Exception as error:
        text = "".join(traceback.format_exception(error)[-3:])
        known = next((name for message, name in KNOWN.items() if message in text), None)
        return (known, None) if known is not None else (None, text)
    return None, None


def tried(seed: int) -> Outcome:
    made = generated(Choices(seed), Choices(~seed & 0xFFFFFFFF))
    refused, wrong = attempt(made)
    return Outcome(seed, refused, wrong, made.case)


def smallest(seed: int, seconds: float = 60) -> tuple[Generated, str]:
    """The smallest case found in some time that fails as the seed's does, and how."""
    end = time.monotonic() + seconds
    first, data = Choices(seed), Choices(~seed & 0xFFFFFFFF)
    made = generated(first, data)
    wanted = _kind(attempt(made)[1])

    def fails(one: Generated) -> bool:
        wrong = attempt(one)[1] if time.monotonic() < end else None
        return wrong is not None and _kind(wrong) == wanted

    def with_rows(numbers: list[int]) -> Generated:
        return generated(Choices(given=numbers), Choices(given=data.made))

    numbers = shrunk(first.made, lambda given: fails(with_rows(given)))
    made = with_rows(numbers)
    for _ in range(2):
        for cut_ in made.case.cuts:  # one cut, if one is enough
            one = replace(made, case=replace(made.case, cuts=[cut_]))
            if len(made.case.cuts) > 1 and fails(one):
                made = one
                break
        made = _with_fewer_rows(made, fails)
        made = _simpler_cut(made, fails)
    wrong = attempt(made)[1]
    assert wrong is not None
    return made, wrong


def _kind(wrong: str | None) -> str:
    """What tells findings apart while one is shrunk."""
    last = (wrong or "").strip().splitlines()
    return next((line.split(":")[0] for line in reversed(last) if line and not line.startswith(" ")), "")[:40]


def _with_fewer_rows(made: Generated, fails: Callable[[Generated], bool]) -> Generated:
    return _fewer_rows(made, fewer(list(made.case.rows), lambda rows: fails(_fewer_rows(made, rows))))


def _fewer_rows(made: Generated, rows: list[Row]) -> Generated:
    """The same micro-batches without the rows that are gone."""
    kept = {id(row) for row in rows}
    cuts = []
    for one in made.case.cuts:
        place, sizes = 0, []
        for parts in one.sizes:
            counts = []
            for size in parts:
                counts.append(sum(id(row) in kept for row in made.case.rows[place : place + size]))
                place += size
            sizes.append(tuple(counts))
        cuts.append(replace(one, sizes=tuple(sizes)))
    return replace(made, case=replace(made.case, rows=rows, cuts=cuts))


def _simpler_cut(made: Generated, fails: Callable[[Generated], bool]) -> Generated:
    """Fewer micro-batches, partitions, shards and restarts."""
    for at in range(len(made.case.cuts)):
        tries = True
        while tries:
            tries = False
            for simpler in _cuts(made.case.cuts[at]):
                cuts = [*made.case.cuts]
                cuts[at] = simpler
                one = replace(made, case=replace(made.case, cuts=cuts))
                if fails(one):
                    made, tries = one, True
                    break
    return made


def _cuts(one: Cut) -> list[Cut]:
    found = [replace(one, restarts=frozenset())] if one.restarts else []
    found += [replace(one, shards=1)] if one.shards > 1 else []
    for at, parts in enumerate(one.sizes):
        if len(parts) > 1:
            found.append(replace(one, sizes=(*one.sizes[:at], (sum(parts),), *one.sizes[at + 1 :])))
        if at:
            merged = (*one.sizes[: at - 1], (*one.sizes[at - 1], *parts), *one.sizes[at + 1 :])
            found.append(replace(one, sizes=merged, restarts=frozenset(r - (r >= at) for r in one.restarts)))
    return found


def random_seed() -> int:
    return random.SystemRandom().randrange(10**9)
