"""A query without a Panes construct is Spark's: it goes there whole."""

from __future__ import annotations

from dataclasses import replace

from panes.catalog import Column
from panes.logical.plan import DataSink, DataSource, Filter, Plan, Project, SparkQuery, has_panes_construct
from panes.logical.traits import traits


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
            inputs: dict[str, Plan] = {}
            sql = _sql(query, inputs)
            columns = tuple(Column(one.name, one.type) for one in known.columns or ())
            return replace(plan, input=SparkQuery(sql, tuple(inputs.items()), columns))
        case _:
            return plan


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _sql(plan: Plan, inputs: dict[str, Plan]) -> str:
    """The query as text; each leaf is read under a name of its own."""
    match plan:
        case Project(input=Filter(input=source, predicates=predicates), fields=fields):
            where = " AND ".join(f"({predicate.sql})" for predicate in predicates)
        case Project(input=source, fields=fields):
            where = ""
        case Filter(input=source, predicates=predicates):
            where = " AND ".join(f"({predicate.sql})" for predicate in predicates)
            fields = ()
        case _:
            return f"SELECT * FROM {_leaf(plan, inputs)}"
    listed = ", ".join(
        field.expr.sql if field.expr.column == field.name else f"{field.expr.sql} AS {quoted(field.name)}"
        for field in fields
        if not field.hidden
    )
    relation = _leaf(source, inputs) if isinstance(source, DataSource | SparkQuery) else f"({_sql(source, inputs)})"
    return f"SELECT {listed or '*'} FROM {relation}" + (f" WHERE {where}" if where else "")


def _leaf(plan: Plan, inputs: dict[str, Plan]) -> str:
    match plan:
        case DataSource(stream=stream):
            inputs[stream.name] = plan
            return quoted(stream.name)
        case SparkQuery(sql=sql, inputs=inner):
            inputs.update(inner)
            return f"({sql})"
        case _:
            raise AssertionError(f"{type(plan).__name__} is not a leaf")
