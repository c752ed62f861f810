"""A query without a Panes construct is Spark's: it goes there whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from panes.catalog import Column
from panes.logical.plan import DataSink, DataSource, Filter, Plan, Project, SparkQuery, has_panes_construct
from panes.logical.traits import traits
from panes.sql.template import escaped, quoted, table_reference


def hand_to_spark(plan: Plan) -> Plan:
    """`Project(Filter(DataSource))` becomes one SparkQuery.

    Not below a Panes construct: there a row that WHERE removes must still move the watermark, and Spark would push the
    condition below it. Not over a changelog: there a condition turns updates into inserts and deletes.
    """
    match plan:
        case DataSink(input=Project() | Filter() as query) if not has_panes_construct(query):
            known = traits(query)
            if known.changelog:
                return plan
            text = _text(query)
            columns = tuple(Column(one.name, one.type) for one in known.columns or ())
            return replace(
                plan, input=SparkQuery(text.sql, text.template, text.inputs, columns, keeps_state=text.keeps_state)
            )
        case _:
            return plan


@dataclass(frozen=True)
class Text:
    """A query as text, and what it reads; see SparkQuery."""

    sql: str
    template: str
    inputs: tuple[tuple[str, Plan], ...]
    keeps_state: bool = False

    def inside(self, before: str, after: str) -> Text:
        """This text between two others."""
        return replace(
            self, sql=f"{before}{self.sql}{after}", template=f"{escaped(before)}{self.template}{escaped(after)}"
        )


def _text(plan: Plan) -> Text:
    match plan:
        case Project(input=Filter(input=source, predicates=predicates), fields=fields):
            where = " AND ".join(f"({predicate.sql})" for predicate in predicates)
        case Project(input=source, fields=fields):
            where = ""
        case Filter(input=source, predicates=predicates):
            where = " AND ".join(f"({predicate.sql})" for predicate in predicates)
            fields = ()
        case _:
            return _leaf(plan).inside("SELECT * FROM ", "")
    listed = ", ".join(
        field.expr.sql if field.expr.column == field.name else f"{field.expr.sql} AS {quoted(field.name)}"
        for field in fields
        if not field.hidden
    )
    relation = _leaf(source) if isinstance(source, DataSource | SparkQuery) else _text(source).inside("(", ")")
    return relation.inside(f"SELECT {listed or '*'} FROM ", f" WHERE {where}" if where else "")


def _leaf(plan: Plan) -> Text:
    match plan:
        case DataSource(stream=stream):
            name = stream.name
            return Text(quoted(name), table_reference(name, name, aliased=False), ((name, plan),))
        case SparkQuery(sql=sql, template=template, inputs=inputs, keeps_state=keeps_state):
            return Text(f"({sql})", f"({template})", inputs, keeps_state)
        case _:
            raise AssertionError(f"{type(plan).__name__} is not a leaf")
