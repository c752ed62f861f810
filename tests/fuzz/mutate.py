"""Real queries made wrong: tokens and characters deleted, doubled, swapped, put in; two queries spliced."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_PIECES = re.compile(r"\w+|\s+|'[^']*'|.", re.DOTALL)

TOKENS = tuple(
    "SELECT FROM WHERE GROUP BY HAVING WINDOW QUALIFY EMIT CHANGES IMMEDIATELY ON CLOSE OVER PARTITION "
    "ORDER WHEN FILTER IGNORE RESPECT NULLS ROWS RANGE BETWEEN AND OR NOT UNBOUNDED PRECEDING CURRENT ROW "
    "FOLLOWING CASE THEN ELSE END AS DISTINCT ALL EXCEPT WITH RECURSIVE UNION JOIN LATERAL VIEW PIVOT "
    "LIMIT OFFSET INTERVAL DATE NULL TRUE IN LIKE IS EXISTS CREATE STREAM SINK DROP SHOW DESCRIBE EXPLAIN "
    "FORMAT JSON INSERT INTO IF REPLACE PRIMARY KEY WATERMARK FOR VALUES BEGIN CALL FETCH SET USE lag sum "
    "count row_number lead tumblingwindow statewindow slidingwindow countwindow window_start window_end "
    "window_trigger users clicks orders hot totals out user_id a ts col_1 ( ) [ ] { } < > , ; . .. * + - "
    "/ % = <> != <=> == :: : -> => || && | & ^ ~ ! ? @ # $ \\ ' \" ` -- /* */ /*+ {{ }} {% %} {# #} ${x} @v "
    ":p ? 0 1 10 -1 1.5 .5 1. 1e400 1e-400 0x1F 10L 5S 3Y 2.5BD 99999999999999999999 'ss' \"mi\" '' x'0' "
    "r'\\d' N'n' TIMESTAMP'x' `` `a b` a.b.c *".split(" ")
)
CHARACTERS = (
    "\0", "\t", "\n", "\r", "\r\n", "\x0b", "\x1a", "\x7f", "\x85", "\xa0", "\u200b", "\u2028", "\ufeff", "\u0301",
    "é", "İ", "ß", "\u017f", "ﬁ", "Ω", "漢", "字", "٣", "²", "½", "\U0001f600", "\U0001d4d0", "\U000e0041", "\udc80",
    "\u2018", "\u201c", "\uff0c", "\uff08", "\uff1b", "\u2212", "…",
    "'", '"', "`", "\\", "/", "*", "-", "(", ")", "[", "]", "{", "}", ";",
)  # fmt: skip


def mutated(sql: str, other: str, random: Random) -> str:
    """`sql` after one to five mutations; `other` is what it may be spliced with."""
    for _ in range(random.choice((1, 1, 1, 1, 1, 2, 3, 5))):
        sql = random.choice(MUTATIONS)(sql, other, random)
    return sql


def _on_pieces(change: Callable[[list[str], int, Random], None]) -> Callable[[str, str, Random], str]:
    def mutation(sql: str, other: str, random: Random) -> str:
        pieces = _PIECES.findall(sql)
        if pieces:
            change(pieces, random.randrange(len(pieces)), random)
        return "".join(pieces)

    return mutation


def _delete(pieces: list[str], at: int, random: Random) -> None:
    del pieces[at : at + random.choice((1, 1, 2, 5))]


def _double(pieces: list[str], at: int, random: Random) -> None:
    size, times = random.choice((1, 2, 3, 6)), random.choice((1, 1, 2, 30))
    pieces[at:at] = pieces[at : at + size] * times


def _swap(pieces: list[str], at: int, random: Random) -> None:
    other = random.randrange(len(pieces))
    pieces[at], pieces[other] = pieces[other], pieces[at]


def _insert(pieces: list[str], at: int, random: Random) -> None:
    space = random.choice(("", " "))
    pieces.insert(at, space + random.choice(TOKENS) + space)


def _replace(pieces: list[str], at: int, random: Random) -> None:
    pieces[at] = random.choice(TOKENS)


def _exchange(pieces: list[str], at: int, random: Random) -> None:
    """A word for another word, a number for another number: often still a statement, with another meaning."""
    alike = str.isdigit if pieces[at].isdigit() else str.isidentifier
    if alike(pieces[at]):
        pieces[at] = random.choice([*filter(alike, pieces), *filter(alike, TOKENS)])


def _cut(pieces: list[str], at: int, random: Random) -> None:
    if random.random() < 0.5:
        del pieces[at:]
    else:
        del pieces[:at]


def _splice(sql: str, other: str, random: Random) -> str:
    return sql[: random.randrange(len(sql) + 1)] + other[random.randrange(len(other) + 1) :]


def _graft(sql: str, other: str, random: Random) -> str:
    """A part of the other query in the place of a part of this one."""
    ours, theirs = _PIECES.findall(sql), _PIECES.findall(other)
    start, first = random.randrange(len(ours) + 1), random.randrange(len(theirs) + 1)
    end, last = start + random.randrange(8), first + random.randrange(20)
    return "".join([*ours[:start], *theirs[first:last], *ours[end:]])


def _character(sql: str, other: str, random: Random) -> str:
    at = random.randrange(len(sql) + 1)
    return sql[:at] + random.choice(CHARACTERS) * random.choice((1, 1, 1, 2, 40)) + sql[at:]


def _drop_character(sql: str, other: str, random: Random) -> str:
    at = random.randrange(len(sql) + 1)
    return sql[:at] + sql[at + 1 :]


def _change_character(sql: str, other: str, random: Random) -> str:
    at = random.randrange(len(sql) + 1)
    return sql[:at] + chr(random.choice((random.randrange(32, 127), random.randrange(0x11000)))) + sql[at + 1 :]


def _case(sql: str, other: str, random: Random) -> str:
    return random.choice((str.upper, str.lower, str.title, str.swapcase))(sql)


def _nest(sql: str, other: str, random: Random) -> str:
    """A part in brackets, or in a query of its own."""
    start = random.randrange(len(sql) + 1)
    end = random.randrange(start, len(sql) + 1)
    before, after = random.choice(
        (("(", ")"), ("((", "))"), ("[", "]"), ("lag(", ")"), ("(SELECT ", ")"), ("{{", "}}"))
    )
    return sql[:start] + before + sql[start:end] + after + sql[end:]


MUTATIONS: tuple[Callable[[str, str, Random], str], ...] = (
    *map(_on_pieces, (_delete, _delete, _double, _swap, _swap, _insert, _insert, _replace, _replace, _cut)),
    *[_on_pieces(_exchange)] * 12,
    _splice,
    _graft,
    _graft,
    _character,
    _drop_character,
    _change_character,
    _case,
    _nest,
)
