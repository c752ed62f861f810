"""How a function is called: its parameters, which of them may be left out, and what each takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

Arg = TypeVar("Arg")


class Takes(Enum):
    """What a parameter takes."""

    VALUE = "a value"
    CONDITION = "a Boolean expression"
    BOOLEAN = "TRUE or FALSE"
    COUNT = "a constant integer, 0 or more"
    POSITIVE = "a constant integer above 0"
    PERCENTAGE = "a constant from 0 to 1, or an array of them"
    TEXT = "a constant text"
    ERROR = "a constant from 0.001 to 0.39"


# The least and the greatest of constants that are numbers.
LIMITS = {Takes.PERCENTAGE: (0.0, 1.0), Takes.ERROR: (0.001, 0.39)}


@dataclass(frozen=True)
class Param:
    name: str
    takes: Takes = Takes.VALUE
    optional: bool = False
    repeated: bool = False


@dataclass(frozen=True)
class Signature:
    """Parameters in order: required ones, then optional ones; the last may repeat.

    >>> signature = Signature((Param("x"), Param("n", Takes.COUNT, optional=True)))
    >>> signature.usage("lag"), signature.minimum, signature.maximum
    ('lag(x [, n])', 1, 2)
    """

    params: tuple[Param, ...] = ()

    @property
    def minimum(self) -> int:
        return sum(not param.optional for param in self.params)

    @property
    def maximum(self) -> int | None:
        return None if self.params and self.params[-1].repeated else len(self.params)

    def param(self, index: int) -> Param:
        return self.params[min(index, len(self.params) - 1)]

    def named(self, args: Sequence[Arg]) -> dict[str, Arg]:
        """The arguments by the names of their parameters, as far as they are given."""
        return {param.name: arg for param, arg in zip(self.params, args, strict=False)}

    @property
    def limited(self) -> int | None:
        """Which parameter is a constant within limits, if one is."""
        return next((index for index, param in enumerate(self.params) if param.takes in LIMITS), None)

    def usage(self, name: str) -> str:
        text = ""
        for index, param in enumerate(self.params):
            part = (", " if index else "") + param.name
            text += f" [{part}" if param.optional else part
            text += ", …" if param.repeated else ""
        return f"{name}({text.lstrip()}{']' * sum(param.optional for param in self.params)})"
