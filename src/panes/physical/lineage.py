"""What columns are, written out down to the streams: the same for all queries that compute the same.

    SELECT sum(x) FROM (SELECT a + 1 AS x FROM t)      x      is  a + 1
    GROUP BY tumblingwindow('ss', 10)                  col_1  is  sum(a + 1)

State is known by these texts, and so outlives other names, other layout, and whatever stands above its operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, assert_never

from panes.frames import frame_sql
from panes.kernels.kernel import seconds
from panes.logical.grouping import bare
from panes.physical.plan import (
    Argument,
    DataSink,
    DataSource,
    Filter,
    Normalize,
    Order,
    OverCall,
    OverWindow,
    Pair,
    Plan,
    Project,
    SparkQuery,
    StatefulFunction,
    Watermark,
    Window,
    children,
)
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.text import key_of
from panes.sql.tokens import tokenize
from panes.sql.window_kinds import Window as Kinds
from panes.sql.window_kinds import size_and_hop

Definitions = Mapping[str, str]  # what columns are, by their names in lower case


def written_out(sql: str, columns: Definitions) -> str:
    """An expression in canonical spelling, with what its columns are in their places.

    >>> written_out("X*2", {"x": "a + 1"}), written_out("(( K ))", {"k": "k"})
    ('(a + 1) * 2', 'k')
    """
    expr = bare(Expr(tokenize(Source(sql))))
    alone = len(expr.tokens) == 1
    instead = {}
    for ref in expr.columns:
        found = columns.get(ref.parts[0].lower())
        if found is not None:
            instead[ref.first] = found if alone or len(tokenize(Source(found))) == 1 else f"({found})"
    return key_of(expr.tokens, instead)


@lru_cache(maxsize=256)
def definitions(plan: Plan) -> Definitions:
    """What the columns of a plan are. Those that are not named here are a stream's own, or made by Spark."""
    match plan:
        case DataSource(computed=computed):
            return {one.name.lower(): written_out(one.sql, {}) for one in computed}
        case SparkQuery():
            return {}
        case Watermark() | Filter() | Normalize() | Pair() | DataSink():
            return definitions(plan.input)
        case Project(input=input_, fields=fields):
            below = definitions(input_)
            return {one.name.lower(): written_out(one.sql, below) for one in fields}
        case StatefulFunction(input=input_, calls=calls, placement=placement):
            below = definitions(input_)
            over = _listed("partition by", (written_out(sql, below) for sql in placement.partition_by))
            return {**below, **{one.output.lower(): f"{call_text(one, below)} over ({over})" for one in calls}}
        case Window(input=input_, keys=keys, bounds=bounds, aggregates=aggregates):
            below = definitions(input_)
            own = {key.name.lower(): written_out(key.sql, below) for key in keys}
            own |= {name.lower(): f"{call}()" for name, call in bounds}
            own |= {one.output.lower(): call_text(one, below) for one in aggregates}
            return {**below, **own} if plan.raw else own
        case OverWindow(input=input_, calls=calls):
            below = definitions(input_)
            over = over_text(plan)
            texts = {one.argument.output.lower(): over_call_text(one, below) for one in calls}
            return {**below, **{name: f"{text} over ({over})" for name, text in texts.items()}}
        case _:
            assert_never(plan)


def call_text(call: Argument, below: Definitions) -> str:
    """A call, written out: function, arguments and what it leaves out."""
    written = [written_out(arg, below) for arg in call.args]
    args, keys = ", ".join(written[: call.own]), written[call.own :]
    order = ", ".join(f"{key} {way.full.lower()}" for key, way in zip(keys, call.within, strict=True))
    within = f" within group (order by {order})" if order else ""
    nulls = " ignore nulls" if call.ignore_nulls else ""
    condition = f" filter (where {written_out(call.condition, below)})" if call.condition is not None else ""
    return f"{call.function}({'distinct ' if call.distinct else ''}{args}){within}{nulls}{condition}"


def over_call_text(call: OverCall, below: Definitions) -> str:
    """A call with its frame, written out."""
    if call.frame is None:
        return call_text(call.argument, below)
    frame = frame_sql(call.frame.map(lambda offset: written_out(offset, {})))
    return f"{call_text(call.argument, below)} {frame}"


