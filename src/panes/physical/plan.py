"""The physical plan: what runs. Every operator is a frozen, picklable spec of texts, names and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from panes.frames import Frame
from panes.functions.within import Direction
from panes.sql.window_kinds import WindowKind


class Mode(Enum):
    """What orders an operator's rows and moves its clock."""

    EVENT_TIME = "event_time"
    ARRIVAL = "arrival"
    BATCH = "batch"


class EmitMode(Enum):
    ON_WINDOW_CLOSE = "on-window-close"
    CHANGES = "changes"
    ON_RELEASE = "on-release"
    IMMEDIATELY = "immediately"


class State(Enum):
    """What an operator keeps between micro-batches."""

    ACCUMULATORS = "accumulators"
    ROWS = "rows"
    PER_KEY = "per-key"
    ALL_ROWS = "all-rows"


class Strategy(Enum):
    """How an OVER window is computed."""

    ON_CLOSE = "on-close"  # each row comes out once, when no row still to come can change it
    ON_COMPLETE = "on-complete"  # each partition is computed once, when all its rows are there
    INCREMENTAL = "incremental"  # each micro-batch gives what it changes in the result


class By(Enum):
    """What orders rows besides an ORDER BY of the query."""

    TIME = "time"
    KEY = "key"  # the stream's, NULLs first
    ARRIVAL = "arrival"


@dataclass(frozen=True)
class Placement:
    """How an operator runs: by what its rows are sharded, in which order it sees them, and what it keeps.

    `late` is True for the one operator of a query that drops late rows, `late_into` is the sink that gets them, if any.
    No `partition_by` means one shard. `sequence` orders the changes of a changelog's key.
    """

    partition_by: tuple[str, ...]
    mode: Mode
    emit: EmitMode
    state: State
    late: bool
    time: str | None
    time_shift: int
    key: tuple[str, ...]
    state_ttl: int | None = None
    sequence: str | None = None
    on_inconsistency: str = "fail"
    late_into: str | None = None

    @property
    def one_shard(self) -> bool:
        return not self.partition_by

    @property
    def waits(self) -> bool:
        """Whether rows wait until the clock has passed them."""
        return self.mode is not Mode.ARRIVAL and self.emit is not EmitMode.IMMEDIATELY

    @property
    def order(self) -> tuple[By, ...]:
        """The stream's order; where nothing waits, that is only arrival."""
        return (By.TIME, By.KEY, By.ARRIVAL) if self.waits and self.time is not None else (By.ARRIVAL,)

    @property
    def tie_break(self) -> tuple[By, ...]:
        """What orders rows that ORDER BY leaves equal, in every mode."""
        return (By.KEY, By.TIME, By.ARRIVAL) if self.time is not None else (By.KEY, By.ARRIVAL)


@dataclass(frozen=True)
class Argument:
    """A call as the kernels see it: a function's name and the texts of its arguments.

    `within` says which way the keys of WITHIN GROUP sort: they are the last arguments.
    """

    output: str
    function: str
    args: tuple[str, ...]
    distinct: bool = False
    ignore_nulls: bool = False
    condition: str | None = None
    text: str = ""
    within: tuple[Direction, ...] = ()

    @property
    def own(self) -> int:
        """How many arguments stand inside its parentheses."""
        return len(self.args) - len(self.within)


@dataclass(frozen=True)
class Output:
    """A named expression."""

    sql: str
    name: str


@dataclass(frozen=True)
class OverCall:
    argument: Argument
    frame: Frame[str] | None


@dataclass(frozen=True)
class Order:
    sql: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class DataSource:
    """`whole` says that each row is carried whole, beside the columns that are read: it may be late."""

    stream: str
    columns: tuple[str, ...]
    streaming: bool
    changelog: bool
    computed: tuple[Output, ...] = ()  # those of the columns that are computed from others
    whole: bool = False


@dataclass(frozen=True)
class Watermark:
    """The clock of a stream: its largest time so far, less `delay` microseconds; without rows it goes on by itself."""

    input: Plan
    time: str
    delay: int
    idle_timeout: int | None = None


@dataclass(frozen=True)
class SparkQuery:
    """A query that Spark runs; `template` is its text with a placeholder for each input.

    `keeps_state`: Spark keeps state for it, bounded by the watermarks below.
    """

    sql: str
    template: str
    inputs: tuple[tuple[str, Plan], ...]
    keeps_state: bool = False


@dataclass(frozen=True)
class StatefulFunction:
    """Calls of one partitioning that need no other stage's result."""

    input: Plan
    placement: Placement
    calls: tuple[Argument, ...]


@dataclass(frozen=True)
class Filter:
    input: Plan
    predicates: tuple[str, ...]
    changelog: bool


@dataclass(frozen=True)
class Window:
    """A window with its aggregates; `raw` windows emit their rows instead."""

    input: Plan
    placement: Placement
    kind: WindowKind[str]
    keys: tuple[Output, ...]
    bounds: tuple[tuple[str, str], ...]
    aggregates: tuple[Argument, ...]
    raw: bool


@dataclass(frozen=True)
class OverWindow:
    """`waits_for_rows`: some result needs later rows, which the watermark cannot replace.

    `reads_changes`: its input is a changelog. `has_key`: its rows are known by their key, others by when they came.
    """

    input: Plan
    placement: Placement
    order_by: tuple[Order, ...]
    calls: tuple[OverCall, ...]
    top_n: tuple[str, int] | None
    waits_for_rows: bool
    closes_with_window: bool
    strategy: Strategy
    reads_changes: bool = False
    has_key: bool = False


@dataclass(frozen=True)
class Normalize:
    """A changelog made complete: each update a pair, and each row that goes as it was."""

    input: Plan
    placement: Placement


@dataclass(frozen=True)
class Pair:
    """A changelog with all its preimages: the sides of each update side by side, as far as a micro-batch has both."""

    input: Plan
    key: tuple[str, ...]
    on_inconsistency: str


@dataclass(frozen=True)
class Project:
    input: Plan
    fields: tuple[Output, ...]
    changelog: bool


@dataclass(frozen=True)
class DataSink:
    input: Plan
    sink: str | None
    columns: tuple[str, ...]
    changelog: bool
    key: tuple[str, ...]
    late: str | None = None  # the sink of late rows


Plan: TypeAlias = (
    DataSource
    | Watermark
    | SparkQuery
    | StatefulFunction
    | Filter
    | Window
    | OverWindow
    | Normalize
    | Pair
    | Project
    | DataSink
)


def spark_keeps_state(plan: Plan) -> bool:
    """Whether Spark keeps state of its own for a part of the plan."""
    own = isinstance(plan, SparkQuery) and plan.keeps_state
    return own or any(spark_keeps_state(child) for child in children(plan))


def is_streaming(plan: Plan) -> bool:
    """Whether a plan reads a stream: else its result is there at once."""
    own = isinstance(plan, DataSource) and plan.streaming
    return own or any(is_streaming(child) for child in children(plan))


def children(plan: Plan) -> tuple[Plan, ...]:
    match plan:
        case DataSource():
            return ()
        case SparkQuery(inputs=inputs):
            return tuple(child for _, child in inputs)
        case _:
            return (plan.input,)
