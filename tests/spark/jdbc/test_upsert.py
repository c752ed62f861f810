"""The SQL for databases that no test starts."""

from panes.connectors.jdbc import DIALECTS, JdbcSink
from panes.spark.jdbc.upsert import staging_table, statements


def test_sql_server() -> None:
    sink = JdbcSink(DIALECTS["sqlserver"], "dbo.t")
    delete, merge = statements(sink, "dbo.s", ["ID", "v"], ["id"])
    same = 's."ID" = dbo.t."ID"'
    assert delete == (
        f'DELETE FROM dbo.t WHERE EXISTS (SELECT 1 FROM dbo.s s WHERE {same} AND s."panes_deleted" = 1) '
        f'AND NOT EXISTS (SELECT 1 FROM dbo.s s WHERE {same} AND s."panes_deleted" = 0)'
    )
    assert merge == (
        'MERGE INTO dbo.t t USING (SELECT "ID", "v" FROM dbo.s WHERE "panes_deleted" = 0) n ON (t."ID" = n."ID") '
        'WHEN MATCHED THEN UPDATE SET "v" = n."v" WHEN NOT MATCHED THEN INSERT ("ID", "v") VALUES (n."ID", n."v");'
    )


def test_a_staging_table_has_the_types_of_the_table() -> None:
    select = 'SELECT s."ID", CAST(0 AS DECIMAL(19)) AS "panes_row"'
    deleted = ', CAST(0 AS INTEGER) AS "panes_deleted"'
    nothing = "FROM a.t t LEFT JOIN a.t s ON 1 = 0 WHERE 1 = 0"
    for name in ("postgresql", "h2", "oracle"):
        sink = JdbcSink(DIALECTS[name], "a.t")
        assert staging_table(sink, "a.x", ["ID"], applied=False) == f"CREATE TABLE a.x AS {select} {nothing}"
        assert staging_table(sink, "a.x", ["ID"], applied=True) == f"CREATE TABLE a.x AS {select}{deleted} {nothing}"
    sink = JdbcSink(DIALECTS["sqlserver"], "a.t")
    assert staging_table(sink, "a.x", ["ID"], applied=False) == f"{select} INTO a.x {nothing}"


def test_a_result_that_is_all_key() -> None:
    for name, words in (("oracle", "WHEN NOT MATCHED"), ("postgresql", "DO NOTHING")):
        _, upsert = statements(JdbcSink(DIALECTS[name], "t"), "s", ["id"], ["id"])
        assert words in upsert
        assert "UPDATE" not in upsert
