"""`make checkpoints`: makes the golden checkpoints that are not there yet, on the oldest Spark that Panes runs on."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from pyspark.sql import SparkSession

from panes.spark.session import embedded
from panes.spark.state_report import state_of

from .golden import CURRENT, pack, run_part
from .scenarios import SCENARIOS, Scenario


def make(scenario: Scenario, archive: Path, spark: SparkSession) -> None:
    """The checkpoint before the last part of the input."""
    with TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        for part in range(len(scenario.parts) - 1):
            run_part(scenario, part, place, spark)
        shards = [shard for one in state_of(place / "checkpoint", spark) for shard in one.shards.values()]
        assert any(one.rows for one in shards), f"the checkpoint of {scenario.name} is empty"
        pack(place, archive)


def main() -> None:
    written_by = ".".join(pyspark.__version__.split(".")[:2])
    assert CURRENT.name == f"spark-{written_by}", f"golden checkpoints are written on {CURRENT.name}, not {written_by}"
    archives = {name: CURRENT / f"{name}.zip" for name in SCENARIOS}
    missing = [name for name, archive in archives.items() if not archive.exists()]
    print(f"{len(SCENARIOS) - len(missing)} checkpoints are there, {len(missing)} are missing")
    spark = embedded(2) if missing else None
    for name in missing:
        assert spark is not None
        make(SCENARIOS[name], archives[name], spark)
        print(f"{archives[name]}: {archives[name].stat().st_size // 1000} kB", flush=True)
    if spark is not None:
        spark.stop()


if __name__ == "__main__":
    main()
