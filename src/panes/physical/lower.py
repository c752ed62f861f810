"""Logical plan → physical plan: every decision is taken here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from panes.frames import Frame, Unit
from panes.functions import Functions
from panes.logical import plan as logical
from panes.logical.traits import Clock, Traits, closes_with_window, passed_on, traits, waits_for_rows
from panes.physical.bounded import check_order, check_over, check_time, could_stream, holds_rows, starts_unbounded
from panes.physical.emit import EmitDecision, decide, features
from panes.physical.late_rows import check_late_rows
from panes.physical.plan import (
    Argument,
    DataSink,
    DataSource,
    EmitMode,
    Filter,
    Mode,
    Normalize,
    Order,
    Output,
    OverCall,
    OverWindow,
    Pair,
    Placement,
    Plan,
    Project,
    SparkQuery,
    State,
    StatefulFunction,
    Strategy,
    Watermark,
    Window,
)
from panes.sql.calls import Call
from panes.sql.window_kinds import InTime, TimeWindow, mapped, partition_of
from panes.sql.window_kinds import Window as Kinds


@dataclass(frozen=True)
class Lowering:
    """What holds for one statement."""

    functions: Functions
    emit: EmitDecision
    state_ttl: int | None
    on_inconsistency: str
    keeps_state: bool
    late_into: str | None


def lower(plan: logical.DataSink, functions: Functions) -> DataSink:
    """The physical plan of a statement, its EMIT and its state checked."""
    lowering = Lowering(
        functions,
        decide(plan, plan.emit),
        _state_ttl(plan),
        _on_inconsistency(plan),
        bool(features(plan)),
        plan.late.sink if plan.late is not None else None,
    )
    done = _lower(plan.input, lowering)
    if plan.late is not None:
        check_late_rows(plan, done.plan, plan.late)
    known = traits(plan)
    columns = tuple(column.name for column in known.columns or ())
    key = _key(plan.input) if done.changelog else ()
    return DataSink(done.plan, plan.sink, columns, done.changelog, key, lowering.late_into)


def _state_ttl(plan: logical.Plan) -> int | None:
    if isinstance(plan, logical.DataSource):
        return plan.stream.state_ttl
    return next((ttl for child in logical.children(plan) if (ttl := _state_ttl(child)) is not None), None)


def _on_inconsistency(plan: logical.Plan) -> str:
    if isinstance(plan, logical.DataSource):
        return plan.stream.on_inconsistency
    return next((_on_inconsistency(child) for child in logical.children(plan)), "fail")


@dataclass(frozen=True)
class Lowered:
    """A physical plan, whether its rows are changes, and whether late rows are gone from it.

    Changes that are `raw` are as a source has them: old rows may be missing, and they may come out of sequence.
    """

    plan: Plan
    changelog: bool = False
    late_done: bool = False
    raw: bool = False


def _lower(plan: logical.Plan, lowering: Lowering) -> Lowered:
    match plan:
        case logical.DataSource():
            return _source(plan, lowering)
        case logical.SparkQuery(sql=sql, template=template, inputs=inputs, keeps_state=keeps_state):
            inner = replace(lowering, keeps_state=lowering.keeps_state or keeps_state)
            done = [(name, _lower(child, inner), traits(child).streaming) for name, child in inputs]
            query = SparkQuery(sql, template, tuple((name, one.plan) for name, one, _ in done), keeps_state)
            return Lowered(query, late_done=any(one.late_done for _, one, streaming in done if streaming))
        case logical.StatefulFunction():
            return _stateful(plan, lowering)
        case logical.Filter(input=input_, predicates=predicates):
            done_ = _lower(input_, lowering)
            filtered = Filter(done_.plan, tuple(p.sql for p in predicates), done_.changelog)
            return _normalized(replace(done_, plan=filtered), traits(input_), lowering)
        case logical.Window():
            return _window(plan, plan.keys, (), True, lowering)
        case logical.Aggregation(input=logical.Window() as window, keys=keys, aggregates=aggregates):
            return _window(window, keys, aggregates, False, lowering)
        case logical.Aggregation():
            raise AssertionError("an Aggregation stands on its Window")
        case logical.OverWindow():
            return _over(plan, lowering)
        case logical.Project(input=input_, fields=fields):
            done_ = _normalized(_lower(input_, lowering), traits(input_), lowering)
            outputs = tuple(Output(field.expr.sql, field.name) for field in fields)
            return replace(done_, plan=Project(done_.plan, outputs, done_.changelog))
        case logical.DataSink():
            raise AssertionError("a sink has no output")
        case _:
            assert_never(plan)


def _source(plan: logical.DataSource, lowering: Lowering) -> Lowered:
    """A source, with its clock where something above keeps state by it."""
    stream = plan.stream
    read = {name.lower() for name in plan.columns}
    computed = tuple(
        Output(one.computed, one.name)
        for one in stream.columns
        if one.computed is not None and one.name.lower() in read
    )
    whole = lowering.late_into is not None and stream.streaming
    source: Plan = DataSource(stream.name, plan.columns, stream.streaming, stream.changelog, computed, whole)
    has_clock = stream.streaming or stream.state_ttl is not None  # in a batch, state expires as in a stream
    clocked = lowering.keeps_state and has_clock and not stream.changelog
    if clocked and stream.time is not None and stream.time.lower() in (name.lower() for name in plan.columns):
        source = Watermark(
            source, stream.time, stream.delay or 0, stream.idle_timeout
        )  # a batch need not say how late rows may be
    if not stream.changelog:
        return Lowered(source)
    if stream.preimages == "maybe" or stream.sequence is not None:
        return Lowered(source, True, raw=True)
    key = tuple(name.lower() for name in stream.key)
    return Lowered(source if lowering.keeps_state else Pair(source, key, stream.on_inconsistency), True)


def _normalized(below: Lowered, inner: Traits, lowering: Lowering) -> Lowered:
    """Changes that are complete: raw ones by an operator that keeps the last row of each key."""
    if not below.raw:
        return below
    placement = _placement(inner.key, inner, EmitMode.CHANGES, State.ALL_ROWS, below, lowering)
    return replace(below, plan=Normalize(below.plan, _with_sequences(placement, inner)), raw=False)


def _with_sequences(placement: Placement, inner: Traits) -> Placement:
    """The placement of an operator that reads a changelog as it is: what `state_ttl` forgets there are sequences."""
    state_ttl = placement.state_ttl if inner.sequence is not None else None
    return replace(placement, sequence=inner.sequence, state_ttl=state_ttl)


def _mode(inner: Traits, below: Lowered) -> Mode:
    """A changelog has no clock: its changes apply as they come."""
    if not inner.streaming:
        return Mode.BATCH
    timed = inner.clock == Clock.EVENT_TIME and inner.time is not None and not below.changelog
    return Mode.EVENT_TIME if timed else Mode.ARRIVAL


def _placement(
    partition_by: Sequence[str],
    inner: Traits,
    emit: EmitMode,
    state: State,
    below: Lowered,
    lowering: Lowering,
) -> Placement:
    mode = _mode(inner, below)
    late = mode == Mode.EVENT_TIME and not below.late_done and emit != EmitMode.IMMEDIATELY
    return Placement(
        tuple(partition_by),
        mode,
        emit,
        state,
        late=late,
        time=None if inner.changelog else inner.time,  # a deleted row may have none
        time_shift=inner.time_shift if inner.time is not None else 0,
        key=inner.key,
        state_ttl=lowering.state_ttl,
        on_inconsistency=lowering.on_inconsistency if below.changelog else "fail",
        late_into=lowering.late_into if late else None,
    )


def _argument(name: str, call: Call) -> Argument:
    condition = call.filter.sql if call.filter is not None else None
    args = tuple(arg.sql for arg in call.args)
    return Argument(name, call.name, args, call.distinct, bool(call.ignore_nulls), condition, call.sql, call.within)


# ── Stateful functions ────────────────────────────────────────────────────────────────────────────────────────────


def _stateful(plan: logical.StatefulFunction, lowering: Lowering) -> Lowered:
    """One operator per partitioning; a call that reads another's result is in a later one, since Spark computes it."""
    below = _lower(plan.input, lowering)
    inner = traits(plan.input)
    emit = EmitMode.IMMEDIATELY if lowering.emit.immediately else EmitMode.ON_RELEASE
    check_order(f"the stateful call {plan.calls[0].call.name}", plan.calls[0].call.span, inner)
    for partition_by, calls in _stages(plan.calls):
        placement = _placement(partition_by, inner, emit, State.PER_KEY, below, lowering)
        arguments = tuple(_argument(one.name, one.call) for one in calls)
        below = Lowered(StatefulFunction(below.plan, placement, arguments), False, True)
    return below


