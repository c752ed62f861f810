"""A query's operators, what each reads, and the variants that are run to know what became of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from panes.engine import Engine
from panes.errors import PanesError
from panes.functions import Functions
from panes.logical.bind import bind
from panes.logical.plan import DataSink, DataSource, OverWindow, Project, StatefulFunction, children
from panes.logical.plan import Plan as Logical
from panes.logical.traits import traits
from panes.physical.chain import reads_through_spark
from panes.physical.emit import decide
from panes.physical.lower import lower
from panes.sql.parser import allocator, deep, only_part, parse_statement
from panes.sql.statements import Explain, InsertInto, SelectStmt, SparkStmt
from panes.trace import variants
from panes.trace.lineage import carry
from panes.trace.operators import Operator, Reading, operators, reading, window_of
from panes.trace.runs import Variant

RESULTS = "results"


@dataclass(frozen=True)
class Plans:
    """A query; `readings` has what each operator reads, and last what the output does."""

    plan: DataSink
    functions: Functions
    operators: tuple[Operator, ...]
    readings: tuple[Reading, ...]
    is_carried: bool
    takes_clock: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the outputs, as far as Panes knows them."""
        top = self.plan.input
        if isinstance(top, Project):
            return tuple(field.name for field in top.fields)
        return tuple(column.name for column in traits(top).columns or ())

    @property
    def stream(self) -> str | None:
        """The stream that is read."""
        names = [one.stream.name for one in _sources(self.plan) if one.stream.streaming]
        return names[0] if len(names) == 1 else None

    def emits_changes(self, operator: Operator) -> bool:
        """Whether an OVER operator tells its results before they are final."""
        decision = decide(self.plan, self.plan.emit)
        own = operator.node if isinstance(operator.node, tuple) else ()
        return traits(operator.input).changelog or any(decision.emits_changes(one) for one in own)

    def first(self, flush: bool) -> dict[str, Variant]:
        """What is run first, by name."""
        found = {RESULTS: Variant(variants.results(self.plan, self.functions), flush=flush)}
        if not self.is_carried:
            return found
        for number, reads in enumerate(self.readings):
            if self.wants_points(number):
                at_once = all_rows if isinstance(reads.base, DataSource) else None
                plan = variants.points(reads, self.plan.emit)
                assert plan is not None
                found[points(number)] = Variant(plan, at_once, flush=flush and at_once is None)
        for number, operator in enumerate(self.operators):
            if window_of(operator.node) is not None:
                plan = variants.windows(operator, self.plan.emit)
                assert plan is not None
                found[windows(number)] = Variant(plan)
            elif isinstance(operator.node, tuple) and self.emits_changes(operator):
                found[frames(number)] = Variant(_frames(operator.node), flush=flush)
        return found

    def then(self, late: frozenset[int]) -> dict[str, Variant]:
        """What is run when late rows are known: frames that are final are those of all other rows at once."""
        if not self.is_carried:
            return {}
        return {
            frames(number): Variant(_frames(operator.node), lambda row: row not in late)
            for number, operator in enumerate(self.operators)
            if isinstance(operator.node, tuple) and not self.emits_changes(operator)
        }

    def wants_points(self, number: int) -> bool:
        """Whether what is read must be asked for: of a stream's rows that all pass, the columns tell."""
        reads = self.readings[number]
        if isinstance(reads.base, DataSource):
            needed = number == 0 and (reads.kept is not None or column_lanes(reads) is None)
            return needed and not reads.base.stream.changelog
        return number < len(self.operators) or isinstance(reads.base, StatefulFunction)


def _frames(overs: tuple[OverWindow, ...]) -> DataSink:
    plan = variants.frames(overs)
    assert plan is not None
    return plan


def all_rows(row: int) -> bool:
    return True


def points(number: int) -> str:
    return f"points of {number}"


def windows(number: int) -> str:
    return f"windows of {number}"


def frames(number: int) -> str:
    return f"frames of {number}"


def column_lanes(reads: Reading) -> tuple[str, ...] | None:
    """The columns of the stream whose values are the lane of a row; None if a lane is computed."""
    assert isinstance(reads.base, DataSource)
    names: Mapping[str, str] = {one.lower(): one for one in reads.base.stream.column_names}
    found = [names.get((one.column or "").lower()) for one in reads.lanes]
    return tuple(one for one in found if one is not None) if None not in found else None


def _sources(plan: Logical) -> list[DataSource]:
    own = [plan] if isinstance(plan, DataSource) else []
    return own + [one for child in children(plan) for one in _sources(child)]


def plans_of(sql: str, engine: Engine) -> Plans:
    """The plans of a query; what is refused in it is refused here."""
    source = engine.catalog.source(sql)

    def made() -> Plans:
        part = only_part(source)
        texts = "\n".join([sql, *(view.sql for view in engine.catalog.views)])
        names = allocator(texts, engine.catalog.column_names())
        statement = parse_statement(part, engine.functions, names)
        if isinstance(statement, Explain):
            statement = statement.statement
        if isinstance(statement, InsertInto):
            statement = statement.query
        if not isinstance(statement, SelectStmt | SparkStmt):
            raise PanesError("parse-error", "a query is wanted here", part[0].span, "Give a SELECT, or an INSERT.")
        plan = bind(statement, engine.catalog, engine.functions, names)
        physical = lower(plan, engine.functions)
        carried = carry(plan) is not None
        found = tuple(operators(plan)) if carried else ()
        readings = (*(one.reads for one in found), *([reading(plan.input)] if carried else []))
        return Plans(plan, engine.functions, found, readings, carried, not reads_through_spark(physical))

    return deep(source, made)
