"""What a text says: one frozen class per statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from sqlglot import exp

from panes.source import Span
from panes.sql.calls import Call
from panes.sql.expr import Expr
from panes.sql.over import Over
from panes.sql.tokens import Token
from panes.sql.windows import Kind


class Emit(Enum):
    ON_WINDOW_CLOSE = "ON WINDOW CLOSE"
    CHANGES = "CHANGES"
    IMMEDIATELY = "IMMEDIATELY"


@dataclass(frozen=True)
class EmitClause:
    emit: Emit
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class LateRowsClause:
    """`LATE ROWS INTO sink`."""

    sink: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Star:
    """`*`, `s.*`, `* EXCEPT (a, b)`."""

    qualifier: str | None
    excluded: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class SelectField:
    """One output: its expression (placeholders for what Panes computes) and its name."""

    expr: Expr
    name: str
    aliased: bool


@dataclass(frozen=True)
class NamedRelation:
    """FROM a stream, view or table."""

    name: str
    alias: str | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class SubQuery:
    """FROM a query in parentheses."""

    query: Query
    alias: str | None
    span: Span = field(compare=False, repr=False)


Relation: TypeAlias = NamedRelation | SubQuery


@dataclass(frozen=True)
class SelectStmt:
    """A SELECT that Panes plans. The mappings tell what each placeholder stands for."""

    select_fields: tuple[SelectField | Star, ...]
    source: Relation
    where_condition: Expr | None = None
    group_by_exprs: tuple[Expr, ...] = ()
    window: Kind | None = None
    having: Expr | None = None
    qualify: Expr | None = None
    emit: EmitClause | None = None
    stateful_mappings: Mapping[str, Call] = field(default_factory=dict)
    bound_mappings: Mapping[str, Call] = field(default_factory=dict)
    aggregate_mappings: Mapping[str, Call] = field(default_factory=dict)
    over_mappings: Mapping[str, Call] = field(default_factory=dict)
    ctes: tuple[Cte, ...] = ()
    window_span: Span | None = field(default=None, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def has_panes_construct(self) -> bool:
        """Whether anything here needs Panes; a plain SELECT is Spark's."""
        return bool(self.window or self.stateful_mappings or self.over_mappings or self.emit)


@dataclass(frozen=True)
class SparkStmt:
    """A query without a Panes construct that has clauses only Spark knows: joins, unions, GROUP BY without a window.

    `template` is the text with a placeholder in braces for each table, since tables are handed to Spark as DataFrames:
    no view of the user's is replaced, and none is left behind. The positions in `tree` are indices into `tokens`, and
    `places` says where tables stand there, and what the template has in their places.
    """

    sql: str
    template: str
    tables: tuple[NamedRelation, ...]
    ctes: tuple[Cte, ...] = ()
    tree: exp.Expr = field(default_factory=exp.Select, compare=False, repr=False)
    tokens: tuple[Token, ...] = field(default=(), compare=False, repr=False)
    places: Mapping[tuple[int, int], str] = field(default_factory=dict, compare=False, repr=False)
    clauses: tuple[tuple[str, Span], ...] = field(default=(), compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


Query: TypeAlias = SelectStmt | SparkStmt


@dataclass(frozen=True)
class Cte:
    name: str
    query: Query
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class ColumnDef:
    """`computed` is what Spark computes it from; `metadata` is what it is called in the records of the connector."""

    name: str
    type: str
    span: Span = field(compare=False, repr=False)
    computed: Expr | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class Watermark:
    """`WATERMARK FOR column AS column - INTERVAL delay`, the delay in microseconds."""

    column: str
    delay: int
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class CreateStream:
    name: str
    columns: tuple[ColumnDef, ...]
    watermark: Watermark | None
    key: tuple[str, ...]
    options: Mapping[str, str]
    or_replace: bool
    if_not_exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class CreateView:
    name: str
    query: Query
    sql: str
    or_replace: bool
    if_not_exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class CreateSink:
    name: str
    options: Mapping[str, str]
    or_replace: bool
    if_not_exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class InsertInto:
    sink: str
    query: Query
    span: Span = field(compare=False, repr=False)
    late: LateRowsClause | None = None


class ObjectKind(Enum):
    STREAM = "STREAM"
    VIEW = "VIEW"
    SINK = "SINK"


@dataclass(frozen=True)
class Drop:
    kind: ObjectKind
    name: str
    if_exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Show:
    kind: ObjectKind
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Describe:
    name: str
    span: Span = field(compare=False, repr=False)


class ExplainFormat(Enum):
    TEXT = "TEXT"
    JSON = "JSON"


@dataclass(frozen=True)
class Explain:
    statement: Query | InsertInto
    format: ExplainFormat
    span: Span = field(compare=False, repr=False)


Statement: TypeAlias = Query | CreateStream | CreateView | CreateSink | InsertInto | Drop | Show | Describe | Explain

NamedWindows: TypeAlias = Mapping[str, Over]
