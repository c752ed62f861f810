"""Which parts of a text are secret: values of options by their names, and what URLs hold.

password = 'hunter2'                  an option of a script
postgresql://me:hunter2@db            a password in a URL
jdbc:sqlserver://db;password=hunter2  a parameter of a URL
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SECRET = re.compile(
    r"password|passwd|passphrase|pwd|secret|token|credential|jaas|user[._-]?info"
    r"|(?:access|account|api|sas|private|encryption|keystore)[._-]?key",
    re.IGNORECASE,
)
REFERENCE = re.compile(r"\$\{[^{}]*\}")  # ${ENV:NAME}, ${FILE:path}, ${variable}: says where a value is, not what
NAME = re.compile(r"""(?<![\w.`'"-])[\w.`'"-]++""")
GAP = r"(?:\s|--[^\n]*+|/\*[^*]*+\*/)*+"
IS = f"{GAP}[=:>]*+{GAP}"  # also as others write it: the line of a mistake is shown
QUOTED = re.compile(rf"""{IS}[rR]?(?:'((?:[^'\\]|\\.|'\s*+')*+)|"((?:[^"\\]|\\.|"\s*+")*+))""", re.DOTALL)
BARE = re.compile(rf"""{GAP}[=:>]{IS}([^\s,();'"]++)""")
OPTIONS = re.compile(r"\b(?:STREAM|SINK|SET|WITH\s*\()[^;]*", re.IGNORECASE)  # elsewhere = compares columns
IN_STRING = r"""['"](?![\s,;)]|$)"""  # a quote that ends no string
URL = re.compile(rf"""://((?:[^\s'"]|{IN_STRING})++)""")
USER = re.compile(r"(?:\$\{[^{}]*\}|[^:/?])*+:(.+)@", re.DOTALL)  # to the last @: a password may hold one
ORACLE = re.compile(r"""(?<=:thin:|.:oci:)[^/@\s'"]*+/([^@\s'"]++)@""")
PARAMETER = re.compile(rf"""[?&;]([\w.%-]++)=(\{{[^{{}}\n]*+\}}|(?:[^&;'"\n]|{IN_STRING})++)""")
SIGNATURE = re.compile(r"sig|x-amz-signature", re.IGNORECASE)
WORD = re.compile(r"""(?<![^\s,'"])([\w.-]++)=([^\s,;&]++)""")  # host=db password=hunter2

Range = tuple[int, int]


def hidden(text: str, also: re.Pattern[str] | None = None) -> str:
    """A script, or a part of one, of the same length without its secrets; `${ENV:NAME}` is none.

    `also` finds the names of more options that are secret.

    >>> hidden("url = 'pg://me:hunter2@db', password = 'hunter2', kafka.token = '${ENV:TOKEN}'")
    "url = 'pg://me:*******@db', password = '*******', kafka.token = '${ENV:TOKEN}'"
    """
    letters = list(text)
    for start, end in _secrets(text, [*_in_options(text, also), *_in_urls(text)]):
        letters[start:end] = [letter if letter in "\r\n" else "*" for letter in letters[start:end]]
    return "".join(letters)


def masked_value(value: str, mask: str) -> str:
    """The value of an option with a mask for each secret that it holds.

    >>> masked_value("jdbc:postgresql://db/x?user=me&password=hunter2", "***")
    'jdbc:postgresql://db/x?user=me&password=***'
    """
    words = (found.span(2) for found in WORD.finditer(value) if SECRET.search(found[1]))
    shown, at = "", 0
    for start, end in sorted(_secrets(value, [*_in_urls(value), *words])):
        if end > at:
            shown += value[at:start] + mask if start >= at else ""
            at = end
    return shown + value[at:]


def secret_values(options: Mapping[str, str]) -> list[str]:
    """The values of options that are secret by their names, and the secret parts of all others.

    >>> secret_values({"password": "hunter2", "url": "pg://me:word@db", "jaas": 'Login required password="a b";'})
    ['hunter2', 'word', 'Login required password="a b";', 'a b']
    """
    found: list[str] = []
    for name, value in options.items():
        parts = [value[start:end] for start, end in [*_in_urls(value), *_in_options(value, None)]]
        found += [*([value] if SECRET.search(name) else []), *parts]
    return [one for one in found if one]


def _secrets(text: str, ranges: list[Range]) -> Iterator[Range]:
    return ((start, end) for start, end in ranges if not REFERENCE.fullmatch(text, start, end))


def _in_options(text: str, also: re.Pattern[str] | None) -> Iterator[Range]:
    lists = [found.span() for found in OPTIONS.finditer(text)]
    for name in NAME.finditer(text):
        if not (SECRET.search(name[0]) or (also is not None and also.search(name[0]))):
            continue
        value = QUOTED.match(text, name.end())
        if value is None and any(start < name.start() < end for start, end in lists):
            value = BARE.match(text, name.end())
        if value is not None:
            yield value.span(value.lastindex or 0)


def _in_urls(text: str) -> Iterator[Range]:
    for url in URL.finditer(text):
        user = USER.match(text, url.start(1), url.end(1))
        if user is not None:
            yield user.span(1)
    for found in ORACLE.finditer(text):
        yield found.span(1)
    for found in PARAMETER.finditer(text):
        if SECRET.search(found[1]) or SIGNATURE.fullmatch(found[1]):
            yield found.span(2)
