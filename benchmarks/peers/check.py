"""Whether a peer's result is right: equal to DuckDB's answer over the same files, floats to 1e-9 relative."""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.peers.data import CHANGES, END
from benchmarks.peers.workloads import Workload

CHANGE = "_change_type"  # a changelog: what it adds up to counts
ORDER = "_order"  # rows that replace the ones before them with the same key: the last of each counts
STAMP = "stamped"  # when the result came, in nanoseconds since 1970
WEIGHT = f"CASE WHEN {CHANGE} IN ('insert', 'update_postimage') THEN 1 ELSE -1 END"


def answer(workload: Workload, rows: Path, folder: Path) -> Path:
    """DuckDB's answer, as a file that is made once."""
    at = folder / f"{workload.name}-{rows.name}.parquet"
    if not at.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as db:
            db.execute(f"CREATE VIEW rows AS {_rows(workload, rows)}")
            db.execute(f"COPY ({workload.answer}) TO '{at}' (FORMAT parquet)")
    return at


def _rows(workload: Workload, rows: Path) -> str:
    source = f"read_parquet('{rows}/*.parquet')"
    if workload.rows == CHANGES:
        return f"SELECT id, k, v FROM {source} GROUP BY id, k, v HAVING sum({WEIGHT}) = 1"
    return f"SELECT epoch_ms(ts) AS ts, k, v FROM {source} WHERE k <> {END}"


def fault(workload: Workload, result: Path, expected: Path) -> str | None:
    """What is wrong with a result; None if nothing is."""
    written = files(result)
    if not written:
        return "there is no result"
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.execute(f"CREATE VIEW expected AS SELECT * FROM read_parquet('{expected}')")
        types = columns(db, "expected")
        db.execute(f"CREATE VIEW written AS SELECT * FROM read_parquet({written})")
        missing = types.keys() - columns(db, "written").keys()
        if missing:
            return f"the result has no column {', '.join(sorted(missing))}"
        db.execute(f"CREATE TABLE result AS {_result(db, workload, list(types))}")
        same = " AND ".join([f"result.{name} = expected.{name}" for name in workload.key])
        wrong = " OR ".join(_differs(name, kind) for name, kind in types.items() if name not in workload.key)
        counts = "SELECT (SELECT count(*) FROM result), (SELECT count(*) FROM expected), "
        keys = ", ".join(f"result.{name}" for name in workload.key)
        found, wanted, matched, unequal = db.sql(
            f"{counts} count(DISTINCT ({keys})), count(*) FILTER (WHERE {wrong}) FROM result JOIN expected ON {same}"
        ).fetchall()[0]
    if (found, matched) != (wanted, wanted):
        return f"{found:,} results instead of {wanted:,}, of which {matched:,} are among the expected"
    return f"{unequal:,} of {wanted:,} results have other values" if unequal else None


def files(result: Path) -> list[str]:
    """Files with rows in them; Spark and Flink name their own bookkeeping with a dot or an underscore in front."""
    hidden = (".", "_")
    found = (
        path for path in result.rglob("*") if path.is_file() and path.relative_to(result).parts[0][0] not in hidden
    )
    return sorted(str(path) for path in found if not path.name.startswith(hidden))


def columns(db: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    return {row[0]: row[1] for row in db.sql(f"DESCRIBE {name}").fetchall()}


def _result(db: duckdb.DuckDBPyConnection, workload: Workload, names: list[str]) -> str:
    """The result as it stands in the end, with times in milliseconds and without the last row."""
    types = columns(db, "written")
    listed = ", ".join(
        f"epoch_ms({name}::TIMESTAMPTZ) AS {name}" if types[name].startswith("TIMESTAMP") else name for name in names
    )
    source = f"SELECT {listed}"
    key = ", ".join(workload.key)
    if CHANGE in types:
        every = ", ".join(names)
        source = f"{source}, {WEIGHT} AS weight FROM written"
        return f"SELECT {every} FROM ({source}) WHERE k <> {END} GROUP BY ALL HAVING sum(weight) <> 0"
    if ORDER in types:
        last = f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {ORDER} DESC) = 1"
        return f"SELECT * EXCLUDE ({ORDER}) FROM ({source}, {ORDER} FROM written) WHERE k <> {END} {last}"
    return f"SELECT * FROM ({source} FROM written) WHERE k <> {END}"


def _differs(name: str, kind: str) -> str:
    one, other = f"result.{name}", f"expected.{name}"
    if kind != "DOUBLE":
        return f"{one} IS DISTINCT FROM {other}"
    near = f"abs({one} - {other}) <= 1e-9 * greatest(abs({one}), abs({other}))"
    return f"NOT (({one} IS NULL AND {other} IS NULL) OR coalesce({near}, false))"
