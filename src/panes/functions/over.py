"""OVER functions that are not aggregates: a row for each says how it is called, and what a value depends on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from panes.functions.signature import Param, Signature, Takes

NONE = Signature()


class Reach(Enum):
    """On which rows of its partition the value of a row depends."""

    FRAME = "those in the frame of the call"
    RANK = "those up to it and its peers"
    PARTITION = "all of them"
    BACK = "the one n rows before it"
    AHEAD = "the one n rows after it"


@dataclass(frozen=True)
class OverFunction:
    """`result` is the Spark type of a value; None if it is that of the first argument.

    `holds_rows`: no running value stands for its frame, so it cannot run over all of a stream's past.
    """

    name: str
    reach: Reach
    signature: Signature = NONE
    result: str | None = None
    ignores_nulls_on_request: bool = False
    holds_rows: bool = False

    @property
    def takes_frame(self) -> bool:
        return self.reach is Reach.FRAME


_TILES = Signature((Param("n", Takes.POSITIVE),))
_NTH = Signature((Param("x"), Param("n", Takes.POSITIVE)))
_OFFSET = Signature((Param("x"), Param("n", Takes.COUNT, optional=True), Param("default", optional=True)))

OVER_FUNCTIONS = (
    OverFunction("row_number", Reach.RANK, result="int"),
    OverFunction("rank", Reach.RANK, result="int"),
    OverFunction("dense_rank", Reach.RANK, result="int"),
    OverFunction("percent_rank", Reach.PARTITION, result="double"),
    OverFunction("cume_dist", Reach.PARTITION, result="double"),
    OverFunction("ntile", Reach.PARTITION, _TILES, result="int"),
    OverFunction("lag", Reach.BACK, _OFFSET, ignores_nulls_on_request=True),
    OverFunction("lead", Reach.AHEAD, _OFFSET, ignores_nulls_on_request=True),
    OverFunction("nth_value", Reach.FRAME, _NTH, ignores_nulls_on_request=True),
)

_BY_NAME = {function.name: function for function in OVER_FUNCTIONS}


def reach_of(name: str) -> Reach:
    """The reach of an OVER function; aggregates are over their frame.

    >>> reach_of("lead"), reach_of("sum")
    (<Reach.AHEAD: 'the one n rows after it'>, <Reach.FRAME: 'those in the frame of the call'>)
    """
    function = _BY_NAME.get(name)
    return function.reach if function is not None else Reach.FRAME
