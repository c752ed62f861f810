"""Executes an example: its inputs as scripted micro-batches, on real Structured Streaming."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stream_options import options_of

from panes.catalog import CHANGE_TYPE
from panes.engine import Engine
from panes.script import steps
from panes.source import Source
from panes.sql.parser import script_parts
from panes.sql.tokens import span_of
from panes.testing import Stream, replay

from .page_runner import Batches, Input

CREATED = re.compile(r"CREATE\s+STREAM\s+(?P<name>\w+)", re.IGNORECASE)
NUMBERS = {"int": int, "bigint": int, "smallint": int, "tinyint": int, "double": float, "float": float}


def run_case(sql: str, inputs: Mapping[str, Input]) -> Batches:
    """What comes out of the last statement of a script, per micro-batch and at the flush."""
    source = Source(sql)
    *before, last = [span_of(part).text for part in script_parts(source)]

    def declare(engine: Engine) -> None:
        for statement in before:
            created = CREATED.match(statement)
            if created is not None and created["name"] in inputs:
                continue  # replay has it
            list(steps(statement, engine.catalog, engine.functions))

    streams: dict[str, Any] = {name: _stream(given) for name, given in inputs.items()}
    out = replay(last, setup=declare, **streams)
    return [[{name: _shown(value) for name, value in row.items()} for row in batch] for batch in out.batches]


def _stream(given: Input) -> Stream:
    declared = given.stream
    known = {CHANGE_TYPE: "string", **{column.name: column.type for column in declared.columns}}
    types = [known[name] for name in given.columns]
    schema = ", ".join(f"`{name}` {known[name]}" for name in given.columns if name != CHANGE_TYPE)
    batches = [
        [[_value(cell, type_) for cell, type_ in zip(row, types, strict=True)] for row in batch]
        for batch in given.batches
    ]
    options = dataclasses.replace(options_of(declared), heartbeat=None)  # replay has no wall clock
    return Stream(schema, batches, **options.keywords())


def _value(cell: str | None, type_: str | None) -> object:
    if cell is None:
        return None
    if type_ == "boolean":
        return cell.lower() == "true"
    return NUMBERS.get(type_ or "", str)(cell)


def _shown(value: object) -> object:
    """Times without what is zero at their end."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return value
