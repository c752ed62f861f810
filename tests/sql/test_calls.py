"""Function calls among tokens: found, read, and replaced from the inside out."""

import pytest
from present import present

from panes.errors import PanesError
from panes.source import Source
from panes.sql.calls import Call, calls_in, find_call, parse_call, rewrite_calls
from panes.sql.text import text_of
from panes.sql.tokens import Token, name_token, tokenize


def tokens(sql: str) -> tuple[Token, ...]:
    return tokenize(Source(sql))


def call(sql: str) -> Call:
    found = tokens(sql)
    place = find_call(found, 0)
    assert place is not None and place.end == len(found) - 1
    return parse_call(found, place)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("f(a)", ["f"]),
        ("F(g(a), H())", ["f", "g", "h"]),
        ("`f`(a) + f (b)", ["f", "f"]),
        ("s.f(a)", []),
        ("a LIKE ANY ('x', 'y')", []),
        ("a NOT LIKE f(b)", ["f"]),
        ("f", []),
        ("(a)", []),
        ("'f' (a)", []),
        ("r'f' (a)", []),
        ("sum(a) FILTER (WHERE g(b)) OVER (PARTITION BY h(c))", ["sum", "g", "h"]),
        ("last(a) IGNORE NULLS FILTER (WHERE b)", ["last"]),
        ("filter(arr, x -> x > g(a))", ["filter", "g"]),
        ("CASE WHEN f(a) THEN g(b) END", ["f", "g"]),
        ("f(a)[g(b)].c", ["f", "g"]),
    ],
)
def test_calls_in(sql: str, names: list[str]) -> None:
    found = [place.name for place in calls_in(tokens(sql)) if place.name != "over"]
    assert found == names


@pytest.mark.parametrize(
    ("sql", "length"),
    [
        ("f(a) + 1", "f(a)"),
        ("f(a) IGNORE NULLS + 1", "f(a) IGNORE NULLS"),
        ("f(a) FILTER (WHERE b) OVER (PARTITION BY c) + 1", "f(a) FILTER (WHERE b) OVER (PARTITION BY c)"),
        ("f(a) RESPECT NULLS OVER w + 1", "f(a) RESPECT NULLS OVER w"),
        ("f(a) filter", "f(a)"),
        ("f(a) AS over", "f(a)"),
    ],
)
def test_a_call_ends_after_its_clauses(sql: str, length: str) -> None:
    found = tokens(sql)
    place = find_call(found, 0)
    assert text_of(found[: present(place).end + 1]) == length


def test_every_part_of_a_call() -> None:
    read = call("Lag(DISTINCT a + 1, 2) IGNORE NULLS FILTER (WHERE b > 0) OVER (PARTITION BY c)")
    assert read.name == "lag"
    assert [arg.sql for arg in read.args] == ["a + 1", "2"]
    assert (read.distinct, read.ignore_nulls, present(read.filter).sql) == (True, True, "b > 0")
    assert [key.sql for key in present(read.over).partition_by] == ["c"]
    assert present(read.span).text.startswith("Lag(DISTINCT")
    assert read.sql == "lag(DISTINCT a + 1, 2) IGNORE NULLS FILTER (WHERE b > 0)"


@pytest.mark.parametrize(
    ("sql", "distinct", "args"),
    [("f()", False, []), ("f(*)", False, ["*"]), ("f(distinct)", False, ["distinct"]), ("f(DISTINCT a)", True, ["a"])],
)
def test_arguments(sql: str, distinct: bool, args: list[str]) -> None:
    read = call(sql)
    assert (read.distinct, [arg.sql for arg in read.args]) == (distinct, args)


def test_calls_are_equal_without_case_and_space() -> None:
    assert call("LAG( a,1 )") == call("lag(A, 1)")
    assert call("lag(a) FILTER (WHERE b)") != call("lag(a)")
    assert call("lag('A')") != call("lag('a')")


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("f(a,)", "a"),
        ("f(,a)", ","),
        ("f(a) FILTER (WHERE b) FILTER (WHERE c)", "FILTER"),
        ("f(a) FILTER (WHERE)", "FILTER"),
        ("f(a) IGNORE NULLS RESPECT NULLS", "RESPECT"),
    ],
)
def test_calls_that_are_refused(sql: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        call(sql)
    assert (caught.value.code, present(caught.value.span).text) == ("parse-error", place)


def test_inner_calls_are_replaced_first() -> None:
    seen = []

    def replace(one: Call) -> Token:
        seen.append(one.sql)
        return name_token(f"p{len(seen)}", present(one.span))

    wanted = {"f", "g"}
    rewritten = rewrite_calls(tokens("h(f(g(a), 1)) + k(g(a))"), lambda _, place: place.name in wanted, replace)
    assert text_of(rewritten) == "h(p2) + k(p3)"
    assert seen == ["g(a)", "f(p1, 1)", "g(a)"]


def test_filter_and_over_are_rewritten_too() -> None:
    seen = []

    def replace(one: Call) -> Token:
        seen.append(one)
        return name_token("p", present(one.span))

    sql = "f(a) FILTER (WHERE f(b)) OVER (PARTITION BY f(c))"
    assert text_of(rewrite_calls(tokens(sql), lambda _, place: place.name == "f", replace)) == "p"
    outer = seen[-1]
    assert (present(outer.filter).sql, present(outer.over).partition_by[0].sql) == ("p", "p")