def _stages(calls: Sequence[logical.Computed]) -> list[tuple[tuple[str, ...], list[logical.Computed]]]:
    stages: list[tuple[tuple[str, ...], list[logical.Computed]]] = []
    made: dict[str, int] = {}
    places: dict[tuple[str, ...], list[int]] = {}
    for one in calls:
        over = one.call.over
        keys = over.partition_by if over is not None else ()
        partition_by = tuple(expr.sql for expr in keys)
        folded = tuple(expr.key for expr in keys)
        exprs = [*one.call.args, *keys, *([one.call.filter] if one.call.filter is not None else [])]
        after = max((made.get(name, -1) for expr in exprs for name in expr.column_names), default=-1)
        place = next((one for one in places.get(folded, ()) if one > after), None)
        if place is None:
            place = len(stages)
            places.setdefault(folded, []).append(place)
            stages.append((partition_by, []))
        stages[place][1].append(one)
        made[one.name] = place
    return stages


# ── Windows ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _window(
    plan: logical.Window,
    keys: Sequence[logical.Field],
    aggregates: Sequence[logical.Computed],
    raw: bool,
    lowering: Lowering,
) -> Lowered:
    below = _lower(plan.input, lowering)
    inner = traits(plan.input)
    kind = mapped(plan.kind, lambda expr: expr.sql)
    is_time = isinstance(kind, TimeWindow)
    if isinstance(kind, InTime):
        check_time(f"a {type(plan.kind).__name__.lower()} window", plan.span, inner)
    else:
        check_order(f"a {type(plan.kind).__name__.lower()} window", plan.span, inner)
    if plan.bounds:
        check_time(f"{plan.bounds[0].call.name}()", plan.bounds[0].call.span, inner)
    changes = lowering.emit.emits_changes(plan)
    if is_time:
        emit = EmitMode.CHANGES if changes else EmitMode.ON_WINDOW_CLOSE
        partition_by = tuple(key.expr.sql for key in keys)
    else:
        emit = EmitMode.IMMEDIATELY if lowering.emit.immediately else EmitMode.ON_RELEASE
        partition_by = partition_of(kind) or ()
    keeps_rows = raw or isinstance(kind, Kinds.Sliding) or (isinstance(kind, Kinds.Count) and kind.every is not None)
    keeps_rows |= any(holds_rows(one.call, lowering.functions) for one in aggregates)
    state = State.ROWS if keeps_rows else State.ACCUMULATORS
    placement = _placement(partition_by, inner, emit, state, below, lowering)
    operator = Window(
        below.plan,
        replace(placement, state_ttl=None) if is_time else placement,
        kind,
        tuple(Output(key.expr.sql, key.name) for key in keys),
        tuple((one.name, one.call.name) for one in plan.bounds),
        tuple(_argument(one.name, one.call) for one in aggregates),
        raw,
    )
    return Lowered(operator, changes, True)


