"""A Delta table that changes, a script that follows it with OVER into two others, and what must be in them then."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyarrow.fs import FileSelector

from panes.spark.delta.table import files_of

Ranked = dict[int, tuple[str, int, int]]


@dataclass(frozen=True)
class Pipeline:
    """Folders of a pipeline: `table` is read; `board` is merged into, `news` gets every change as a row.

    They may be in an object store, with its options.
    """

    folder: Path | str
    storage: Mapping[str, str] = field(default_factory=dict)

    @property
    def script(self) -> str:
        query = "SELECT id, shop, v, rank() OVER (PARTITION BY shop ORDER BY v DESC) AS place FROM t"
        more = "".join(f", storage.{name} = '{value}'" for name, value in self.storage.items())
        return f"""
            CREATE STREAM t (id BIGINT, shop STRING, v BIGINT, PRIMARY KEY (id))
            WITH (connector = 'delta', path = '{self.folder}/table', changelog = 'true', starting_version = '0',
                  max_versions_per_trigger = '2' {more});
            CREATE SINK board WITH (connector = 'delta', path = '{self.folder}/board', create = 'true' {more});
            CREATE SINK news WITH (connector = 'delta', path = '{self.folder}/news', create = 'true',
                                   changelog = 'rows' {more});
            INSERT INTO board {query};
            INSERT INTO news {query};
        """

    def table(self, name: str) -> DeltaTable:
        return DeltaTable(f"{self.folder}/{name}", storage_options=dict(self.storage))

    def make(self) -> None:
        """A first version with rows, of which there are no changes."""
        ids = list(range(20))
        rows = pa.table({"id": ids, "shop": [f"s{id_ % 4}" for id_ in ids], "v": [id_ * 7 % 10 for id_ in ids]})
        feed = {"delta.enableChangeDataFeed": "true"}
        write_deltalake(f"{self.folder}/table", rows, configuration=feed, storage_options=dict(self.storage))

    def change(self, choose: random.Random, versions: int) -> None:
        """Each version inserts, updates and deletes some rows; some change their partition."""
        for _ in range(versions):
            ids = choose.sample(range(40), 12)
            source = pa.table(
                {
                    "id": ids,
                    "shop": [f"s{choose.randrange(4)}" for _ in ids],
                    "v": [choose.randrange(20) for _ in ids],
                    "gone": [choose.random() < 0.3 for _ in ids],
                }
            )
            values = {name: f"s.{name}" for name in ("id", "shop", "v")}
            merge = self.table("table").merge(source, "t.id = s.id", "s", "t")
            merge = merge.when_matched_delete("s.gone").when_matched_update(values)
            merge.when_not_matched_insert(values, "NOT s.gone").execute()

    def expected(self) -> Ranked:
        """The definition: a row's place is one more than the rows of its shop that are above it."""
        rows = self.table("table").to_pyarrow_table().to_pylist()
        shops = [(row["shop"], row["v"]) for row in rows]
        return {
            row["id"]: (row["shop"], row["v"], 1 + sum(shop == row["shop"] and v > row["v"] for shop, v in shops))
            for row in rows
        }

    def check(self) -> None:
        """Both tables hold the result, and no micro-batch is in one twice."""
        board = self.table("board").to_pyarrow_table().to_pylist()
        assert len({row["id"] for row in board}) == len(board)
        assert {row["id"]: (row["shop"], row["v"], row["place"]) for row in board} == self.expected()
        left: Counter[tuple[int, str, int, int]] = Counter()
        for row in self.table("news").to_pyarrow_table().to_pylist():
            comes = row.pop("_change_type") in ("insert", "update_postimage")
            left[row["id"], row["shop"], row["v"], row["place"]] += 1 if comes else -1
        assert {row: n for row, n in left.items() if n} == {(id_, *rest): 1 for id_, rest in self.expected().items()}
        for name in ("board", "news"):
            commits = self.commits(name)
            assert len(set(commits)) == len(commits)

    def commits(self, name: str) -> list[tuple[str, int]]:
        """The sink and micro-batch of each commit of a table."""
        files = files_of(f"{self.folder}/{name}", self.storage)
        found = files.get_file_info(FileSelector("_delta_log"))
        logs = sorted(one.path for one in found if one.base_name.endswith(".json"))
        texts = [files.open_input_stream(log).read().decode() for log in logs]
        actions = [json.loads(line) for text in texts for line in text.splitlines()]
        return [(one["txn"]["appId"], one["txn"]["version"]) for one in actions if "txn" in one]
