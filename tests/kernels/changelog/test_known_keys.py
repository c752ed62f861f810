"""What is known of keys is a dictionary from which tombstones go after the ttl, at what they cost themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from random import Random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.changelog.known_keys import APPLIED, COUNT, FORMER_FACT, KEPT, SEQUENCE, THERE, KnownKeys
from panes.kernels.kernel import Chunk, State, numbered_chunks
from panes.kernels.sorted_blocks.former_index import FORMER
from panes.kernels.sorted_blocks.sort_keys import Sorting

from ..harness import restarted
from ..sorted_blocks.format_1 import former_chunks

TTL = 10
KEYS = KnownKeys(("id", "part"), ("id", "part", "v", THERE, KEPT, SEQUENCE, APPLIED), TTL)
Key = tuple[int | None, str | None]
EVERYTHING: list[Key] = [(id_, part) for id_ in (None, *range(9)) for part in (None, "a", "b")]


@dataclass(frozen=True)
class Known:
    value: int | None
    there: bool
    at: int


def table(rows: dict[Key, Known]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([id_ for id_, _ in rows], pa.int64()),
            "part": pa.array([part for _, part in rows], pa.string()),
            "v": pa.array([one.value for one in rows.values()], pa.int64()),
            THERE: pa.array([one.there for one in rows.values()], pa.bool_()),
            KEPT: pa.array([one.there for one in rows.values()], pa.bool_()),
            SEQUENCE: pa.array([one.at for one in rows.values()], pa.int64()),
            APPLIED: pa.array([one.at for one in rows.values()], pa.int64()),
        }
    )


def keys(some: list[Key]) -> pa.Table:
    return table(dict.fromkeys(some, Known(None, False, 0)))


def found(state: State, some: list[Key]) -> dict[Key, Known]:
    rows = KEYS.find(state.chunks, keys(some)).to_pylist()
    assert len(rows) == len({(row["id"], row["part"]) for row in rows})
    return {(row["id"], row["part"]): Known(row["v"], row[THERE], row[APPLIED]) for row in rows}


def changed(random: Random, at: int, most: int) -> dict[Key, Known]:
    some = {random.choice(EVERYTHING) for _ in range(random.randint(1, most))}
    return {key: Known(random.choice([None, 1, 2]), random.random() < 0.5, at) for key in sorted(some, key=str)}


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.lists(st.integers(0, TTL), max_size=12), st.booleans())
def test_it_is_a_dictionary_from_which_tombstones_expire(seed: int, waits: list[int], restarts: bool) -> None:
    random, now, state = Random(seed), 0, State()
    known: dict[Key, Known] = {}
    for wait in waits:
        now += wait
        new = changed(random, now, 12)
        rest = sorted(set(known) - set(new), key=str)
        gone = random.sample(rest, min(len(rest), random.choice([0, 0, 1])))
        expired = {key for key in rest if not known[key].there and now - known[key].at > TTL}
        gone = [key for key in gone if key not in expired]
        added = len(set(new) - set(known))
        state = KEYS.put(KEYS.read(state), table(new), keys(gone), added, now)
        state = restarted(state) if restarts else state
        known = {key: one for key, one in known.items() if key not in {*gone, *expired}} | new
        assert found(state, EVERYTHING) == known
        some = random.sample(EVERYTHING, 5)
        assert found(state, some) == {key: known[key] for key in some if key in known}
        assert KEYS.count(state) == len(known)


def test_without_a_ttl_tombstones_stay() -> None:
    forever = replace(KEYS, state_ttl=None)
    state = forever.put(State(), table({(1, "a"): Known(None, False, 0)}), keys([]), 1, 0)
    state = forever.put(state, table({(2, "a"): Known(1, True, 10**9)}), keys([]), 1, 10**9)
    assert set(found(state, EVERYTHING)) == {(1, "a"), (2, "a")}
    assert {chunk.kind.partition(" ")[0] for chunk in state.chunks} == {"keys"}


def test_what_expires_is_found_by_its_time() -> None:
    """Of a thousand tombstones one expires: neither are the others looked at, nor the keys."""
    state = KEYS.put(State(), table({(1, None): Known(None, False, 0)}), keys([]), 1, 0)
    state = KEYS.put(state, table({(key, "a"): Known(None, False, 5) for key in range(1000)}), keys([]), 1000, 5)
    rows: list[int] = []

    def load(chunk: Chunk) -> pa.Table:
        rows.append(chunk.rows)
        return chunk.load()

    counted = tuple(replace(chunk, load=partial(load, chunk)) for chunk in state.chunks if chunk.kind == "tombstones")
    others = [chunk for chunk in state.chunks if chunk.kind != "tombstones"]
    after = KEYS.put(State((*others, *counted), state.facts), keys([]), keys([]), 0, TTL + 1)
    assert rows == [1]
    assert KEYS.count(after) == 1000


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_keys_of_format_1_are_read_once_and_kept_otherwise(seed: int) -> None:
    known = changed(Random(seed), 0, 20)
    chunks = former_chunks(table(known), Sorting((), (), ("id", "part")), 4, FORMER)
    old = State(chunks, {FORMER_FACT: 3, "other": 1})
    assert KEYS.count(old) == len(known)
    with numbered_chunks(3):
        state = KEYS.read(old)
        assert found(state, EVERYTHING) == known
        assert state.facts == {"other": 1, COUNT: len(known)}
        assert KEYS.read(state) == state
        later = KEYS.put(state, keys([]), keys([]), 0, TTL + 1)
        assert found(later, EVERYTHING) == {key: one for key, one in known.items() if one.there}
