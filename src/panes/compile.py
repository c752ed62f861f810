"""The whole compiler on one page: text → tree → logical plan → physical plan."""

from __future__ import annotations

import json
from dataclasses import dataclass

from panes import explain as tables
from panes.catalog import Catalog
from panes.errors import PanesError
from panes.functions import Functions
from panes.logical import explain as logical_explain
from panes.logical import plan as logical
from panes.logical.bind import bind
from panes.logical.rules import optimise
from panes.physical import explain as physical_explain
from panes.physical import plan as physical
from panes.physical.lower import lower
from panes.sql.parser import allocator, deep, only_part, parse_statement
from panes.sql.placeholders import ColPlaceholderAllocator
from panes.sql.statements import Explain, InsertInto, Query, SelectStmt, SparkStmt


@dataclass(frozen=True)
class Compiled:
    """A query or INSERT in all its stages."""

    statement: Query | InsertInto
    logical: logical.DataSink
    physical: physical.DataSink

    def explain(self) -> tables.PlanText:
        """Both plans as tables."""
        logical_rows, physical_rows = logical_explain.rows(self.logical), physical_explain.rows(self.physical)
        return tables.PlanText.of({"logical plan": logical_rows, "physical plan": physical_rows})

    def explain_json(self) -> str:
        """Both plans as JSON."""
        return json.dumps(self.plans(), indent=2)

    def plans(self) -> dict[str, object]:
        """Both plans as plain data."""
        return {
            "logical": tables.document(logical_explain.rows(self.logical)),
            "physical": tables.document(physical_explain.rows(self.physical)),
        }


def compile_query(sql: str, catalog: Catalog, functions: Functions) -> Compiled:
    """Compile the text of one query or INSERT; an EXPLAIN before it is read over."""
    source = catalog.source(sql)

    def compiled() -> Compiled:
        part = only_part(source)
        names = allocator("\n".join([sql, *(view.sql for view in catalog.views)]), catalog.column_names())
        statement = parse_statement(part, functions, names)
        if isinstance(statement, Explain):
            statement = statement.statement
        if not isinstance(statement, SelectStmt | SparkStmt | InsertInto):
            hint = "SELECT …, or INSERT INTO sink SELECT …; scripts are run with engine.run."
            raise PanesError("parse-error", "a query is wanted here", part[0].span, hint)
        return compile_statement(statement, catalog, functions, names)

    return deep(source, compiled)


def compile_statement(
    statement: Query | InsertInto, catalog: Catalog, functions: Functions, names: ColPlaceholderAllocator
) -> Compiled:
    """A parsed query or INSERT through all stages."""
    plan = optimise(bind(statement, catalog, functions, names))
    assert isinstance(plan, logical.DataSink)
    return Compiled(statement, plan, lower(plan, functions))
