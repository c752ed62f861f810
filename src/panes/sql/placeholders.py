"""Names for what Panes computes: `col_1, col_2, …`, one allocator for all rewrites of a statement."""

from __future__ import annotations

from collections.abc import Iterable


class ColPlaceholderAllocator:
    """Hands out `col_1, col_2, …`, leaving out the names that a user's columns have.

    >>> allocator = ColPlaceholderAllocator(reserved=["COL_2"])
    >>> [allocator.allocate() for _ in range(2)]
    ['col_1', 'col_3']
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = {name.lower() for name in reserved}
        self._last = 0

    def allocate(self) -> str:
        while True:
            self._last += 1
            name = f"col_{self._last}"
            if name not in self._reserved:
                return name
