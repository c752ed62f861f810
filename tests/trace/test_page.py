"""The examples of a page: its declarations, its rows, its pictures."""

from __future__ import annotations

from panes.trace.page import examples_of

PAGE = """
# Title

```sql
CREATE STREAM t (k STRING, v INT);

SELECT k FROM t;
```

![not of an example with rows](no.svg)

```sql
SELECT k FROM (t;
```

```error
parse-error: nothing closes this (
```

```sql
CREATE VIEW w AS SELECT * FROM t;
SELECT v FROM w;
```

```input t
k | v
a | 1
b | NULL
---
---
c | 3
```

```output
v
```

![two rows, and a third](../pictures/two.svg)

```sql
SELECT k, v FROM w;
```

```input t
k | v
a | 1
```
"""


def test_examples_have_what_the_page_declares_before() -> None:
    first, second = examples_of(PAGE)
    assert first.script == "CREATE STREAM t (k STRING, v INT);\nCREATE VIEW w AS SELECT * FROM t;\nSELECT v FROM w;"
    assert first.given["t"].batches == (({"k": "a", "v": "1"}, {"k": "b", "v": None}), (), ({"k": "c", "v": "3"},))
    assert first.picture == "../pictures/two.svg"
    assert second.script.endswith("CREATE VIEW w AS SELECT * FROM t;\nSELECT k, v FROM w;")
    assert second.picture is None
    assert PAGE.split("\n")[first.line - 1] == "```sql"
