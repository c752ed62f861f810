"""What an accumulator is: how rows are folded, how partial results merge, and what comes out.

The texts `fold`, `merge` and `evaluate` are DuckDB's: `$x`, `$y` are arguments, `$w` the condition, `$s` the state,
`$o` a row's place in the stream's order. `finish` is Spark's (`$v` is the value), so that types, overflow and rounding
are Spark's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import TypeAlias

from panes.functions.within import Direction
from panes.kernels.sketches.sketch import Sketch

ARGUMENTS = ("x", "y", *(f"x{number}" for number in range(3, 256)))


@dataclass(frozen=True)
class Finish:
    """What Spark makes of a value `$v`, and the type that it casts this to in the end, if to any.

    `tries`: a value that this type cannot hold is NULL.
    """

    value: str = "$v"
    cast: str | None = None
    tries: bool = False


AS_IS = Finish()


@dataclass(frozen=True)
class Sketched:
    """A sketch of what `given` makes of `$x`; `value` is made of `$v`, what it finds."""

    sketch: Sketch
    given: str = "$x"
    value: str = "$v"


@dataclass(frozen=True)
class Accumulator:
    """`value_type` is the Spark type of what `evaluate` gives; `counts` restricts the rows that are folded.

    `compact` makes a state smaller that was folded or merged; `evaluate` takes one that was not made so, too.
    `holds_values`: a state can hold many values; a sketch, so many at most. `in_window` is `fold` where DuckDB takes
    another text for a window.
    """

    fold: str
    merge: str
    evaluate: str
    value_type: str
    finish: Finish
    counts: str | None = None
    ordered: bool = False
    compact: str | None = None
    holds_values: bool = False
    in_window: str | None = None
    sketched: Sketched | None = None

    @property
    def is_value(self) -> bool:
        """Whether a state is the value."""
        return self.evaluate == "$s"


Constant: TypeAlias = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Asked:
    """What a call asks of an aggregate: over arguments of which Spark types, and with which constants.

    `within` says which way the keys of WITHIN GROUP sort: they are the last arguments.
    """

    types: Sequence[str]
    ignore_nulls: bool = False
    constant: Constant = None
    accuracy: int | None = None
    delimiter: str | None = None
    within: tuple[Direction, ...] = ()

    @property
    def x(self) -> str:
        return self.types[0]


def given(types: Sequence[str]) -> str | None:
    """That no argument is NULL."""
    return " AND ".join(f"${name} IS NOT NULL" for name, _ in zip(ARGUMENTS, types, strict=False)) or None


def sketched(one: Sketched, type_: str, finish: Finish = AS_IS) -> Accumulator:
    sketch = one.sketch
    return Accumulator(
        sketch.sql("fold", f"list({one.given}) $w"),
        sketch.sql("merge", "list($s)"),
        Template(one.value).substitute(v=sketch.sql("evaluate", "$s")),
        type_,
        finish,
        "$x IS NOT NULL",
        holds_values=True,
        sketched=one,
    )
