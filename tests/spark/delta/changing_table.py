"""A Delta table that changes, a script that follows it with OVER into two others, and what must be in them then."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

Ranked = dict[int, tuple[str, int, int]]


@dataclass(frozen=True)
class Pipeline:
    """Folders of a pipeline: `table` is read; `board` is merged into, `news` gets every change as a row."""

    folder: Path

    @property
    def script(self) -> str:
        query = "SELECT id, shop, v, rank() OVER (PARTITION BY shop ORDER BY v DESC) AS place FROM t"
        return f"""
            CREATE STREAM t (id BIGINT, shop STRING, v BIGINT, PRIMARY KEY (id))
            WITH (connector = 'delta', path = '{self.folder}/table', changelog = 'true', starting_version = '0',
                  max_versions_per_trigger = '2');
            CREATE SINK board WITH (connector = 'delta', path = '{self.folder}/board', create = 'true');
            CREATE SINK news WITH (connector = 'delta', path = '{self.folder}/news', create = 'true',
                                   changelog = 'rows');
            INSERT INTO board {query};
            INSERT INTO news {query};
        """

    def make(self) -> None:
        """A first version with rows, of which there are no changes."""
        ids = list(range(20))
        rows = pa.table({"id": ids, "shop": [f"s{id_ % 4}" for id_ in ids], "v": [id_ * 7 % 10 for id_ in ids]})
        feed = {"delta.enableChangeDataFeed": "true"}
        write_deltalake(str(self.folder / "table"), rows, configuration=feed)

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
            merge = DeltaTable(str(self.folder / "table")).merge(source, "t.id = s.id", "s", "t")
            merge = merge.when_matched_delete("s.gone").when_matched_update(values)
            merge.when_not_matched_insert(values, "NOT s.gone").execute()

    def expected(self) -> Ranked:
        """The definition: a row's place is one more than the rows of its shop that are above it."""
        rows = DeltaTable(str(self.folder / "table")).to_pyarrow_table().to_pylist()
        shops = [(row["shop"], row["v"]) for row in rows]
        return {
            row["id"]: (row["shop"], row["v"], 1 + sum(shop == row["shop"] and v > row["v"] for shop, v in shops))
            for row in rows
        }

    def check(self) -> None:
        """Both tables hold the result, and no micro-batch is in one twice."""
        board = DeltaTable(str(self.folder / "board")).to_pyarrow_table().to_pylist()
        assert len({row["id"] for row in board}) == len(board)
        assert {row["id"]: (row["shop"], row["v"], row["place"]) for row in board} == self.expected()
        left: Counter[tuple[int, str, int, int]] = Counter()
        for row in DeltaTable(str(self.folder / "news")).to_pyarrow_table().to_pylist():
            comes = row.pop("_change_type") in ("insert", "update_postimage")
            left[row["id"], row["shop"], row["v"], row["place"]] += 1 if comes else -1
        assert {row: n for row, n in left.items() if n} == {(id_, *rest): 1 for id_, rest in self.expected().items()}
        for name in ("board", "news"):
            commits = self.commits(name)
            assert len(set(commits)) == len(commits)

    def commits(self, name: str) -> list[tuple[str, int]]:
        """The sink and micro-batch of each commit of a table."""
        logs = sorted((self.folder / name / "_delta_log").glob("[0-9]*.json"))
        actions = [json.loads(line) for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
        return [(one["txn"]["appId"], one["txn"]["version"]) for one in actions if "txn" in one]
