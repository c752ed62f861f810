"""Debezium's envelopes: each record is a change of a table, or a pair of them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from panes.catalog import Stream
from panes.connectors.kafka import KafkaSource, value_columns
from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE, DELETE, INSERT
from panes.spark.malformed import ERROR, judgement
from panes.spark.text_values import VALUE, ddl, decode_json

OPERATIONS = ("c", "r", "u", "d")  # create, read by a snapshot, update, delete


def decode_debezium(records: DataFrame, source: KafkaSource, stream: Stream) -> DataFrame:
    """The operation and both rows of each envelope; the tombstone that follows a delete, for Kafka alone, is left out.

    An envelope stands alone, or in `payload` beside its schema.
    """
    row = f"struct<{ddl(value_columns(stream))}>"
    envelope = f"before: {row}, after: {row}, op: string"
    schema = f"before {row}, after {row}, op string, payload struct<{envelope}>"
    parsed = decode_json(records.where(f"{VALUE} IS NOT NULL"), schema, source.parser)
    plain = parsed.selectExpr(
        *records.columns,
        f"{ERROR} AS panes_not_json",
        "nvl(payload.op, op) AS panes_op",
        "nvl(payload.before, before) AS panes_before",
        "nvl(payload.after, after) AS panes_after",
    )
    known = f"panes_op IN ({', '.join(map(repr, OPERATIONS))})"
    whole = "CASE panes_op WHEN 'd' THEN panes_before ELSE panes_after END IS NOT NULL"
    broken = f"panes_not_json IS NOT NULL OR NOT (nvl({known}, false) AND {whole})"
    return plain.selectExpr("*", judgement(broken, "a change of debezium"))


def changes(envelopes: DataFrame) -> DataFrame:
    """A row for each change, with `_change_type`. Without `before`, an update is its new row only."""
    kept = [name for name in envelopes.columns if name not in ("panes_op", "panes_before", "panes_after")]
    pair = f"struct('{BEFORE}' AS {CHANGE}, panes_before AS r), struct('{AFTER}' AS {CHANGE}, panes_after AS r)"
    exploded = envelopes.selectExpr(
        *kept,
        f"""inline(CASE
            WHEN panes_op = 'd' THEN array(struct('{DELETE}' AS {CHANGE}, panes_before AS r))
            WHEN panes_op = 'u' AND panes_before IS NOT NULL THEN array({pair})
            WHEN panes_op = 'u' THEN array(struct('{AFTER}' AS {CHANGE}, panes_after AS r))
            ELSE array(struct('{INSERT}' AS {CHANGE}, panes_after AS r)) END)""",
    )
    return exploded.selectExpr(*kept, CHANGE, "r.*")
