"""The index of keys is a dictionary: any sequence of puts leaves what a dict holds, and small keys read few blocks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.kernel import Chunk
from panes.kernels.sorted_blocks.key_index import KeyIndex

INDEX = KeyIndex(("id", "part"), ("id", "part", "o"), size=4)
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("o", pa.int64())])
Key = tuple[int | None, str | None]


def table(rows: dict[Key, int | None]) -> pa.Table:
    return pa.Table.from_pylist([{"id": id_, "part": part, "o": o} for (id_, part), o in rows.items()], SCHEMA)


def found(chunks: tuple[Chunk, ...], keys: list[Key]) -> dict[Key, int | None]:
    rows = INDEX.find(INDEX.read(chunks), table(dict.fromkeys(keys))).to_pylist()
    assert len(rows) == len({(row["id"], row["part"]) for row in rows})
    return {(row["id"], row["part"]): row["o"] for row in rows}


def any_key(random: Random) -> Key:
    return random.choice([None, *range(9)]), random.choice([None, "a", "b"])


@given(st.integers(0, 2**32), st.lists(st.integers(1, 12), max_size=12))
def test_it_is_a_dictionary(seed: int, sizes: list[int]) -> None:
    random = Random(seed)
    everything = [(id_, part) for id_ in (None, *range(9)) for part in (None, "a", "b")]
    known: dict[Key, int | None] = {}
    chunks: tuple[Chunk, ...] = ()
    for size in sizes:
        touched = {any_key(random) for _ in range(size)}
        gone = {key for key in touched if random.random() < 0.5}
        changed = {key: random.choice([None, 1, 2]) for key in touched - gone}
        chunks = INDEX.put(INDEX.read(chunks), table(changed), table(dict.fromkeys(gone)))
        known = {key: o for key, o in known.items() if key not in gone} | changed
        assert found(chunks, everything) == known
        some = random.sample(everything, 5)
        assert found(chunks, some) == {key: known[key] for key in some if key in known}
        assert INDEX.read(chunks).sizes.sum() == len(known)
        assert len(known) <= sum(chunk.rows for chunk in chunks if "segment" in chunk.kind) <= 2 * len(known)


def test_keys_side_by_side_read_few_blocks() -> None:
    index = replace(INDEX, size=100)
    chunks = index.put(index.read(()), table({(id_, "a"): id_ for id_ in range(10_000)}), table({}))
    read: list[str] = []

    def load(chunk: Chunk) -> pa.Table:
        read.append(chunk.id)
        return chunk.load()

    counted = tuple(replace(chunk, load=partial(load, chunk)) for chunk in chunks)
    index.find(index.read(counted), table({(id_, "a"): 0 for id_ in range(500, 600)}))
    assert len(read) <= 3
