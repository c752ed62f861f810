"""The SQL for databases that no test starts."""

from panes.connectors.jdbc import DIALECTS, JdbcSink
from panes.spark.jdbc.upsert import statements


def test_sql_server() -> None:
    sink = JdbcSink(DIALECTS["sqlserver"], "dbo.t")
    delete, merge = statements(sink, "dbo.s", {"ID": "id", "v": "v"}, ["id"])
    same = 's."id" = dbo.t."ID"'
    assert delete == (
        f'DELETE FROM dbo.t WHERE EXISTS (SELECT 1 FROM dbo.s s WHERE {same} AND s."panes_deleted" = 1) '
        f'AND NOT EXISTS (SELECT 1 FROM dbo.s s WHERE {same} AND s."panes_deleted" = 0)'
    )
    assert merge == (
        'MERGE INTO dbo.t t USING (SELECT "id", "v" FROM dbo.s WHERE "panes_deleted" = 0) n ON (t."ID" = n."id") '
        'WHEN MATCHED THEN UPDATE SET "v" = n."v" WHEN NOT MATCHED THEN INSERT ("ID", "v") VALUES (n."id", n."v");'
    )


def test_a_result_that_is_all_key() -> None:
    for name, words in (("oracle", "WHEN NOT MATCHED"), ("postgresql", "DO NOTHING")):
        _, upsert = statements(JdbcSink(DIALECTS[name], "t"), "s", {"id": "id"}, ["id"])
        assert words in upsert
        assert "UPDATE" not in upsert
