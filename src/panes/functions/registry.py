"""A table of functions by name: case-insensitive, each name once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from panes.errors import PanesError

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Functions of one kind.

    >>> registry = Registry[int]("number")
    >>> registry.register("One", 1)
    >>> registry.get("ONE"), "two" in registry
    (1, False)
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, Entry] = {}

    def register(self, name: str, entry: Entry) -> None:
        if name.lower() in self._entries:
            raise PanesError("duplicate-name", f"the {self._kind} {name.lower()} is registered already")
        self._entries[name.lower()] = entry

    def get(self, name: str) -> Entry | None:
        return self._entries.get(name.lower())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)
