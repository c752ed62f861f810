"""What Spark says of a query whose store is full or forbidden."""

import errno
from pathlib import Path

import pytest

from panes.spark.store_errors import full_or_forbidden, refused_by_system

JAVA = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed: org.apache.hadoop.fs.FSError: java.io.IOException: "
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{JAVA}No space left on device\n\tat java.base/java.io.FileOutputStream", "No space left on device (here)"),
        ("java.io.FileNotFoundException: /x/1.delta (Permission denied)", "/x/1.delta (Permission denied) (here)"),
        ("OSError: [Errno 28] No space left on device", "[Errno 28] No space left on device (here)"),
        ("java.io.IOException: Mkdirs failed to create file:/x/y", "Mkdirs failed to create file:/x/y (here)"),
    ],
)
def test_one_line_is_left(text: str, said: str) -> None:
    found = full_or_forbidden(f"[STREAM_FAILED] Query terminated\n{text}\n\tat org.apache.spark", " (here)")
    assert found is not None
    assert (found.code, found.message) == ("store-failed", said)
    assert found.hint


def test_any_other_failure_is_left_alone() -> None:
    assert full_or_forbidden("java.lang.IllegalStateException: something else", "") is None


def test_what_the_system_refuses_has_a_way_out() -> None:
    found = refused_by_system(Path("/x"), OSError(errno.EROFS, "Read-only file system"))
    assert (found.code, found.message) == ("store-failed", "/x: Read-only file system")
    assert found.hint