# ── OVER ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _over(plan: logical.OverWindow, lowering: Lowering) -> Lowered:
    below = _lower(plan.input, lowering)
    inner = traits(plan.input)
    if not _by_key(plan, inner):
        below = _normalized(below, inner, lowering)
    changes = below.changelog or lowering.emit.emits_changes(plan)
    closes = closes_with_window(plan, inner)
    if not changes:
        check_over(plan, inner, lowering.functions)
    emit = EmitMode.CHANGES if changes else EmitMode.ON_WINDOW_CLOSE
    placement = _placement(
        [expr.sql for expr in plan.partition_by],
        inner,
        emit,
        _over_state(plan, changes, below, lowering),
        below,
        lowering,
    )
    if below.raw:
        placement = _with_sequences(placement, inner)
    elif changes:
        expires = not below.changelog and inner.clock != Clock.NONE  # by the times of rows that only come
        placement = replace(placement, late=False, late_into=None, state_ttl=placement.state_ttl if expires else None)
    reads_changes = below.changelog and (inner.streaming or inner.changelog)  # a batch result has inserts alone
    operator = OverWindow(
        below.plan,
        placement,
        tuple(Order(key.expr.sql, key.descending, key.nulls_first) for key in plan.order_by),
        tuple(OverCall(_argument(one.name, one.call), _frame(one.call)) for one in plan.calls),
        (plan.top_n.rank, plan.top_n.limit) if plan.top_n is not None else None,
        not changes and not closes and any(waits_for_rows(one.call) for one in plan.calls),
        not changes and closes,
        _strategy(plan, placement, changes, closes, reads_changes),
        reads_changes,
        inner.changelog,
    )
    return Lowered(operator, changes, True)


