"""Whose state it is: what an operator's state depends on, as JSON that is the same for all queries that can share it.

    {"depends on": {"operator": "tumblingwindow", "size": "10 s", "source": {"stream": "t"}, …},
     "columns": {"sum_v_1f…": ["sum(v)", "bigint"], …}}

A query goes on from a checkpoint if it depends on the same, and if all of its columns are stored there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from panes.errors import PanesError
from panes.physical.former_identity import today

VERSION = 1
HINT = "Go back to the old query and settings, or start with a new checkpoint."


@dataclass(frozen=True)
class Identity:
    """`columns` are those of state and stored rows, each with its text, written out, and its Spark type."""

    depends_on: Mapping[str, Any]
    columns: Mapping[str, tuple[str, str]]

    def encode(self) -> str:
        """Canonical: equal identities have equal texts."""
        parts = {"version": VERSION, "depends on": self.depends_on, "columns": self.columns}
        return json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def decode(text: str) -> Identity:
        found = json.loads(text)
        if found.get("version") != VERSION:
            raise another_version()
        return Identity(
            today(found["depends on"]), {name: (sql, type_) for name, (sql, type_) in found["columns"].items()}
        )

    @cached_property
    def digest(self) -> str:
        return digest(self.encode(), 16)


def digest(text: str, size: int = 5) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()


def column_name(text: str) -> str:
    """The name of a column of state, by what it is.

    >>> column_name("sum(a + 1)")
    'sum_a_1_57661fb870'
    """
    words = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")[:24]
    return f"{words if words[:1].isalpha() else 'c' + words}_{digest(text)}"


def column_of_state(name: str) -> str | None:
    """The column that a kernel has named its own after, or the name itself; None if it is not one of these.

    >>> column_of_state("running sum_a_1_57661fb870"), column_of_state("slice")
    ('sum_a_1_57661fb870', None)
    """
    found = COLUMN.search(name)
    return found[0] if found is not None else None


COLUMN = re.compile(r"\w+_[0-9a-f]{10}(?:_\d+)?$")


def check_identity(old: Identity, new: Identity) -> None:
    """Refuse to go on from the state of another operator, and say what differs."""
    found = list(differences(old, new))
    if found:
        raise another_query(found)


def another_query(changes: Iterable[str], hint: str = HINT) -> PanesError:
    return PanesError("state-mismatch", f"the checkpoint belongs to another query: {'; '.join(changes)}", None, hint)


def another_version() -> PanesError:
    return PanesError("state-mismatch", "the checkpoint was written by another version of Panes", None, HINT)


def differences(old: Identity, new: Identity) -> Iterator[str]:
    """What the state of `old` lacks for `new`, in the words of the query.

    >>> old = Identity({"size": "10 s", "source": {"stream": "t"}}, {"x": ("sum(v)", "bigint")})
    >>> new = Identity({"size": "20 s", "source": {"stream": "t", "where": ["v > 0"]}}, {"y": ("sum(w)", "bigint")})
    >>> list(differences(old, new))
    ['size was 10 s, now 20 s', 'where is new: v > 0', 'sum(w) is new']
    """
    yield from _changes(old.depends_on, new.depends_on)
    for name, (text, type_) in new.columns.items():
        if name not in old.columns:
            yield f"{text} is new"
        elif old.columns[name][1] != type_:
            yield f"{text} was {old.columns[name][1]}, now {type_}"


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        before, now = old.get(name), new.get(name)
        if before == now:
            continue
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            yield from _changes(before, now)
        elif not before:
            yield f"{name} is new: {_words(now)}"
        elif not now:
            yield f"{name} was {_words(before)}, now there is none"
        else:
            yield f"{name} was {_words(before)}, now {_words(now)}"


def _words(value: Any) -> str:
    """A value of JSON in plain words.

    >>> _words(["k", "j"]), _words({"stream": "t", "where": ["a > 1"]})
    ('k, j', 'stream t, where a > 1')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(one)}" for name, one in value.items() if one)
    if isinstance(value, list | tuple):
        return ", ".join(_words(one) for one in value)
    return str(value)
