"""A lambda's parameters are no columns: calls inside it read the stream's rows, and no key takes their place."""

import pytest
from planning import bound, fields

from panes.logical.grouping import put_keys
from panes.logical.plan import Field
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("transform(arr, a -> a + b)", ["arr", "b"]),
        ("transform(arr, a -> a + A + `A`)", ["arr"]),
        ("transform(a, a -> a) + a", ["a", "a"]),
        ("transform(arr, (a) -> a)", ["arr"]),
        ("aggregate(arr, b, (s, x) -> s + x + v, s -> s * a)", ["arr", "b", "v", "a"]),
        ("transform(arr, x -> transform(x, y -> x + y + z))", ["arr", "z"]),
        ("transform(arr, x -> transform(x, y -> y) + y)", ["arr", "y"]),
        ("transform(arr, x -> x.f.g + t.x)", ["arr", "t.x"]),
        ("map_filter(m, (k, v) -> k > v)", ["m"]),
        ("named_struct('a', b).a", ["b"]),
        ("from_json(b, 'a INT', allowed => c)", ["b", "c"]),
    ],
)
def test_columns_of_an_expression(sql: str, columns: list[str]) -> None:
    assert [".".join(ref.parts) for ref in Expr(tokenize(Source(sql))).columns] == columns


def selected(items: str, rest: str = "") -> list[str]:
    return [one.partition(" -> `")[0] for one in fields(bound(f"SELECT {items} FROM t {rest}"))]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("transform(array(1), x -> x + lag(a)) AS o", "transform(array(1), x -> x + col_1) -> o"),
        ("transform(array(1), x -> x + lag(t.a)) AS o", "transform(array(1), x -> x + col_1) -> o"),
        ("transform(array(1), a -> a + lag(t.a)) AS o", "transform(array(1), a -> a + col_1) -> o"),
        (
            "transform(array(1), a -> lag(exists(array(b), a -> a > 1))) AS o",
            "transform(array(1), a -> col_1) -> o",
        ),
        ("transform(array(1), t -> t.a) AS o", "transform(array(1), t -> t.a) -> o"),
        ("transform(array(1), col_1 -> col_1 + lag(a)) AS o", "transform(array(1), col_1 -> col_1 + col_2) -> o"),
        (
            "aggregate(array(1), 0, (s, x) -> s + x + lag(a)) AS o",
            "aggregate(array(1), 0, (s, x) -> s + x + col_1) -> o",
        ),
        (
            "transform(array(1), x -> x + sum(a) OVER (ORDER BY ts)) AS o",
            "transform(array(1), x -> x + col_1) -> o",
        ),
    ],
)
def test_calls_inside_a_lambda_read_rows(items: str, expected: str) -> None:
    assert selected(items) == [expected]


def test_aggregates_inside_a_lambda() -> None:
    window = "GROUP BY tumblingwindow('ss', 10)"
    assert selected("transform(collect_list(v), x -> x - avg(v)) AS o", window) == [
        "transform(col_1, x -> x - col_2) -> o"
    ]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("transform(array(1), a -> a + 1) AS o", "transform(array(1), a -> a + 1) -> o"),
        ("transform(array(1), x -> x + (a + 1)) AS o", "transform(array(1), x -> x + (col_2)) -> o"),
        ("transform(array(1), A -> a + 1) AS o", "transform(array(1), A -> a + 1) -> o"),
        ("transform(array(1), b -> b) AS o", "transform(array(1), b -> b) -> o"),
    ],
)
def test_keys_are_not_put_in_the_place_of_parameters(item: str, expected: str) -> None:
    assert selected(f"count(*), {item}", "GROUP BY tumblingwindow('ss', 10), a + 1")[1] == expected


def test_a_field_is_not_taken_for_a_key() -> None:
    """`s.x` is a key; in `r.s.x` it is the field of another struct."""
    key, other = (Expr(tokenize(Source(sql))) for sql in ("s.x", "r.s.x + s.x"))
    assert put_keys(other, [Field(key, "col_1")]).sql == "r.s.x + col_1"
