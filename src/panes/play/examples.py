"""What the page begins with, and the other examples that it offers: one for each kind of query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from panes.play.document import Document, PlayRow, StreamRows

DAY = "2024-01-01"


@dataclass(frozen=True)
class Example:
    """A document under a name, and what it shows."""

    name: str
    about: str
    document: Document


def rows_of(name: str, text: str) -> StreamRows:
    """Rows as a line of names and lines of cells; `---` stands between micro-batches, and times are of one day.

    >>> rows_of("t", "at k\\n12:00:01 a\\n---\\n- b").rows[1]
    PlayRow(batch=1, values={'at': None, 'k': 'b'})
    """
    header, *lines = [line.split() for line in text.strip().splitlines()]
    return StreamRows(name, tuple(_rows(header, lines)))


def _rows(names: list[str], lines: list[list[str]]) -> Iterator[PlayRow]:
    batch = 0
    for cells in lines:
        if cells == ["---"]:
            batch += 1
            continue
        yield PlayRow(batch, {name: _cell(cell) for name, cell in zip(names, cells, strict=True)})


def _cell(text: str) -> str | None:
    if text == "-":
        return None
    return f"{DAY} {text}" if text.count(":") == 2 else text


VISITS = """\
CREATE STREAM visits (
  who STRING, event STRING, amount INT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 10 SECONDS,
  PRIMARY KEY (who)
);

-- From a login to the next logout, for each user on its own.
SELECT who, count(*) AS events, sum(amount) AS spent,
       window_start() AS login, window_end() AS logout
FROM visits
GROUP BY statewindow(event = 'login', event = 'logout')
         OVER (PARTITION BY who);
"""

VISIT_ROWS = """
at       who event  amount
12:00:02 ann login  -
12:00:05 bob login  -
12:00:09 ann buy    20
---
12:00:07 bob buy    5
12:00:16 ann logout -
12:00:18 cat login  -
---
12:00:24 bob buy    12
12:00:31 bob logout -
12:00:26 cat buy    8
---
12:00:36 ann login  -
12:00:19 cat buy    99
12:00:44 cat logout -
---
12:00:52 ann buy    30
12:00:58 ann logout -
"""

CLICKS = """\
CREATE STREAM clicks (
  page STRING, n INT, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 5 SECONDS,
  PRIMARY KEY (page)
);

"""

CLICK_ROWS = """
at       page n
12:00:01 home 1
12:00:04 shop 2
12:00:08 home 3
---
12:00:13 shop 1
12:00:06 home 4
12:00:17 home 2
---
12:00:26 shop 5
12:00:05 home 9
12:00:29 home 1
---
12:00:38 home 2
12:00:41 shop 3
"""


def _clicks(name: str, about: str, query: str) -> Example:
    return Example(name, about, Document(CLICKS + query, (rows_of("clicks", CLICK_ROWS),)))


EXAMPLES = (
    Example(
        "State window",
        "from one event to another, for each user; one row comes too late",
        Document(VISITS, (rows_of("visits", VISIT_ROWS),)),
    ),
    _clicks(
        "Tumbling window",
        "sums of ten seconds each",
        "SELECT page, sum(n) AS clicks, window_start() AS since\n"
        "FROM clicks\nGROUP BY tumblingwindow('ss', 10), page;\n",
    ),
    _clicks(
        "Hopping window",
        "the last twenty seconds, every ten",
        "SELECT page, sum(n) AS clicks, window_end() AS until\n"
        "FROM clicks\nGROUP BY hoppingwindow('ss', 20, 10), page;\n",
    ),
    _clicks(
        "Session window",
        "rows that follow each other within eight seconds",
        "SELECT page, count(*) AS n, window_start() AS first, window_end() AS last\n"
        "FROM clicks\nGROUP BY sessionwindow('ss', 8), page;\n",
    ),
    _clicks(
        "Count window",
        "every two rows of a page",
        "SELECT page, sum(n) AS clicks\nFROM clicks\nGROUP BY countwindow(2) OVER (PARTITION BY page);\n",
    ),
    _clicks(
        "Sliding window",
        "for each row the ten seconds before it",
        "SELECT page, sum(n) AS clicks, window_end() AS until\n"
        "FROM clicks\nGROUP BY slidingwindow('ss', 10) OVER (PARTITION BY page);\n",
    ),
    _clicks(
        "As changes",
        "sums that are right at every moment, as a changelog",
        "SELECT page, sum(n) AS clicks\nFROM clicks\nGROUP BY tumblingwindow('ss', 20), page\nEMIT CHANGES;\n",
    ),
    _clicks(
        "lag and running sums",
        "the row before, and all so far, in the order of time",
        "SELECT page, at, n, lag(n) OVER (PARTITION BY page) AS before,\n"
        "       acc_sum(n) OVER (PARTITION BY page) AS so_far\nFROM clicks;\n",
    ),
    _clicks(
        "OVER with a frame",
        "the sum of a row and the two before it, whatever order they came in",
        "SELECT page, at, n,\n       sum(n) OVER (PARTITION BY page ORDER BY at ROWS 2 PRECEDING) AS last_three\n"
        "FROM clicks;\n",
    ),
)
FIRST = EXAMPLES[0].document
