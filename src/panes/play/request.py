"""What a request asks, read from JSON that anybody may have written: what is not as it has to be is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from panes.play.document import Cell, Document, PlayRow, StreamRows

MOST_BYTES = 4 * 1024**2
MOST_ROWS = 2000
MOST_BATCHES = 200
MOST_TEXT = 200_000


M = TypeVar("M", bound=Enum)


class RefusedError(ValueError):
    """A request that is not what it has to be."""


class Way(Enum):
    """How a query is run beside the plain way."""

    PLAIN = "plain"
    KILL = "kill"
    SHARDS = "shards"


class Arrangement(Enum):
    """How the same rows may come otherwise."""

    CUT = "cut"
    SHUFFLE = "shuffle"


@dataclass(frozen=True)
class RunRequest:
    """Run a document; `compare` asks for the batch beside it."""

    document: Document
    way: Way = Way.PLAIN
    compare: bool = False
    seed: int = 0


@dataclass(frozen=True)
class ArrangeRequest:
    """Bring a document's rows in another arrangement."""

    document: Document
    arrangement: Arrangement
    seed: int = 0


def read_json(body: bytes) -> Mapping[str, Any]:
    """A body that is an object of JSON."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError("the request is not JSON") from None
    return _object(found, "the request")


def run_request(asked: Mapping[str, Any]) -> RunRequest:
    way = _member(Way, asked.get("way", "plain"), "way")
    compare = asked.get("compare", False)
    if not isinstance(compare, bool):
        raise RefusedError("compare is true or false")
    return RunRequest(document_of(asked), way, compare, _seed(asked))


def arrange_request(asked: Mapping[str, Any]) -> ArrangeRequest:
    return ArrangeRequest(
        document_of(asked), _member(Arrangement, asked.get("arrangement"), "arrangement"), _seed(asked)
    )


def opened_text(asked: Mapping[str, Any]) -> str:
    """The text of a file that the user opens in the page."""
    return _text(asked.get("text"), "text")


def document_of(asked: Mapping[str, Any]) -> Document:
    """The document of a request."""
    given = _object(asked.get("document"), "document")
    streams = tuple(_streams(_list(given.get("streams", []), "streams")))
    if sum(len(one.rows) for one in streams) > MOST_ROWS:
        raise RefusedError(f"there are more than {MOST_ROWS} rows")
    query = given.get("query")
    return Document(_text(given.get("sql"), "sql"), streams, None if query is None else _count(query, "query"))


def _streams(given: Sequence[Any]) -> Iterator[StreamRows]:
    seen: set[str] = set()
    for one in given:
        stream = _object(one, "stream")
        name = _text(stream.get("name"), "name")
        if name.lower() in seen:
            raise RefusedError(f"the stream {name} comes twice")
        seen.add(name.lower())
        rows = [_row(_object(row, "row")) for row in _list(stream.get("rows", []), "rows")]
        yield StreamRows(name, tuple(sorted(rows, key=lambda row: row.batch)))


def _row(row: Mapping[str, Any]) -> PlayRow:
    values = _object(row.get("values", {}), "values")
    batch = _count(row.get("batch"), "batch")
    if batch >= MOST_BATCHES:
        raise RefusedError(f"there are more than {MOST_BATCHES} micro-batches")
    return PlayRow(batch, {name: _cell(value) for name, value in values.items()})


def _cell(value: Any) -> Cell:
    return None if value is None else _text(value, "cell")


def _seed(asked: Mapping[str, Any]) -> int:
    return _count(asked.get("seed", 0), "seed")


def _member(kind: type[M], value: Any, what: str) -> M:
    try:
        return kind(value)
    except ValueError:
        raise RefusedError(f"{what} is one of {', '.join(str(one.value) for one in kind)}") from None


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RefusedError(f"{what} is not an object")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise RefusedError(f"{what} is not a list")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise RefusedError(f"{what} is not a text of at most {MOST_TEXT} letters")
    return value


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise RefusedError(f"{what} is not a number from 0")
    return value
