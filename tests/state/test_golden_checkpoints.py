"""Checkpoints that were written once are resumed by this version, and every operator has one."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import panes.kernels
from panes import Engine
from panes.errors import PanesError
from panes.functions.aggregates import AGGREGATES
from panes.functions.over import OVER_FUNCTIONS
from panes.functions.stateful import BUILT_INS
from panes.kernels.kernel import Kernel
from panes.kernels.late_rows import LateRows
from panes.kernels.windows.on_axis import OnAxis
from panes.physical.identity import Identity
from panes.spark.record import RECORD

from .golden import CURRENT, FORMATS, check_result, run_part, unpack
from .scenarios import SCENARIOS

ARCHIVES = [
    pytest.param(
        archive,
        id=f"{archive.parent.parent.name}-{archive.parent.name}-{archive.stem}",
        marks=[] if archive.parent == CURRENT else pytest.mark.slow,
    )
    for archive in sorted(FORMATS.glob("*/*/*.zip"))
]


@pytest.mark.spark
@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_golden_checkpoint_is_resumed(archive: Path, tmp_path: Path, spark: SparkSession) -> None:
    scenario = SCENARIOS[archive.stem]
    unpack(archive, tmp_path)
    run_part(scenario, len(scenario.parts) - 1, tmp_path, spark)
    check_result(scenario, tmp_path, spark)


def _unversioned(record: dict[str, object]) -> dict[str, object]:
    parts = [json.loads(one) for one in record["operators"]]  # type: ignore[attr-defined]
    return {**record, "operators": [json.dumps({**one, "version": None}) for one in parts]}


@pytest.mark.spark
@pytest.mark.parametrize(
    "older",
    [_unversioned, lambda record: {"plan": "DataSink()", "columns": {}, "shards": record["shards"]}],
    ids=["another format", "before there were formats"],
)
def test_an_older_format_is_refused_before_anything_starts(
    older: Callable[[dict[str, object]], dict[str, object]], tmp_path: Path, spark: SparkSession
) -> None:
    unpack(CURRENT / "hopping.zip", tmp_path)
    record = tmp_path / "checkpoint" / "1-out" / RECORD
    record.write_text(json.dumps(older(json.loads(record.read_text()))))
    with pytest.raises(PanesError) as caught:
        script = SCENARIOS["hopping"].script(str(tmp_path))
        Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", once=True)
    assert caught.value.code == "state-mismatch"


def test_every_scenario_has_a_golden_checkpoint() -> None:
    """`make checkpoints` makes what is missing."""
    assert {one.stem for one in CURRENT.glob("*.zip")} == set(SCENARIOS)


def test_every_kernel_has_a_golden_checkpoint() -> None:
    """One that has none needs a new scenario in `scenarios.py`, then `make checkpoints`."""
    assert {one.depends_on["state"] for one in identities()} == set(layouts())


def test_every_function_that_keeps_state_has_a_golden_checkpoint() -> None:
    """One that has none needs a new scenario in `scenarios.py` that calls it, then `make checkpoints`."""
    texts = [text for one in identities() for text, _ in one.columns.values()]
    kept = {word for text in texts for word in re.findall(r"\w+", text)}
    known = {one.name for one in (*AGGREGATES, *BUILT_INS, *OVER_FUNCTIONS)}
    assert sorted(known - kept) == []


def identities() -> Iterator[Identity]:
    """Of the operators in the golden checkpoints of the current format."""
    for archive in CURRENT.glob("*.zip"):
        with zipfile.ZipFile(archive) as packed:
            record = json.loads(packed.read(f"checkpoint/1-out/{RECORD}"))
        yield from map(Identity.decode, record["operators"])


def layouts() -> Iterator[str]:
    """What the kernels call the layouts of their states; `LateRows` and `OnAxis` have that of the kernel inside."""
    for module in pkgutil.walk_packages(panes.kernels.__path__, "panes.kernels."):
        for _, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if (
                one.__module__ == module.name
                and one not in (Kernel, LateRows, OnAxis)
                and hasattr(one, "step")
                and hasattr(one, "pack")
            ):
                (layout,) = re.findall(r'"state": "([^"]+)"', inspect.getsource(vars(one)["depends_on"]))
                yield layout
