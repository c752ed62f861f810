"""Golden checkpoints: a scenario's folder as an archive, and the scenario run in a folder, part by part.

The folder of a scenario has its input `in`, its result `out` and its `checkpoint`. Spark writes the folder's place into
its logs: in the archive a placeholder stands for it.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from spark.compare import check_rows, rows_of
from spark.input_files import write_file

from panes import Engine
from panes.kernels.changelog.changes import BEFORE, CHANGE, DELETE
from panes.spark.shard import VERSION

from .scenarios import Scenario

FORMATS = Path(__file__).parent  # a folder for each, with one for each Spark, with an archive for each scenario
CURRENT = FORMATS / str(VERSION) / "spark-4.1"  # the oldest Spark that Panes runs on: its checkpoints go everywhere
PLACEHOLDER = b"/the/folder/of/the/scenario"
SHARDS = 2


def run_part(scenario: Scenario, part: int, folder: Path, spark: SparkSession) -> None:
    """The next rows come in; after the last ones the input ends."""
    write_file(folder / "in", part, scenario.parts[part])
    shards = SHARDS if part == 0 else None  # later it is the checkpoint's
    script, checkpoint = scenario.script(str(folder)), folder / "checkpoint"
    last = part == len(scenario.parts) - 1
    _engine(scenario, spark, shards).run(script, checkpoint=checkpoint, once=not last, flush=last)


def _engine(scenario: Scenario, spark: SparkSession, shards: int | None) -> Engine:
    engine = Engine(spark, shards=shards)
    for function in scenario.functions:
        engine.register(function)
    return engine


def check_result(scenario: Scenario, folder: Path, spark: SparkSession) -> None:
    """What came out in all parts is what the query makes of all rows as a batch."""
    expected = batch(scenario, folder, spark)
    columns = (f"`{one.name}` {one.dataType.simpleString()}" for one in expected.drop(CHANGE).schema.fields)
    held = spark.read.schema(", ".join([f"{CHANGE} string", *columns])).json(str(folder / "out"))
    check_rows(added_up(rows_of(held)), added_up(rows_of(expected)))


def batch(scenario: Scenario, folder: Path, spark: SparkSession) -> DataFrame:
    """The query over all rows, or over the table that all changes leave."""
    engine = _engine(scenario, spark, SHARDS)
    engine.run(scenario.script(str(folder)).partition("CREATE SINK")[0])
    stream = engine.catalog.streams.get("t")
    assert stream is not None
    if scenario.is_changelog:
        write_file(folder / "table", 0, scenario.table())
        stream = replace(stream, changelog=False, sequence=None, state_ttl=None)
    reader = spark.read.schema(", ".join(f"{one.name} {one.type}" for one in stream.columns))
    engine.catalog.streams.put(replace(stream, streaming=False, options={}))
    engine.frames["t"] = reader.json(str(folder / ("table" if scenario.is_changelog else "in")))
    return engine.sql(scenario.query)


def added_up(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The multiset that changes add up to, in whichever order they are read; without change types, the rows.

    >>> added_up([{"_change_type": "delete", "v": 1}, {"_change_type": "insert", "v": 1}, {"v": 2}])
    [{'v': 2}]
    """
    counts: Counter[str] = Counter()
    known: dict[str, dict[str, Any]] = {}
    for row in rows:
        type_ = row.pop(CHANGE, None)
        known[repr(row)] = row
        counts[repr(row)] += -1 if type_ in (DELETE, BEFORE) else 1
    assert min(counts.values(), default=0) >= 0, counts
    return [known[text] for text, count in counts.items() for _ in range(count)]


def pack(folder: Path, archive: Path) -> None:
    """All files but Spark's checksums, which would not fit with the placeholder."""
    place = str(folder).encode()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix != ".crc":
                found = file.read_bytes()
                if place in found:
                    found.decode()  # only in a text may a place of another length stand instead
                packed.writestr(str(file.relative_to(folder)), found.replace(place, PLACEHOLDER))


def unpack(archive: Path, folder: Path) -> None:
    place = str(folder).encode()
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(packed.read(name).replace(PLACEHOLDER, place))
