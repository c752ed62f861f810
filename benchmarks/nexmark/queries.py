"""The queries, what they read, and the answer: DuckDB's over the same rows as one batch, with times in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import panes
from benchmarks.nexmark.generator import SCHEMAS

SLOT = "ts // 10000 * 10000 AS opens"
LAST_BIDS = "QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY ts DESC) = 1"


@dataclass(frozen=True)
class Query:
    """`sees` is what of the result is compared: all of it, but where the wall clock has a say."""

    name: str
    stream: str
    answer: str
    changes: bool = False  # the result is a changelog
    timed: bool = True  # by event time
    sees: str = "SELECT * FROM result"

    @property
    def sql(self) -> str:
        return (Path(__file__).parent / f"{self.name}.sql").read_text(encoding="utf-8")

    def declare(self, engine: panes.Engine, rows: Callable[[str], DataFrame]) -> None:
        """Register the stream; `rows` gives the DataFrame of one."""
        if self.stream == "winning":
            engine.stream("winning", rows("winning"), key=["id"], changelog=True, preimages="always")
        elif self.timed:
            engine.stream(self.stream, rows(self.stream), time="ts", watermark="0 seconds")
        else:
            engine.stream(self.stream, rows(self.stream))


def files(spark: SparkSession, folder: Path, files_per_batch: int) -> Callable[[str], DataFrame]:
    """Streams over the generator's files."""

    def rows(name: str) -> DataFrame:
        reader = spark.readStream.schema(SCHEMAS[name]).option("maxFilesPerTrigger", files_per_batch)
        return reader.parquet(str(folder / name))

    return rows


QUERIES = (
    Query(
        "q5",
        "bids",
        """SELECT auction, count(*) AS bids, opens
           FROM (SELECT auction, unnest(range(ts // 2000 * 2000 - 8000, ts + 1, 2000)) AS opens FROM bids)
           GROUP BY auction, opens QUALIFY rank() OVER (PARTITION BY opens ORDER BY count(*) DESC) = 1""",
    ),
    Query(
        "q7",
        "bids",
        f"""SELECT {SLOT}, max(price) AS price, arg_max(auction, price) AS auction, arg_max(bidder, price) AS bidder
            FROM bids GROUP BY opens""",
    ),
    Query("q8_persons", "persons", f"SELECT DISTINCT id, name, {SLOT} FROM persons"),
    Query("q8_sellers", "auctions", f"SELECT DISTINCT seller, {SLOT} FROM auctions"),
    Query(
        "q11",
        "bids",
        """SELECT bidder, count(*) AS bids, min(ts) AS opens
           FROM (SELECT *, sum(begins) OVER (PARTITION BY bidder ORDER BY ts) AS number
                 FROM (SELECT *, (ts - lag(ts, 1, 0) OVER (PARTITION BY bidder ORDER BY ts) > 10000)::INT AS begins
                       FROM bids))
           GROUP BY bidder, number""",
    ),
    Query(
        "q12",
        "bids",
        "SELECT bidder, count(*) AS bids FROM bids GROUP BY bidder",
        timed=False,
        sees="SELECT bidder, sum(bids)::BIGINT AS bids FROM result GROUP BY bidder",
    ),
    Query("q18", "bids", f"SELECT bidder, auction, price, ts FROM bids {LAST_BIDS}", changes=True),
    Query(
        "q19",
        "bids",
        """SELECT auction, bidder, price, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS place
           FROM bids QUALIFY place <= 10""",
        changes=True,
    ),
    Query(
        "q6",
        "winning",
        """SELECT id, seller,
                  avg(price) OVER (PARTITION BY seller ORDER BY ts ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS mean
           FROM winning""",
        changes=True,
    ),
)
