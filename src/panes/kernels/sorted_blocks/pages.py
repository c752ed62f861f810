"""The fences of blocks, in pages: what is not looked into stays closed.

    pages    [ a1 … c1 ] [ c2 … f7 ] [ f8 … k2 ]          one row each, all in one chunk
    opened   [ a1 … c1 ]  c2 … c3 | c4 … d2 | d3 …  [ f8 … k2 ]

The fences of an open page stand in its place. A closed page is as a block with many rows: who looks for the blocks that
matter asks the same of both, and opens the pages that are found. Only pages in which fences change are written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.sorted_blocks.ranges import Mask, Places, equal_parts, unbroken
from panes.kernels.sorted_blocks.sort_keys import beginnings, encoding

FENCES, PAGES = "fences", "pages"  # kinds of chunks: a page, and the rows of all pages, if there are several
NEW = ""  # the segment of blocks, and the page of fences, that are in none yet
MOST = 512  # fences in a page
ENCODING = b"sort keys"  # of the metadata

# The row keys of the ends, and how much of their beginning is the key of order and partition; and from which order key
# to which the RANGE frames of the rows reach, NULL if not beyond the ends.
ENDS = [
    *(("first_row", pa.binary()), ("first_order", pa.int32()), ("first_partition", pa.int32())),
    *(("last_row", pa.binary()), ("last_order", pa.int32()), ("last_partition", pa.int32())),
    *(("low", pa.binary()), ("high", pa.binary())),
]
# Where a block is, and its ends.
FENCE = pa.schema([("segment", pa.string()), ("start", pa.int64()), ("rows", pa.int64()), *ENDS])
# Which page it is, in which segments its blocks are and how many rows they have there, and its ends.
USES = [("segments", pa.list_(pa.string())), ("used", pa.list_(pa.int64()))]
PAGE = pa.schema([("page", pa.string()), ("rows", pa.int64()), *ENDS, *USES])
ENTRY = pa.schema([*FENCE, PAGE.field("page"), *USES])


@dataclass(frozen=True)
class Fences:
    """Entries in order, of blocks and of closed pages; those of a page that is closed are in no segment, but NULL."""

    entries: pa.Table = field(default_factory=ENTRY.empty_table)
    pages: Mapping[str, Chunk] = field(default_factory=dict)
    stale: frozenset[str] = frozenset({NEW})  # pages that are to be written

    @staticmethod
    def read(chunks: Iterable[Chunk], name: str = "") -> tuple[Fences, tuple[Chunk, ...], str]:
        """The fences, the chunks they are in, and the encoding of their keys. Checkpoints of format 1 have one page."""
        chunks = tuple(chunk for chunk in chunks if chunk.kind in (name + FENCES, name + PAGES))
        pages = {chunk.id: chunk for chunk in chunks if chunk.kind == name + FENCES}
        if not chunks:
            return Fences(), (), ""
        top = next((chunk.load() for chunk in chunks if chunk.kind == name + PAGES), None)
        if top is None:
            (page,) = pages.values()
            return Fences(_opened(page), pages), chunks, _encoding(page.load())
        return Fences(_as_entries(top), pages), chunks, _encoding(top)

    @staticmethod
    def of(fences: pa.Table) -> Fences:
        """Fences that are in no page yet."""
        return Fences(_as_entries(fences.append_column("page", pa.repeat(pa.scalar(NEW), fences.num_rows))))

    @cached_property
    def closed(self) -> Mask:
        """Which entries are closed pages."""
        found: Mask = self.entries["segment"].is_null().to_numpy()
        return found

    def opened(self, wanted: Mask) -> Fences:
        """With the fences of these pages in their place."""
        places = np.flatnonzero(wanted & self.closed).tolist()
        if not places:
            return self
        ids = self.entries["page"].take(pa.array(places)).to_pylist()
        parts, at = [], 0
        for place, id_ in zip(places, ids, strict=True):
            parts += [self.entries.slice(at, place - at), _opened(self.pages[id_])]
            at = place + 1
        return replace(self, entries=pa.concat_tables([*parts, self.entries.slice(at)]).combine_chunks())

    def replaced(self, dirty: Mask, new: pa.Table, places: Places) -> Fences:
        """Without the blocks that are dirty; new ones stand in the stead of those whose numbers are `places`."""
        kept = np.flatnonzero(~dirty)
        order = np.argsort(np.concatenate([kept, places]), kind="stable")
        own = self.entries["page"].take(pa.array(places)) if len(dirty) else pa.repeat(pa.scalar(NEW), len(places))
        both = [self.entries.take(pa.array(kept)), _as_entries(new.append_column("page", own))]
        entries = pa.concat_tables(both).take(pa.array(order)).combine_chunks()
        return replace(self, entries=entries, stale=self.stale | self._pages_of(pa.array(dirty)))

    def moved(self, blocks: pa.Array, segments: pa.Array, starts: Places) -> Fences:
        """With these blocks, a mask, in other segments."""
        entries = self.entries
        for name, column in (("segment", segments), ("start", pa.array(starts))):
            column = pc.replace_with_mask(entries[name].combine_chunks(), blocks, column)
            entries = entries.set_column(ENTRY.get_field_index(name), ENTRY.field(name), column)
        return replace(self, entries=entries, stale=self.stale | self._pages_of(blocks))

    def _pages_of(self, some: pa.Array) -> frozenset[str]:
        return frozenset(self.entries["page"].filter(some).unique().to_pylist())

    # ---- segments

    def in_use(self) -> dict[str, int]:
        """How many rows of each segment are in use."""
        sums = self._uses(np.arange(len(self.closed))).group_by("segment", use_threads=False)
        used = sums.aggregate([("rows", "sum")])
        return dict(zip(used["segment"].to_pylist(), used["rows_sum"].to_pylist(), strict=True))

    def opened_for(self, segments: Collection[str]) -> Fences:
        """With all pages open that have blocks in any of these segments."""
        uses = self._uses(np.arange(len(self.closed)))
        found = uses["number"].filter(pc.is_in(uses["segment"], pa.array(list(segments), pa.string())))
        return self.opened(np.isin(np.arange(len(self.closed)), found.to_numpy()))

    def _uses(self, numbers: Places) -> pa.Table:
        """In which segments each entry has rows, and how many; entries go by these numbers."""
        entries, names = self.entries, ["number", "segment", "rows"]
        blocks = ~self.closed
        lists = entries["segments"].combine_chunks()
        pages = np.repeat(numbers, pc.fill_null(pc.list_value_length(lists), 0).to_numpy())
        own = [pa.array(numbers[blocks]), *(entries[name].filter(pa.array(blocks)) for name in names[1:])]
        listed = [pa.array(pages), lists.flatten(), entries["used"].combine_chunks().flatten()]
        return pa.concat_tables([pa.table(own, names), pa.table(listed, names)])

    # ---- what is written

    def written(self, name: str) -> tuple[Chunk, ...]:
        """The chunks of fences; new ones of the pages that are stale, joined to others where few fences are left."""
        whole = self._with_neighbours()
        again = whole._again
        spans = equal_parts(unbroken(again), MOST)[0]
        begins = whole.closed | ~again & np.append(True, whole._apart)
        begins[spans.start] = True
        starts = np.flatnonzero(begins)
        pages: list[Chunk] = []
        ids = whole.entries["page"].take(pa.array(starts)).to_pylist()
        for at, (start, stop) in enumerate(zip(starts.tolist(), [*starts[1:].tolist(), len(begins)], strict=True)):
            if again[start]:
                pages.append(new_chunk(_page(whole.entries.slice(start, stop - start)), None, name + FENCES))
                ids[at] = pages[-1].id
            else:
                pages.append(whole.pages[ids[at]])
        if len(pages) < 2:
            return tuple(pages)
        return (*pages, new_chunk(whole._summaries(starts, ids), None, name + PAGES))

    @property
    def _again(self) -> Mask:
        """The entries of pages that are written."""
        found: Mask = pc.is_in(self.entries["page"], pa.array(sorted(self.stale))).to_numpy()
        return found

    @property
    def _apart(self) -> Mask:
        """For all entries but the first whether the one before is in another page."""
        page = self.entries["page"].combine_chunks()
        found: Mask = pc.not_equal(page.slice(1), page.slice(0, len(page) - 1)).to_numpy(zero_copy_only=False)
        return found

    def _with_neighbours(self) -> Fences:
        """With a page beside each run of stale ones that have few fences, to be one with them."""
        runs = unbroken(self._again)
        few = runs.stop - runs.start < MOST // 4
        beside = np.where(runs.start > 0, runs.start - 1, runs.stop)[few]
        wanted = np.isin(np.arange(len(self.closed)), beside)
        return replace(self, stale=self.stale | self._pages_of(pa.array(wanted))).opened(wanted)

    def _summaries(self, starts: Places, ids: list[str]) -> pa.Table:
        """A row for each page, which begin at these entries."""
        entries, lengths = self.entries, np.diff(starts, append=len(self.closed))
        number = np.repeat(np.arange(len(starts)), lengths)
        uses = self._uses(number).group_by(["number", "segment"], use_threads=False).aggregate([("rows", "sum")])
        uses = uses.sort_by("number")
        offsets = pa.array(np.searchsorted(uses["number"].to_numpy(), np.arange(len(starts) + 1)), pa.int32())
        lists = [pa.ListArray.from_arrays(offsets, _whole(uses[name])) for name in ("segment", "rows_sum")]
        ends = {
            name: entries[name].take(pa.array(starts if name.startswith("first") else starts + lengths - 1))
            for name, _ in ENDS[:6]
        }
        low, high = self._reach(number, ends)
        rows = np.add.reduceat(entries["rows"].to_numpy(), starts)
        columns = {"page": ids, "rows": rows, **ends, "low": low, "high": high, "segments": lists[0], "used": lists[1]}
        return pa.table(columns, PAGE).replace_schema_metadata({ENCODING: encoding()})

    def _reach(self, number: Places, ends: Mapping[str, pa.ChunkedArray]) -> tuple[pa.Array, pa.Array]:
        """How far the RANGE frames of a page reach, NULL if not beyond its ends."""
        reach = self.entries.select(["low", "high"]).append_column("number", pa.array(number))
        found = reach.group_by("number", use_threads=False).aggregate([("low", "min"), ("high", "max")])
        low, high = _whole(found["low_min"]), _whole(found["high_max"])
        first, last = (
            beginnings(_whole(ends[f"{end}_row"]), _whole(ends[f"{end}_order"])) for end in ("first", "last")
        )
        none = pa.nulls(len(low), pa.binary())
        return pc.if_else(pc.less(low, first), low, none), pc.if_else(pc.greater(high, last), high, none)


def _as_entries(rows: pa.Table) -> pa.Table:
    """Fences or pages as entries."""
    none = [pa.nulls(rows.num_rows, one.type) for one in ENTRY]
    columns = [rows[one.name] if one.name in rows.column_names else none[at] for at, one in enumerate(ENTRY)]
    return pa.table(columns, ENTRY.names).cast(ENTRY).combine_chunks()


def _opened(page: Chunk) -> pa.Table:
    fences = page.load()
    return _as_entries(fences.append_column("page", pa.repeat(pa.scalar(page.id), fences.num_rows)))


def _page(entries: pa.Table) -> pa.Table:
    """Entries of blocks as they are kept."""
    fences = entries.select(FENCE.names)
    return fences.set_column(
        0, "segment", fences["segment"].combine_chunks().dictionary_encode()
    ).replace_schema_metadata({ENCODING: encoding()})


def _encoding(fences: pa.Table) -> str:
    return str((fences.schema.metadata or {}).get(ENCODING, b"").decode())


def _whole(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined
