"""The shell around a kernel, on a store that keeps state as Spark's does: whatever attempts were made, it goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkFiles

from panes.errors import PanesError
from panes.kernels import parts
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.changelog.changes import AFTER
from panes.kernels.kernel import Kernel
from panes.kernels.over.calls import OrderKey, OverCall
from panes.kernels.over.incremental import OverIncremental
from panes.kernels.state.release import Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.physical.identity import Identity
from panes.spark import processor
from panes.spark.blob import to_bytes
from panes.spark.chunk_cache import chunk_cache
from panes.spark.pack import Packed
from panes.spark.processor import ShardProcessor
from panes.spark.results import read_result
from panes.spark.shard import SHIFT_MS, Directory, Shard

SECOND = 1_000_000
TIME, KEY, VALUE, ID, CHANGE, PLACE = "ts", "k", "v", "id", "change", "place"
FOLDS = tuple(
    Fold(one, (VALUE,), None, name)
    for name in ("sum", "collect_list")
    if (one := accumulator(name, ["bigint"])) is not None
)
KERNELS: dict[str, tuple[Kernel, tuple[str, ...]]] = {
    "tumbling": (
        SliceWindows(5 * SECOND, 5 * SECOND, TIME, (KEY,), Grouping((SLICE, KEY), FOLDS, (TIME, PLACE))),
        (KEY, "sum", "collect_list"),
    ),
    "session": (
        SessionWindows(SECOND, TIME, (KEY,), Grouping((KEY, NUMBER), FOLDS, (TIME, PLACE))),
        (KEY, "sum", "collect_list"),
    ),
    "stateful": (
        StatefulFunctions((KEY,), (StatefulCall("lag", (VALUE,), "lag"),), Release(TIME, (TIME, PLACE), True, True)),
        (KEY, VALUE, "lag"),
    ),
    "over": (
        OverIncremental(
            *((KEY,), (OrderKey(VALUE),), (ID,), (ID,), (OverCall("row_number", (), "n"),), (VALUE,)),
            *(CHANGE, (PLACE,)),
            size=4,
        ),
        (KEY, ID, VALUE, "n"),
    ),
}


@dataclass
class Store:
    """A state store as Spark loads it: a map, of which the changes of a task are written down."""

    values: dict[str, bytes] = field(default_factory=dict)
    changelog: dict[str, bytes | None] = field(default_factory=dict)

    def getMapState(self, *_: str) -> Store:  # noqa: N802
        return self

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
        return (self.values[key[0]],) if key[0] in self.values else None

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
        self.values[key[0]] = self.changelog[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
        self.values.pop(key[0], None)
        self.changelog[key[0]] = None

    def registerTimer(self, at: int) -> None:  # noqa: N802
        pass

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        pass

    def committed(self) -> dict[str, bytes | None]:
        written, self.changelog = self.changelog, {}
        return written

    @staticmethod
    def loaded(changelogs: list[dict[str, bytes | None]]) -> Store:
        values: dict[str, bytes | None] = {}
        for changelog in changelogs:
            values |= changelog
        return Store({key: value for key, value in values.items() if value is not None})


@pytest.fixture(autouse=True)
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A worker whose cache is its own."""
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    monkeypatch.setattr(processor, "set_up", lambda memory: None)
    chunk_cache.cache_clear()
    yield tmp_path
    chunk_cache.cache_clear()


def task(name: str, store: Store, batch: int, blobs: list[Any], query: str = "q") -> list[dict[str, Any]]:
    """A task of a micro-batch on a store; the blobs come in any order."""
    kernel, outputs = KERNELS[name]
    shard = ShardProcessor(Shard(kernel, outputs, Identity({"query": query}, {})))
    handle: Any = store  # what Spark hands over, as far as it is used
    shard.init(handle)
    times: Any = SimpleNamespace(getCurrentWatermarkInMs=lambda: (batch - 2) * 4000 + SHIFT_MS)
    out = list(shard.handleInputRows(0, iter(blobs), times))
    return [row for one in out for table in read_result(one.blob, one.file) for row in table.to_pylist()]


def blobs(name: str, batch: int) -> list[Any]:
    """The packed rows of three source partitions; in each micro-batch some rows are new and some are updates."""
    return [
        Packed(0, part << 40, rows_in=9, blob=to_bytes(KERNELS[name][0].pack(rows(batch, part)))) for part in range(3)
    ]


def rows(batch: int, part: int) -> pa.Table:
    """Many in every other micro-batch, so that chunks last for more than one."""
    at = range(1 if batch % 2 else 30)
    return pa.table(
        {
            TIME: pa.array([(batch * 4 + i % 3) * SECOND for i in at], pa.timestamp("us", "UTC")),
            KEY: pa.array([f"k{(i + part) % 17}" for i in at]),
            VALUE: pa.array([(i * 7 + part * 3 + batch) % 10 for i in at], pa.int64()),
            ID: pa.array([part * 30 + i + batch % 3 for i in at], pa.int64()),
            CHANGE: pa.array([AFTER for _ in at]),
            PLACE: pa.array([(part << 40) + i for i in at], pa.int64()),
        }
    )