def over_text(plan: OverWindow) -> str:
    """PARTITION BY and ORDER BY of an OVER window, written out."""
    below = definitions(plan.input)
    partition = _listed("partition by", (written_out(sql, below) for sql in plan.placement.partition_by))
    order = _listed("order by", (order_text(one, below) for one in plan.order_by))
    return " ".join(filter(None, (partition, order)))


def order_text(key: Order, below: Definitions) -> str:
    ends = f"{'desc' if key.descending else 'asc'} nulls {'first' if key.nulls_first else 'last'}"
    return f"{written_out(key.sql, below)} {ends}"


def _listed(clause: str, texts: Iterable[str]) -> str:
    found = ", ".join(texts)
    return f"{clause} {found}" if found else ""


def source_of(plan: Plan) -> dict[str, Any]:
    """What rows a plan has, apart from their columns: the stream, what WHERE keeps of it, and the operators on it."""
    match plan:
        case DataSource(stream=stream):
            return {"stream": stream.lower()}
        case SparkQuery(sql=sql, inputs=inputs):
            text = key_of(tokenize(Source(sql)))
            return {"spark": text, "of": [source_of(child) for _, child in inputs]}
        case Watermark() | Project() | DataSink() | Normalize() | Pair() | StatefulFunction():
            return source_of(plan.input)
        case Filter(input=input_, predicates=predicates):
            below = source_of(input_)
            kept = {written_out(one, definitions(input_)) for one in predicates}
            return {**below, "where": sorted(kept | set(below.get("where", ())))}
        case Window(input=input_, placement=placement, keys=keys):
            below_columns = definitions(input_)
            return {
                "window": _kind(plan, below_columns),
                "group by": sorted(written_out(key.sql, below_columns) for key in keys),
                "partition by": sorted(written_out(one, below_columns) for one in placement.partition_by),
                "of": source_of(input_),
            }
        case OverWindow(input=input_, top_n=top_n):
            found = source_of(input_)
            return found if top_n is None else {"top": [definitions(plan)[top_n[0].lower()], top_n[1]], "of": found}
        case _:
            assert_never(plan)


def _kind(plan: Window, below: Definitions) -> dict[str, Any]:
    """A window's kind, its lengths in one unit however they are spelled, and its conditions written out."""
    match plan.kind:
        case Kinds.Tumbling() as kind:
            return {"kind": "tumbling", "length": seconds(size_and_hop(kind)[0]), **_alignment(kind)}
        case Kinds.Hopping() as kind:
            size, hop = size_and_hop(kind)
            return {"kind": "hopping", "size": seconds(size), "hop": seconds(hop), **_alignment(kind)}
        case Kinds.Session(gap=gap) as kind:
            return {"kind": "session", "gap": seconds(kind.microseconds(gap))}
        case Kinds.Count(count=count, every=every):
            return {"kind": "count", "count": count, "every": every}
        case Kinds.Sliding(lookback=lookback, lookahead=lookahead, when=when) as kind:
            back = seconds(kind.microseconds(lookback))
            ahead = None if lookahead is None else seconds(kind.microseconds(lookahead))
            condition = {"when": written_out(when, below)} if when is not None else {}
            return {"kind": "sliding", "lookback": back, "lookahead": ahead, **condition}
        case Kinds.State(open=opened, emit=emit):
            return {"kind": "state", "open": written_out(opened, below), "emit": written_out(emit, below)}
        case _:
            assert_never(plan.kind)


def _alignment(kind: Kinds.Tumbling | Kinds.Hopping) -> dict[str, str | None]:
    """Where windows start: a hop more or less changes nothing."""
    offset = kind.offset % size_and_hop(kind)[1]
    zone = {"zone": kind.zone} if kind.zone is not None else {}
    return zone | ({"offset": seconds(offset)} if offset else {})


def result_of(plan: DataSink) -> dict[str, Any]:
    """What comes out above the operators: columns with their names, and what HAVING and QUALIFY keep."""
    columns = definitions(plan.input)
    return {
        "select": [[name.lower(), columns.get(name.lower(), name.lower())] for name in plan.columns],
        "where": sorted(_conditions(plan.input)),
    }


def _conditions(plan: Plan) -> Iterable[str]:
    if isinstance(plan, Filter):
        yield from (written_out(one, definitions(plan.input)) for one in plan.predicates)
    for child in children(plan):
        yield from _conditions(child)
