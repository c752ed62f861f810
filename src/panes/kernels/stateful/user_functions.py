"""Users' own stateful functions: the rows of a partition, in order, through an instance that carries its state.

A function is Python of the user's, called row by row, or once for all rows of a partition if it has `eval_batch`.
Whatever goes wrong in it is a PanesError that names the function and the arguments, and stops the query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn, Protocol, TypeVar

import pyarrow as pa

from panes.errors import PanesError

LONGEST = 200  # letters of an argument that an error shows
UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)

T = TypeVar("T")


class Instance(Protocol):
    """The state of one call in one partition. With `eval_batch` (arrays in, an array out), `eval` is not used."""

    def eval(self, args: Sequence[Any]) -> Any: ...

    def save(self) -> bytes: ...

    def load(self, saved: bytes) -> None: ...


class Function(Protocol):
    name: str

    def create_instance(self) -> Instance: ...


@dataclass(frozen=True)
class UserFunction:
    """A function and the Arrow type of its values."""

    function: Function
    type: pa.DataType

    def run(self, saved: bytes | None, args: Sequence[pa.Array], rows: int) -> tuple[pa.Array, bytes]:
        """The values for so many rows of one partition, and the state after them; `saved` is the state before."""
        instance = self._guarded(self.function.create_instance, "create_instance")
        if saved is not None:
            self._guarded(lambda: instance.load(saved), "load")
        by_batch = getattr(instance, "eval_batch", None) if args else None
        values = self._by_batch(by_batch, args) if by_batch is not None else self._by_row(instance, args, rows)
        state = self._guarded(instance.save, "save")
        if not isinstance(state, bytes):
            self._fail(f"save gave {_shown(state)}, not bytes", None)
        return values, state

    def _by_row(self, instance: Instance, args: Sequence[pa.Array], number: int) -> pa.Array:
        columns = [arg.to_pylist(maps_as_pydicts="strict") for arg in args]
        rows = list(zip(*columns, strict=True)) if args else [()] * number
        values = []
        for row in rows:
            try:
                values.append(instance.eval(list(row)))
            except Exception as error:
                self._fail_at(row, repr(error), error)
        try:
            return _array(values, self.type)
        except UNFIT:
            return pa.concat_arrays([self._one(row, value) for row, value in zip(rows, values, strict=True)])

    def _one(self, row: Sequence[Any], value: Any) -> pa.Array:
        try:
            return _array([value], self.type)
        except UNFIT as error:
            self._fail_at(row, f"{_shown(value)} is not of type {self.type}", error)

    def _by_batch(self, by_batch: Callable[[list[pa.Array]], Any], args: Sequence[pa.Array]) -> pa.Array:
        rows = len(args[0])
        row = [arg[0].as_py() for arg in args]
        try:
            values = by_batch(list(args))
            values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            values = values if isinstance(values, pa.Array) else pa.array(values)
            values = values if values.type == self.type else values.cast(self.type)
        except Exception as error:
            self._fail_at(row, f"eval_batch of {rows} rows from here: {error!r}", error)
        if len(values) != rows:
            self._fail_at(row, f"eval_batch of {rows} rows from here gave {len(values)} values", None)
        return values

    def _guarded(self, action: Callable[[], T], what: str) -> T:
        try:
            return action()
        except PanesError:
            raise
        except Exception as error:
            self._fail(f"{what}: {error!r}", error)

    def _fail_at(self, row: Sequence[Any], what: str, cause: Exception | None) -> NoReturn:
        call = f"{self.function.name}({', '.join(_shown(value) for value in row)})"
        raise PanesError("function-failed", f"{call}: {what}") from cause

    def _fail(self, what: str, cause: Exception | None) -> NoReturn:
        raise PanesError("function-failed", f"{self.function.name}: {what}") from cause


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Values as an array; Arrow would cut 1.5 down to an integer without a word."""
    if any(_has_fraction(value, type_) for value in values):
        raise ValueError(f"a fraction is not of type {type_}")
    return pa.array(values, type_)


def _has_fraction(value: Any, type_: pa.DataType) -> bool:
    """Whether a number with a fraction stands where the type has none."""
    if isinstance(value, float | Decimal):
        return not (pa.types.is_floating(type_) or pa.types.is_decimal(type_)) and value % 1 != 0
    if pa.types.is_list(type_) and isinstance(value, list | tuple):
        return any(_has_fraction(one, type_.value_type) for one in value)
    if pa.types.is_struct(type_) and isinstance(value, dict):
        return any(_has_fraction(value.get(field.name), field.type) for field in type_)
    if pa.types.is_map(type_) and isinstance(value, dict):
        return any(_has_fraction(one, type_.item_type) for one in value.values())
    return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
