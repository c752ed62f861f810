"""Each micro-batch once: what a table says about a sink, as a transaction of Delta's with its id and a number.

Both engines write the same transaction, so that a checkpoint may go from one to the other.
"""

from __future__ import annotations

from panes.errors import PanesError

ATTEMPTS = 20  # at a commit, when others commit as well
BEHIND = "Its checkpoint was replaced, or another query has the same id. Begin with another id and an empty table."


def has_batch(last: int | None, batch: int, id: str, path: str) -> bool:
    """Whether a micro-batch is in a table whose last one is `last`. One before it cannot come: Spark repeats the last.

    >>> has_batch(None, 0, "a", "t"), has_batch(6, 7, "a", "t"), has_batch(7, 7, "a", "t")
    (False, False, True)
    """
    if last is not None and last > batch:
        text = f"{path} has micro-batch {last} of the sink {id} already, and this is {batch}"
        raise PanesError("state-mismatch", text, None, BEHIND)
    return last == batch


def never_committed(path: str, batch: int) -> PanesError:
    text = f"micro-batch {batch} could not be committed to {path}: others always were faster"
    return PanesError("delta-failed", text, None, "Restart it when fewer write to the table.")