@pytest.mark.parametrize("name", KERNELS)
def test_two_attempts_that_both_commit_are_one(name: str) -> None:
    """Both write the same file, the last one wins, and Spark goes on from the first one's store; then it reloads."""
    plain, changelogs = Store(), list[dict[str, bytes | None]]()
    for batch in range(0, 8, 2):
        first, second = Store.loaded(changelogs), Store.loaded(changelogs)
        assert task(name, first, batch, blobs(name, batch)) == task(name, plain, batch, blobs(name, batch))
        first.committed()
        forget_chunks()
        task(name, second, batch, blobs(name, batch)[::-1])
        changelogs.append(second.committed())
        after = blobs(name, batch + 1)
        assert task(name, first, batch + 1, after) == task(name, plain, batch + 1, after)
        changelogs.append(first.committed())
        forget_chunks()


@pytest.mark.parametrize("name", KERNELS)
def test_queries_that_share_a_machine_do_not_share_chunks(name: str) -> None:
    """Their chunks have the same numbers, and one folder of files and one memory."""
    names = ("one", "two")
    shift = {"one": 0, "two": 7}
    alone, together = ({query: Store() for query in names} for _ in range(2))
    expected = {
        query: [task(name, alone[query], at, blobs(name, at + shift[query]), query) for at in range(4)]
        for query in names
    }
    forget_chunks()
    for at in range(4):
        for query in names:
            assert task(name, together[query], at, blobs(name, at + shift[query]), query) == expected[query][at]


def test_parts_of_a_micro_batch_leave_what_the_whole_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks between two parts are in the store, and those that are gone in the end are gone from it."""
    whole, cut = Store(), Store()
    expected = [task("stateful", whole, batch, blobs("stateful", batch)) for batch in range(6)]
    forget_chunks()
    monkeypatch.setattr(parts, "MOST_ROWS", 20)
    found = [task("stateful", cut, batch, blobs("stateful", batch)) for batch in range(6)]
    assert [sorted(map(repr, rows)) for rows in found] == [sorted(map(repr, rows)) for rows in expected]
    assert sum(map(len, expected)) > 60
    directory = Directory.decode(cut.values["directory"])
    assert directory.next_chunk > Directory.decode(whole.values["directory"]).next_chunk
    assert set(cut.values) == {"directory", "identity", *(chunk["id"] for chunk in directory.chunks)}


def forget_chunks() -> None:
    """What is cached may be gone at any time."""
    for path in Path(SparkFiles.getRootDirectory()).glob("panes-chunks/*"):
        path.unlink()
    chunk_cache.cache_clear()


def test_a_chunk_that_is_missing_is_said() -> None:
    store = Store()
    task("session", store, 0, blobs("session", 0))
    forget_chunks()
    del store.values["0"]
    with pytest.raises(PanesError) as error:
        task("session", store, 1, blobs("session", 1))
    assert error.value.code == "state-mismatch"


def test_a_directory_of_many_chunks_is_short() -> None:
    entry = {"id": "7", "rows": 1, "low": 0, "high": 0, "kind": "segment", "bytes": 1, "digest": "0" * 32}
    for number in (0, 1, 1000):
        directory = Directory("whose", tuple([entry] * number), {"fact": 1}, number, None, False, {"groups": number})
        assert Directory.decode(directory.encode()) == directory
        assert len(directory.encode()) < 4096
    assert Directory("whose").encode().startswith(b"{")


def test_state_of_another_format_is_refused() -> None:
    store = Store()
    task("session", store, 0, blobs("session", 0))
    store.values["directory"] = store.values["directory"].replace(b'"version": ', b'"version": 9')
    with pytest.raises(PanesError) as error:
        task("session", store, 1, blobs("session", 1))
    assert error.value.code == "state-mismatch"


@pytest.mark.parametrize(("count", "compressed"), [(1, False), (100, True)])
def test_a_directory_of_many_chunks_is_compressed(count: int, compressed: bool) -> None:
    one = {
        "rows": 10,
        "low": 1704067200000000,
        "high": 1704067200000000,
        "kind": "",
        "bytes": 688,
        "digest": "e00ea697",
    }
    directory = Directory("0f6ce985", tuple({"id": str(number), **one} for number in range(count)), {"closed": None})
    known = {name: value for name, value in directory.__dict__.items() if name != "quiet"}  # there only if it is known
    blob, text = directory.encode(), json.dumps(known).encode()
    assert (blob != text) == compressed
    assert len(blob) <= (len(text) / 4 if compressed else len(text))
    assert Directory.decode(blob) == Directory.decode(text) == directory
