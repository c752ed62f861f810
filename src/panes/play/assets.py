"""The files of the page: these and no others, whatever is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

MEDIA = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
PAGE = "index.html"
NONCE = "{{nonce}}"


@dataclass(frozen=True)
class Asset:
    content: bytes
    media: str


@cache
def _assets() -> dict[str, Asset]:
    """All that a page may ask for, by name, read once."""
    found = {}
    for file in files("panes.play").joinpath("assets").iterdir():
        media = MEDIA.get(file.name[file.name.rfind(".") :])
        if file.is_file() and media is not None:
            found[file.name] = Asset(file.read_bytes(), media)
    return found


def asset(name: str) -> Asset | None:
    return _assets().get(name)


def page(nonce: str) -> str:
    """The page, whose editor may make styles with this nonce."""
    return files("panes.play").joinpath("assets", PAGE).read_text(encoding="utf-8").replace(NONCE, nonce)
