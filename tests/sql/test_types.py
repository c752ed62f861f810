"""Types as Spark spells them."""

import pytest

from panes.source import Source
from panes.sql.tokens import tokenize
from panes.sql.types import parse_type


@pytest.mark.parametrize(
    ("written", "simple"),
    [
        ("INT", "int"),
        ("Integer", "int"),
        ("LONG", "bigint"),
        ("short", "smallint"),
        ("real", "float"),
        ("DECIMAL", "decimal(10,0)"),
        ("numeric(5)", "decimal(5,0)"),
        ("DEC( 10 , 2 )", "decimal(10,2)"),
        ("TIMESTAMP_LTZ", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("varchar(10)", "varchar(10)"),
        ("ARRAY< LONG >", "array<bigint>"),
        ("array<decimal>", "array<decimal(10,0)>"),
        ("array<array<int>>", "array<array<int>>"),
        ("MAP<STRING, ARRAY<STRUCT<a: INT>>>", "map<string,array<struct<a:int>>>"),
        ("STRUCT<myField: INT, long: LONG>", "struct<myField:int,long:bigint>"),
        ("struct<a INT, b map<string, int>, c long>", "struct<a:int,b:map<string,int>,c:bigint>"),
        ("struct<`a b`: int>", "struct<`a b`:int>"),
        ("interval day to second", "interval day to second"),
    ],
)
def test_types(written: str, simple: str) -> None:
    assert parse_type(tokenize(Source(written))) == simple
    assert parse_type(tokenize(Source(simple))) == simple
