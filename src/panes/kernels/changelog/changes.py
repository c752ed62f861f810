"""Changes: what turns one result into the next, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.kernels.duck import query, quoted, same

CHANGE = "_change_type"
INSERT, DELETE = "insert", "delete"
BEFORE, AFTER = "update_preimage", "update_postimage"


def difference(old: pa.Table, new: pa.Table, by: Sequence[str]) -> pa.Table:
    """The changes from `old` to `new`, rows identified by the columns `by`; equal rows are silent.

    An update is a pair, the preimage directly before the postimage.
    """
    names = [name for name in new.column_names if name not in by]
    one_row = same(by, "o", "n")
    differs = " OR ".join(f"o.{quoted(name)} IS DISTINCT FROM n.{quoted(name)}" for name in names) or "false"
    columns = ", ".join(quoted(name) for name in new.column_names)
    sides = ", ".join(
        f"o.{quoted(name)} AS {quoted('o ' + name)}, n.{quoted(name)} AS {quoted('n ' + name)}"
        for name in new.column_names
    )
    before = ", ".join(f"{quoted('o ' + name)} AS {quoted(name)}" for name in new.column_names)
    after = ", ".join(f"{quoted('n ' + name)} AS {quoted(name)}" for name in new.column_names)
    return query(
        f"""
        WITH changed AS MATERIALIZED (
            SELECT row_number() OVER () AS pair, o.was, n.is_now, {sides}
            FROM (SELECT true AS was, * FROM old) o FULL JOIN (SELECT true AS is_now, * FROM new) n ON {one_row}
            WHERE o.was IS NULL OR n.is_now IS NULL OR {differs}
        )
        SELECT {columns}, {CHANGE} FROM (
            SELECT pair, 0 AS side, CASE WHEN is_now THEN '{BEFORE}' ELSE '{DELETE}' END AS {CHANGE}, {before}
            FROM changed WHERE was
            UNION ALL
            SELECT pair, 1 AS side, CASE WHEN was THEN '{AFTER}' ELSE '{INSERT}' END AS {CHANGE}, {after}
            FROM changed WHERE is_now
        ) ORDER BY pair, side
        """,
        old=old,
        new=new,
    )
