"""Rows of an auction site, the same every time: of 50 events one is a person, three are auctions, 46 are bids.

An event comes every millisecond, so that no two have the same time. Half of the bids go to a few hot auctions, and no
two bids have the same price.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

START = 1_704_067_200_000_000
MILLISECOND = 1_000
CYCLE, PERSONS, AUCTIONS = 50, 1, 3
HOT = 20  # one of so many auctions is hot
OPEN = 100  # auctions that are bid for at a time
Longs = npt.NDArray[np.int64]

SCHEMAS = {
    "persons": "id long, name string, ts timestamp",
    "auctions": "id long, seller long, category long, ts timestamp",
    "bids": "auction long, bidder long, price long, ts timestamp",
    "winning": "id long, seller long, price long, ts timestamp, _change_type string",
}


def tables(events: int) -> dict[str, pa.Table]:
    """The rows of each stream, in the order of time."""
    random = np.random.default_rng(7)
    number = np.arange(events, dtype=np.int64)
    place = number % CYCLE
    of_person, of_auction = place < PERSONS, (place >= PERSONS) & (place < PERSONS + AUCTIONS)
    persons = np.cumsum(of_person, dtype=np.int64)  # so many there are at each event
    auctions = np.cumsum(of_auction, dtype=np.int64)
    ids = np.arange(of_person.sum())
    known = persons[of_auction]
    made = {
        "persons": pa.table(
            {"id": ids, "name": [f"person {one}" for one in ids], "ts": _times(number[of_person])},
        ),
        "auctions": pa.table(
            {
                "id": np.arange(of_auction.sum()),
                "seller": _recent(random, known, 1),
                "category": random.integers(10, 15, len(known)),
                "ts": _times(number[of_auction]),
            }
        ),
    }
    of_bid = ~of_person & ~of_auction & (auctions > 0)
    made["bids"] = _bids(random, number[of_bid], auctions[of_bid], persons[of_bid])
    made["winning"] = _winning(made["bids"], made["auctions"])
    return made


def _times(numbers: Longs) -> pa.Array:
    return pa.array(START + numbers * MILLISECOND, pa.timestamp("us", "UTC"))


def _recent(random: np.random.Generator, known: Longs, every: int) -> Longs:
    """One of the last ones that are known, at each event; of them only multiples of `every`."""
    back = random.integers(0, OPEN, len(known))
    found: Longs = np.maximum(known - 1 - back, 0) // every * every
    return found


def _bids(random: np.random.Generator, number: Longs, auctions: Longs, persons: Longs) -> pa.Table:
    hot = random.random(len(number)) < 0.5
    price = random.permutation(len(number)).astype(np.int64) + 100
    return pa.table(
        {
            "auction": np.where(hot, _recent(random, auctions, HOT), _recent(random, auctions, 1)),
            "bidder": _recent(random, persons, 1),
            "price": price,
            "ts": _times(number),
        }
    )


def _winning(bids: pa.Table, auctions: pa.Table) -> pa.Table:
    """The highest bid of each auction, as a changelog: a higher one replaces it."""
    auction, price = bids["auction"].to_numpy(), bids["price"].to_numpy()
    highest: dict[int, int] = {}
    ids: list[int] = []
    prices: list[int] = []
    kinds: list[str] = []
    for one, bid in zip(auction.tolist(), price.tolist(), strict=True):
        before = highest.get(one)
        if before is None:
            ids.append(one)
            prices.append(bid)
            kinds.append("insert")
        elif bid > before:
            ids += [one, one]
            prices += [before, bid]
            kinds += ["update_preimage", "update_postimage"]
        else:
            continue
        highest[one] = bid
    taken = auctions.take(pa.array(ids, pa.int64()))
    return pa.table(
        {"id": taken["id"], "seller": taken["seller"], "price": prices, "ts": taken["ts"], "_change_type": kinds}
    )


def write(events: int, files: int, folder: Path) -> None:
    """So many Parquet files for each stream."""
    for name, rows in tables(events).items():
        at = folder / name
        at.mkdir(parents=True)
        each = -(-rows.num_rows // files // 2) * 2  # an update stays in one file
        for number, first in enumerate(range(0, rows.num_rows, each)):
            file = at / f"{number:03}.parquet"
            pq.write_table(rows.slice(first, each), file)
            os.utime(file, (number + 1, number + 1))