def _strategy(
    plan: logical.OverWindow, placement: Placement, changes: bool, closes: bool, reads_changes: bool
) -> Strategy:
    """A batch is computed whole, unless its partitions expire as in a stream."""
    batch = placement.mode == Mode.BATCH
    closes = closes and not changes
    expires = placement.state_ttl is not None and placement.time is not None and not closes
    if reads_changes or (changes and not batch) or (batch and expires and not could_stream(plan, traits(plan.input))):
        return Strategy.INCREMENTAL
    return Strategy.ON_COMPLETE if closes or (batch and not expires) else Strategy.ON_CLOSE


def _by_key(plan: logical.OverWindow, inner: Traits) -> bool:
    """Whether a key stays in its partition whatever changes: then its shard knows all that was before."""
    return all(set(expr.column_names) <= set(inner.key) for expr in plan.partition_by)


def _over_state(plan: logical.OverWindow, changes: bool, below: Lowered, lowering: Lowering) -> State:
    """What is kept: all rows for changes (for Top-N over inserts the candidates), else reachable rows and carries."""
    if changes:
        return State.ROWS if plan.top_n is not None and not below.changelog else State.ALL_ROWS
    if closes_with_window(plan, traits(plan.input)):
        return State.ROWS
    for one in plan.calls:
        over_function = lowering.functions.over.get(one.call.name)
        frame = one.call.over.frame if one.call.over is not None else None
        framed = over_function is None or over_function.takes_frame
        by_rows = frame is not None and frame.unit is Unit.ROWS
        if not framed or by_rows or (starts_unbounded(frame) and not holds_rows(one.call, lowering.functions)):
            return State.PER_KEY  # ranks, carries, and the last rows of each partition, however old they are
    return State.ROWS


def _frame(call: Call) -> Frame[str] | None:
    frame = call.over.frame if call.over is not None else None
    return frame.map(lambda offset: offset.sql) if frame is not None else None


# ── The result ────────────────────────────────────────────────────────────────────────────────────────────────────


def _key(plan: logical.Plan) -> tuple[str, ...]:
    """What identifies a row of a changelog result: the stream's key, or window bounds and group keys, if selected."""
    if not isinstance(plan, logical.Project) or _has_raw_window(plan):
        return ()
    inner = traits(plan.input)
    passed = passed_on(plan.fields)
    bounds = [name for name in passed if name in inner.bounds]
    identified = inner.changelog or inner.time_shift  # on an append-only stream the key only breaks ties
    if not identified or (inner.time_shift and not bounds) or any(name not in passed for name in inner.key):
        return ()
    key = {passed[name][0] for name in (*bounds, *inner.key)}
    return tuple(field.name for field in plan.fields if field.name.lower() in key)


def _has_raw_window(plan: logical.Plan) -> bool:
    """Whether rows of a window come out as they are: nothing identifies them."""
    match plan:
        case logical.Aggregation():
            return False
        case logical.Window():
            return True
        case _:
            return any(_has_raw_window(child) for child in logical.children(plan))
