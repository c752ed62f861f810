"""Answers, as JSON has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from panes.catalog import Stream
from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.taken import BOUNDS, WINDOWS
from panes.play.cells import CellFault, columns_of, faults, text_of
from panes.play.comparing import Comparison, Result
from panes.play.document import Document, PlayRow, StreamRows
from panes.play.request import RefusedError
from panes.play.running import CellError, Outcome
from panes.play.script import place_of, script_of
from panes.trace import to_json
from panes.trace.model import Trace

Answer = dict[str, Any]


def checked(document: Document) -> Answer:
    """What is understood of a document: its streams and queries, and what is wrong with it."""
    script = script_of(document.sql)
    wrong = [one for stream in script.streams for one in faults(stream, document.rows_of(stream.name))]
    return {
        "streams": [_stream(stream) for stream in script.streams],
        "queries": [{"line": query.line, "reads": list(query.reads)} for query in script.queries],
        "words": list(script.words),
        "error": _error(script.error, document.sql) if script.error is not None else None,
        "cells": [_fault(one) for one in wrong],
    }


def _stream(stream: Stream) -> Answer:
    columns = [{"name": one.name, "type": one.type or "string"} for one in columns_of(stream)]
    return {"name": stream.name, "columns": columns, "time": stream.time, "delay": stream.delay}


def _fault(fault: CellFault) -> Answer:
    return {"stream": fault.stream, "row": fault.row, "column": fault.column, "message": fault.message}


def failed(error: Exception, text: str, in_short: Callable[[BaseException], str]) -> Answer:
    """What went wrong in a run of a script."""
    match error:
        case CellError(faults=found):
            first = found[0]
            where = f"{first.stream}, row {first.row + 1}, {first.column}"
            return {"error": {"message": f"{where}: {first.message}"}, "cells": [_fault(one) for one in found]}
        case PanesError():
            return {"error": _error(error, text)}
        case RefusedError():
            return {"error": {"message": str(error)}}
        case _:
            return {"error": {"message": in_short(error)}}


def _error(error: PanesError, text: str) -> Answer:
    place = place_of(error, text)
    found: Answer = {"code": error.code, "message": error.message, "hint": error.hint}
    return found if place is None else {**found, "start": place[0], "end": place[1]}


def outcome(found: Outcome, drawn: Mapping[str, str], seconds: float) -> Answer:
    """What became of the rows, its picture for each theme, and the comparison."""
    compare = _comparison(found.comparison) if found.comparison is not None else None
    return {"answer": {**traced(found.trace, drawn), "comparison": compare, "seconds": round(seconds, 2)}}


def traced(trace: Trace, drawn: Mapping[str, str]) -> Answer:
    """A trace with its pictures; `file` is the text of a .panes.json file."""
    text = to_json(trace)
    return {"trace": json.loads(text), "file": text, "pictures": dict(drawn)}


def _comparison(found: Comparison) -> Answer:
    return {
        "what": found.what,
        "rows": found.rows,
        "same": found.same,
        "leftOut": found.left_out,
        "onlyStream": _rows(found.only_stream),
        "onlyBatch": _rows(found.only_batch),
    }


def _rows(rows: Iterable[Result]) -> list[dict[str, str | None]]:
    return [{name: text_of(value) for name, value in row.items()} for row in rows]


def document_of_trace(trace: Trace) -> Document:
    """The script and the rows of a trace, to go on from."""
    streams = [
        StreamRows(
            stream.name,
            tuple(
                PlayRow(row.step, {n: text_of(v) for n, v in zip(stream.columns, row.values, strict=True)})
                for row in stream.rows
            ),
        )
        for stream in trace.streams
    ]
    return Document(trace.sql, tuple(streams))


def words() -> Answer:
    """What the editor colours, and completes."""
    functions = Functions()
    calls = {*functions.stateful.names(), *functions.aggregates, *functions.over, *WINDOWS, *BOUNDS}
    return {"calls": sorted(calls)}
