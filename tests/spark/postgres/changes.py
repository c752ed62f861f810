"""Changes of a table as Debezium tells them, a query that ranks its rows, and what comes of it by definition."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from spark.postgres.tables import Tables

Record = tuple[str, str | None]


@dataclass
class Changing:
    """A table of a source: `change` makes the records of so many changes."""

    choose: random.Random
    keys: int
    rows: dict[int, tuple[str, int]] = field(default_factory=dict)

    def change(self, times: int) -> list[Record]:
        return [record for _ in range(times) for record in self._one()]

    def _one(self) -> Sequence[Record]:
        id_ = self.choose.randrange(self.keys)
        before = _row(id_, self.rows[id_]) if id_ in self.rows else None
        if before is not None and self.choose.random() < 0.2:
            del self.rows[id_]
            return [(str(id_), json.dumps({"op": "d", "before": before, "after": None})), (str(id_), None)]
        self.rows[id_] = self.choose.choice(["a", "b", "c"]), self.choose.randrange(50)
        op = "c" if before is None else "u"
        return [(str(id_), json.dumps({"op": op, "before": before, "after": _row(id_, self.rows[id_])}))]

    def board(self) -> dict[int, tuple[str, int, int]]:
        """The definition of the query: each row's place among those of its shop."""
        return {
            id_: (shop, v, 1 + sum(other == shop and more > v for other, more in self.rows.values()))
            for id_, (shop, v) in self.rows.items()
        }


def _row(id_: int, row: tuple[str, int]) -> dict[str, object]:
    return {"id": id_, "shop": row[0], "v": row[1]}


def script(kafka: str, topic: str, db: Tables, per_batch: int) -> str:
    return f"""
        CREATE STREAM t (id INT, shop STRING, v INT, place BIGINT METADATA FROM 'offset', PRIMARY KEY (id))
        WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = '{topic}', format = 'debezium-json',
              starting_offsets = 'earliest', max_offsets_per_trigger = '{per_batch}', sequence = 'place');
        CREATE SINK board WITH ({db.options("board, create = 'true'")});
        INSERT INTO board
        SELECT id, shop, v, rank() OVER (PARTITION BY shop ORDER BY v DESC) AS place FROM t EMIT CHANGES;
    """


def held(db: Tables) -> dict[int, tuple[str, int, int]]:
    return {id_: (shop, v, place) for id_, shop, v, place in db.sql("SELECT id, shop, v, place FROM board")}
