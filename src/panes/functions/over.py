"""OVER functions that are not aggregates: names, signatures and what the planner must know of each."""

from __future__ import annotations

from dataclasses import dataclass

from panes.functions.signature import Param, Signature, Takes

NONE = Signature()


@dataclass(frozen=True)
class OverFunction:
    """`takes_frame`: it looks at its frame. `needs_partition_end`: no row is final before the last one is known."""

    name: str
    signature: Signature = NONE
    takes_frame: bool = False
    ignores_nulls_on_request: bool = False
    needs_partition_end: bool = False


_OFFSET = Signature((Param("x"), Param("n", Takes.COUNT, optional=True), Param("default", optional=True)))

OVER_FUNCTIONS = (
    OverFunction("row_number"),
    OverFunction("rank"),
    OverFunction("dense_rank"),
    OverFunction("percent_rank", needs_partition_end=True),
    OverFunction("cume_dist", needs_partition_end=True),
    OverFunction("ntile", Signature((Param("n", Takes.POSITIVE),)), needs_partition_end=True),
    OverFunction("lag", _OFFSET, ignores_nulls_on_request=True),
    OverFunction("lead", _OFFSET, ignores_nulls_on_request=True),
    OverFunction(
        "nth_value",
        Signature((Param("x"), Param("n", Takes.POSITIVE))),
        takes_frame=True,
        ignores_nulls_on_request=True,
    ),
)

RANKS = frozenset(("row_number", "rank", "dense_rank"))
