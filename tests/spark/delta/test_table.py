"""What a store says when a table cannot be reached: all of it, in one line, without secrets. No Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError
from pyspark.sql.types import LongType, StructField, StructType

from panes.connectors.delta import DeltaSource
from panes.errors import PanesError
from panes.spark.delta.reader import Changes, DataFile, Reading, Versions
from panes.spark.delta.staging import Stage, clean_up
from panes.spark.delta.table import exists, failures_of, open_table
from panes.spark.memory import Memory

AT = "s3://bucket/t"
WORD = "correct-horse-battery"
# A store that lets nobody in, and tells with which secret it was asked. It is a process of its own, since delta-rs may
# hold Python's lock while it waits.
STORE = f"""
from http.server import BaseHTTPRequestHandler, HTTPServer

NO = b"<Error><Code>AccessDenied</Code>\\n<Message>{WORD} opens nothing</Message></Error>"

class Refusing(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(403)
        self.send_header("Content-Length", str(len(NO)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(NO)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Refusing)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def storage() -> Iterator[dict[str, str]]:
    process = subprocess.Popen([sys.executable, "-c", STORE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(process.stdout.readline())}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": WORD,
        "max_retries": "0",
    }
    process.kill()
    process.wait()
    process.stdout.close()


def versions(storage: dict[str, str]) -> Versions:
    source = DeltaSource(AT, storage=storage)
    return Versions(Reading(source, True, ("id",), Memory(1 << 30, 1)), StructType([StructField("id", LongType())]))


def staged(storage: dict[str, str]) -> None:
    rows = pa.record_batch({"id": [1]})
    list(Stage(AT, storage, "x-0-y", rows.schema, ("id",))(iter([rows])))


ASKED: dict[str, Callable[[dict[str, str]], object]] = {
    "opened": lambda storage: open_table(AT, storage),
    "looked for": lambda storage: exists(AT, storage),
    "begun": lambda storage: versions(storage).initialOffset(),
    "planned": lambda storage: list(versions(storage)._commits(0, 1)),
    "a file": lambda storage: list(versions(storage).read(DataFile(0, "a.parquet"))),
    "changes": lambda storage: list(versions(storage).read(Changes(1))),
    "staged": staged,
    "cleaned up": lambda storage: clean_up(AT, storage, "sink", 7),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_store_that_lets_nobody_in(storage: dict[str, str], ask: Callable[[dict[str, str]], object]) -> None:
    with pytest.raises(PanesError) as caught:
        ask(storage)
    told = caught.value.message
    assert caught.value.code == "delta-failed"
    assert "Forbidden" in told or "403" in told or "AccessDenied" in told
    assert not any(letter in told for letter in "\n\x1b↳")
    assert WORD not in str(caught.value)


def test_causes_are_told_in_their_order() -> None:
    told = "Generic S3 error\n    \x1b[31m↳\x1b[0m Error performing GET\n     \x1b[31m↳\x1b[0m Connection refused\n"
    with pytest.raises(PanesError) as caught, failures_of(AT, {}):
        raise OSError(told)
    assert caught.value.message == f"the Delta table {AT}: Generic S3 error: Error performing GET: Connection refused"


def test_without_causes_the_first_line_is_told() -> None:
    with pytest.raises(PanesError) as caught, failures_of(AT, {}):
        raise DeltaError("no such column\n  stack backtrace:\n  0: x\n")
    assert caught.value.message == f"the Delta table {AT}: no such column"


def test_a_disk_that_is_full() -> None:
    with pytest.raises(PanesError) as caught, failures_of("/lake/t", {}):
        raise OSError("Generic LocalFileSystem error\n  ↳ Unable to copy\n  ↳ No space left on device (os error 28)")
    assert caught.value.code == "store-failed"
    assert "No space left on device (os error 28) (the Delta table /lake/t)" in caught.value.message
    assert "Make room" in (caught.value.hint or "")
