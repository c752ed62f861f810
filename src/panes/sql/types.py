"""Types as Spark spells them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from panes.errors import PanesError
from panes.sql.expr import indexed
from panes.sql.tokens import SPARK, Token, span_of


def parse_type(tokens: Sequence[Token]) -> str:
    """The Spark name of a type, as `DataType.simpleString` spells it.

    >>> from panes.source import Source
    >>> from panes.sql.tokens import tokenize
    >>> parse_type(tokenize(Source("DECIMAL(10, 2)")))
    'decimal(10,2)'
    """
    try:
        trees = SPARK.parser().parse_into(exp.DataType, indexed(tokens), " " * len(tokens))
    except RecursionError:
        raise
    except Exception as error:
        raise PanesError("parse-error", "this is not a Spark type", span_of(tokens)) from error
    if len(trees) != 1 or not isinstance(trees[0], exp.DataType):
        raise PanesError("parse-error", "this is not a Spark type", span_of(tokens))
    return simple_type(tokens)


PUNCTUATION = ("(", ")", "<", ">", ",", ":")
DECIMALS = ("decimal", "dec", "numeric")
_ALIASES = {
    "integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float", "dec": "decimal",
    "numeric": "decimal", "timestamp_ltz": "timestamp",
}  # fmt: skip


def simple_type(tokens: Sequence[Token]) -> str:
    """A type in the spelling of `simpleString`; the names of a struct's fields stay as they are."""
    text, open_ = "", [""]
    for index, token in enumerate(tokens):
        before, after = (tokens[i].text if 0 <= i < len(tokens) else "" for i in (index - 1, index + 1))
        word = _ALIASES.get(token.text.lower(), token.text.lower())
        if token.text in "(<":
            open_.append(before.lower())
        elif token.text in ")>":
            word = ",0)" if open_.pop() in DECIMALS and tokens[index - 2].text == "(" else word
        elif open_[-1] == "struct" and before in "<,":
            word = token.text + ("" if after == ":" else ":")
        elif word == "decimal" and after != "(":
            word = "decimal(10,0)"
        glued = token.text in PUNCTUATION or before in PUNCTUATION or text.endswith(":")
        text += word if glued or not text else f" {word}"
    return text
