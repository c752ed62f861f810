"""Aggregates: names, signatures and what the planner must know of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from panes.functions.signature import Param, Signature, Takes
from panes.functions.within import Within


class Cast(Enum):
    """What Spark casts an argument to before it is folded."""

    NOTHING = "nothing"
    DOUBLE = "double"
    EXACT = "bigint for whole numbers, double for others; decimals stay"
    RANKED = "double for strings; numbers, dates and timestamps stay"
    BITS = "nothing; only whole numbers are taken"
    TEXT = "string; only what is not nested nor binary is taken"


class Pick(Enum):
    """Which row of a frame has the value of a call."""

    FIRST = "first_value"
    LAST = "last_value"


@dataclass(frozen=True)
class Aggregate:
    """`holds_rows`: its accumulator grows with its input, so it cannot run over all of a stream's past.

    `compares`: it compares values of its last argument. `hashes`: its argument is hashed before it is folded.
    `made_of`: other aggregates that it is computed from where its values are doubles or whole numbers. `picks`: in a
    frame its value is that of one row. `star`: it takes `*`. `within`: what WITHIN GROUP is to it.
    """

    name: str
    signature: Signature
    aliases: tuple[str, ...] = ()
    distinct: bool = False
    holds_rows: bool = False
    ignores_nulls_on_request: bool = False
    star: bool = False
    cast: Cast = Cast.NOTHING
    compares: bool = False
    hashes: bool = False
    made_of: tuple[str, ...] = ()
    picks: Pick | None = None
    within: Within = Within.NOTHING

    @property
    def usage(self) -> str:
        """How it is called.

        >>> aggregate("percentile_cont").usage
        'percentile_cont(percentage) WITHIN GROUP (ORDER BY x)'
        """
        text = self.signature.usage(self.name)
        match self.within:
            case Within.NOTHING:
                return text
            case Within.VALUE:
                return f"{text} WITHIN GROUP (ORDER BY x)"
            case Within.PERHAPS_VALUE:
                return f"{text}, or {self.name}() WITHIN GROUP (ORDER BY x)"
            case Within.ORDER:
                return f"{text} [WITHIN GROUP (ORDER BY key, …)]"
            case _:
                assert_never(self.within)


_X = Signature((Param("x"),))
_XS = Signature((Param("x", repeated=True),))
_X_BY = Signature((Param("x"), Param("by")))
_X_AT = Signature((Param("x"), Param("percentage", Takes.PERCENTAGE)))
_X_ABOUT = Signature(
    (
        Param("x"),
        Param("percentage", Takes.PERCENTAGE),
        Param("accuracy", Takes.POSITIVE, optional=True),
    )
)
_X_WITHIN = Signature((Param("x"), Param("rsd", Takes.ERROR, optional=True)))
_CONDITION = Signature((Param("condition", Takes.CONDITION),))
_AT = Signature((Param("percentage", Takes.PERCENTAGE),))
_PAIR = Signature((Param("y"), Param("x")))
_TEXTS = Signature((Param("x"), Param("delimiter", Takes.TEXT, optional=True)))
_MODE = Signature((Param("x"), Param("deterministic", Takes.BOOLEAN, optional=True)))
_FIRST = Signature((Param("x"), Param("ignore_nulls", Takes.BOOLEAN, optional=True)))

AGGREGATES = (
    Aggregate("count", _XS, distinct=True, star=True),
    Aggregate("sum", _X, distinct=True, cast=Cast.EXACT),
    Aggregate("avg", _X, ("mean",), distinct=True, cast=Cast.EXACT, made_of=("sum", "count")),
    Aggregate("min", _X, compares=True),
    Aggregate("max", _X, compares=True),
    Aggregate("stddev_samp", _X, ("stddev", "std"), cast=Cast.DOUBLE),
    Aggregate("stddev_pop", _X, cast=Cast.DOUBLE),
    Aggregate("var_samp", _X, ("variance", "var"), cast=Cast.DOUBLE),
    Aggregate("var_pop", _X, cast=Cast.DOUBLE),
    Aggregate("first", _FIRST, ("first_value",), ignores_nulls_on_request=True, picks=Pick.FIRST),
    Aggregate("last", _FIRST, ("last_value",), ignores_nulls_on_request=True, picks=Pick.LAST),
    Aggregate("last_row", _X, picks=Pick.LAST),
    Aggregate("any_value", _FIRST, ignores_nulls_on_request=True, picks=Pick.FIRST),
    Aggregate("min_by", _X_BY, compares=True),
    Aggregate("max_by", _X_BY, compares=True),
    Aggregate("collect_list", _X, ("array_agg",), holds_rows=True),
    Aggregate("collect_set", _X, holds_rows=True, compares=True),
    Aggregate("bool_and", _CONDITION, ("every",)),
    Aggregate("bool_or", _CONDITION, ("some", "any")),
    Aggregate("approx_count_distinct", _X_WITHIN, compares=True, hashes=True),
    Aggregate("median", _X, holds_rows=True, cast=Cast.DOUBLE),
    Aggregate("percentile", _X_AT, holds_rows=True, cast=Cast.DOUBLE),
    Aggregate("percentile_approx", _X_ABOUT, ("approx_percentile",), cast=Cast.RANKED),
    Aggregate("percentile_cont", _AT, holds_rows=True, cast=Cast.DOUBLE, within=Within.VALUE),
    Aggregate("percentile_disc", _AT, holds_rows=True, cast=Cast.DOUBLE, within=Within.VALUE),
    Aggregate("mode", _MODE, holds_rows=True, compares=True, within=Within.PERHAPS_VALUE),
    Aggregate("listagg", _TEXTS, ("string_agg",), distinct=True, holds_rows=True, cast=Cast.TEXT, within=Within.ORDER),
    Aggregate("count_if", _CONDITION),
    Aggregate("try_sum", _X, distinct=True, cast=Cast.EXACT),
    Aggregate("try_avg", _X, distinct=True, cast=Cast.EXACT),
    Aggregate("bit_and", _X, cast=Cast.BITS),
    Aggregate("bit_or", _X, cast=Cast.BITS),
    Aggregate("bit_xor", _X, cast=Cast.BITS),
    Aggregate("skewness", _X, cast=Cast.DOUBLE),
    Aggregate("kurtosis", _X, cast=Cast.DOUBLE),
    Aggregate("corr", _PAIR, cast=Cast.DOUBLE),
    Aggregate("covar_pop", _PAIR, cast=Cast.DOUBLE),
    Aggregate("covar_samp", _PAIR, cast=Cast.DOUBLE),
    Aggregate("regr_count", _PAIR, cast=Cast.DOUBLE),
    Aggregate("regr_avgx", _PAIR, cast=Cast.EXACT),
    Aggregate("regr_avgy", _PAIR, cast=Cast.EXACT),
    Aggregate("regr_sxx", _PAIR, cast=Cast.DOUBLE),
    Aggregate("regr_syy", _PAIR, cast=Cast.DOUBLE),
    Aggregate("regr_sxy", _PAIR, cast=Cast.DOUBLE),
    Aggregate("regr_slope", _PAIR, cast=Cast.DOUBLE),
    Aggregate("regr_intercept", _PAIR, cast=Cast.DOUBLE),
    Aggregate("regr_r2", _PAIR, cast=Cast.DOUBLE),
)

_BY_NAME = {aggregate.name: aggregate for aggregate in AGGREGATES}


def aggregate(name: str) -> Aggregate:
    """The row of an aggregate by its own name, not an alias."""
    return _BY_NAME[name]
