"""The contract of users' own stateful functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from panes.functions.signature import Param, Signature
from panes.functions.stateful.saved_state import cannot_save, from_json, to_json


class StatefulFunctionInstance:
    """The state of one call in one partition: its attributes, unless `save` and `load` say otherwise.

    An instance has `eval`, or the vectorised form `eval_batch(args: list[pa.Array]) -> pa.Array`, which gets all rows
    of its partition that a micro-batch has, in order, and is used instead wherever the call has arguments.
    """

    def eval(self, args: Sequence[Any]) -> Any:
        """The value for the next row."""
        raise NotImplementedError(f"{type(self).__name__} has neither eval nor eval_batch")

    def save(self) -> bytes:
        """The state, for a checkpoint."""
        return saved_attributes(self)

    def load(self, saved: bytes) -> None:
        """Take up the state that `save` returned."""
        vars(self).update(from_json(saved.decode()))


class StatefulFunction(ABC):
    """A function whose value depends on the rows before; a user's own derives from this."""

    name: str
    signature: Signature = Signature((Param("x", optional=True, repeated=True),))

    @abstractmethod
    def return_type(self, input_types: Sequence[str]) -> str:
        """The Spark type of the value, for the Spark types of the arguments."""

    @abstractmethod
    def create_instance(self) -> StatefulFunctionInstance:
        """A fresh state, for a partition that was not seen before."""


def saved_attributes(instance: object) -> bytes:
    """What `save` gives where nobody says otherwise: the attributes as JSON."""
    return to_json(type(instance).__name__, _attributes(instance)).encode()


def _attributes(instance: object) -> dict[str, Any]:
    slots = [name for kind in type(instance).__mro__ for name in getattr(kind, "__slots__", ())]
    if slots:
        raise cannot_save(type(instance).__name__, f"has __slots__ ({', '.join(slots)})")
    return vars(instance)
