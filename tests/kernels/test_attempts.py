"""Two attempts of a task leave the same state and rows, also in processes that hash strings differently.

Spark takes attempts of a task as interchangeable: it may go on from what one has in memory after another has written
the files. The harness runs every step of every kernel test twice; here are more rows, and another process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest

from panes.frames import Edge, Unit
from panes.kernels.aggregates.accumulator import Accumulator
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.changelog.changes import AFTER, DELETE, INSERT
from panes.kernels.changelog.normalize import Normalize
from panes.kernels.kernel import Clock, Kernel, State, run_step
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall
from panes.kernels.over.incremental import OverIncremental
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.over.on_complete import OverOnComplete
from panes.kernels.sorted_blocks import pages
from panes.kernels.state.release import Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.windows.count import CountWindows
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.kernels.windows.sliding import SlidingWindows
from panes.kernels.windows.state_machine import StateWindows
from panes.spark.blob import gathered, to_bytes

from .harness import restarted

TIME, KEY, VALUE, REAL, FLAG, BATCH, PLACE, ID, CHANGE = "ts", "k", "v", "d", "f", "batch", "place", "id", "change"
ORDER = (TIME, BATCH, PLACE)
SECOND = 1_000_000
BATCHES, PARTITIONS, ROWS, KEYS = 3, 2, 800, 400


def known(function: str, *types: str, distinct: bool = False) -> Accumulator:
    found = accumulator(function, types, distinct)
    assert found is not None
    return found


NAMES = ("sum", "avg", "min", "first", "last", "collect_list", "collect_set", "var_samp", "median")
FOLDS = (
    Fold(known("count"), (), None, "count"),
    *(Fold(known(name, "bigint"), (VALUE,), None, name) for name in NAMES),
    Fold(known("sum", "double"), (REAL,), FLAG, "real"),
    Fold(known("count", "bigint", distinct=True), (VALUE,), None, "distinct"),
    Fold(known("max_by", "bigint", "double"), (VALUE, REAL), None, "by"),
    Fold(known("approx_count_distinct", "bigint"), (VALUE,), None, "about"),
)
SMALL = tuple(fold for fold in FOLDS if fold.state in ("count", "sum", "avg", "min", "real"))
RELEASE = Release(TIME, ORDER, True, True)
UNTIL_NOW = Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))
THREE = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 2), Bound(Edge.FOLLOWING, 1))
ALL = Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.UNBOUNDED_FOLLOWING))
BY_TIME = OrderKey(TIME)


def total(frame: Frame, output: str) -> OverCall:
    return OverCall("aggregate", (REAL,), output, frame, accumulator=known("sum", "double"))


CALLS = (
    OverCall("row_number", (), "n"),
    total(UNTIL_NOW, "running"),
    total(THREE, "three"),
    OverCall("lag", (VALUE,), "l"),
)
TUMBLING = SliceWindows(5 * SECOND, 5 * SECOND, TIME, (KEY,), Grouping((SLICE, KEY), FOLDS, ORDER))
SESSIONS = SessionWindows(SECOND, TIME, (KEY,), Grouping((KEY, NUMBER), FOLDS, ORDER))
STATEFUL = (
    *(StatefulCall(name, (VALUE,), name) for name in ("lag", "latest", "changed_col", "had_changed")),
    StatefulCall("acc_sum", (REAL,), "acc_sum", accumulator=known("sum", "double")),
)


def changes(change_type: str | None) -> OverIncremental:
    arrival = (BATCH, PLACE)
    return OverIncremental(
        (KEY,), (OrderKey(VALUE),), (ID,), (ID,), CALLS, (REAL,), change_type, arrival, on_inconsistency="skip"
    )


KERNELS: dict[str, Kernel] = {
    "tumbling": TUMBLING,
    "tumbling changes": replace(TUMBLING, changes=True),
    "hopping": replace(TUMBLING, size=7 * SECOND, hop=3 * SECOND),
    "hopping changes": replace(TUMBLING, size=7 * SECOND, hop=3 * SECOND, changes=True),
    "session": SESSIONS,
    "session changes": replace(SESSIONS, changes=True),
    "count": CountWindows(3, None, (KEY,), (), FOLDS, RELEASE),
    "count every": CountWindows(3, 2, (KEY,), (), FOLDS, RELEASE, 4 * SECOND),
    "state": StateWindows(FLAG, FLAG, (KEY,), (VALUE,), FOLDS, RELEASE, 4 * SECOND),
    "sliding": SlidingWindows(3 * SECOND, SECOND, None, (KEY,), (), SMALL, RELEASE),
    "sliding groups": SlidingWindows(SECOND, None, FLAG, (KEY,), (VALUE,), FOLDS, RELEASE),
    "stateful": StatefulFunctions((KEY,), STATEFUL, RELEASE, 4 * SECOND),
    "over on close": OverOnClose((KEY,), (BY_TIME,), CALLS, RELEASE, ttl=4 * SECOND),
    "over on complete": OverOnComplete((TIME,), (OrderKey(VALUE),), (total(ALL, "all"), CALLS[0]), RELEASE),
    "over inserts": changes(None),
    "over changes": changes(CHANGE),
    "normalize": Normalize((ID,), (KEY, REAL), CHANGE, (BATCH, PLACE), on_inconsistency="skip"),
}


def rows(batch: int, partition: int) -> pa.Table:
    random = np.random.default_rng((batch, partition))
    keys = random.integers(0, KEYS, ROWS)
    kinds = np.array([INSERT, AFTER, DELETE])[random.integers(0, 3, ROWS)]
    return pa.table(
        {
            TIME: pa.array((batch * 10 + random.integers(0, 15, ROWS)) * SECOND, pa.timestamp("us", "UTC")),
            KEY: pa.array([f"key {key}" if key else None for key in keys], pa.string()),
            VALUE: pa.array(random.integers(0, 50, ROWS), mask=random.random(ROWS) < 0.1),
            REAL: pa.array(random.random(ROWS)),
            FLAG: pa.array(random.random(ROWS) < 0.5, mask=random.random(ROWS) < 0.1),
            BATCH: pa.array(np.full(ROWS, batch)),
            PLACE: pa.array((partition << 40) + np.arange(ROWS)),
            ID: pa.array(((batch * PARTITIONS + partition) * ROWS + np.arange(ROWS)) % (3 * ROWS)),
            CHANGE: pa.array(kinds),
        }
    )


def digest(table: pa.Table) -> str:
    """Of the values in order: under a NULL, DuckDB leaves whatever was in its memory."""
    return blake2b(repr([column.to_pylist() for column in table.columns]).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Attempt:
    """`again` is what happens to the state between two micro-batches, `seed` mixes up the blobs of one."""

    again: Callable[[State], State]
    seed: int

    def traces(self, kernel: Kernel) -> list[str]:
        """Everything that each step leaves."""
        random, state, found = np.random.default_rng(self.seed), State(), []
        for batch in range(BATCHES):
            blobs = [(part << 40, to_bytes(kernel.pack(rows(batch, part)))) for part in range(PARTITIONS)]
            mixed = [blobs[at] for at in random.permutation(PARTITIONS)]
            step = run_step(kernel, state, gathered(mixed), Clock(batch * 10 * SECOND))
            tables = [*(chunk.load() for chunk in step.state.chunks), *step.tables()]
            told = [repr(step.state.chunks), json.dumps(step.state.facts), str(step.state.next_chunk)]
            found.append(" ".join([*told, *map(digest, tables)]))
            state = self.again(step.state)
        return found


def elsewhere() -> dict[str, list[str]]:
    """An attempt that reads what was written, and gets the blobs in another order."""
    return {name: Attempt(restarted, 2).traces(kernel) for name, kernel in KERNELS.items()}


@pytest.fixture(scope="module")
def other_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    path = tmp_path_factory.mktemp("attempts") / "traces.json"
    small = f"from panes.kernels.sorted_blocks import pages; pages.MOST = {pages.MOST}"  # as it is here
    script = f"{small}; import json; from {__name__} import elsewhere; json.dump(elsewhere(), open({str(path)!r}, 'w'))"
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_an_attempt_elsewhere_leaves_the_same(name: str, other_process: dict[str, list[str]]) -> None:
    assert Attempt(lambda state: state, 1).traces(KERNELS[name]) == other_process[name]
