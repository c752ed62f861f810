"""`make docs`: the documentation as a site in build/site; `make docs ARGS=serve` serves it and follows changes.

The pages in `docs` are written for a checkout and for the tests, which read more from a block's first line than its
language. Here each block gets its language and a title, and links out of `docs` lead to the repository.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PAGES, COPIES = ROOT / "docs", ROOT / "build" / "pages"
CONFIG = ROOT / "zensical.toml"
FENCE = re.compile(r"(`{3,})(\S*) ?(.*)")
LINK = re.compile(r"(?<=\]\()((?:\.\./)+[^)#\s]*)")
TITLES = {
    "input": "rows of {}",
    "table": "the table {}",
    "output": "what comes out",
    "late": "late rows",
    "error": "error",
    "listing": "answer",
    "printed": "printed",
    "plan": "plan",
    "counters": "counters",
}


def main(arguments: list[str]) -> int:
    serves = arguments == ["serve"]
    if arguments and not serves:
        print("usage: make_site.py [serve]", file=sys.stderr)
        return 2
    repository = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]["repo_url"]
    shutil.rmtree(COPIES, ignore_errors=True)
    seen = copy_changed(repository, {})
    command = [str(Path(sys.executable).with_name("zensical")), "serve" if serves else "build", "-f", str(CONFIG)]
    if not serves:
        return subprocess.run([*command, "--clean", "--strict"], cwd=ROOT).returncode
    server = subprocess.Popen(command, cwd=ROOT)
    try:
        while server.poll() is None:
            time.sleep(1)
            seen = copy_changed(repository, seen)
    except KeyboardInterrupt:
        server.terminate()
    return server.wait()


def copy_changed(repository: str, seen: dict[Path, float]) -> dict[Path, float]:
    """Write what has changed since `seen`; the times of all."""
    found = {path: path.stat().st_mtime for path in sorted(PAGES.rglob("*")) if path.is_file()}
    for path in (one for one, changed in found.items() if seen.get(one) != changed):
        copy = COPIES / path.relative_to(PAGES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            page = PurePosixPath("docs", path.relative_to(PAGES).as_posix())
            copy.write_text(site_page(path.read_text(encoding="utf-8"), page, repository), encoding="utf-8")
        else:
            shutil.copyfile(path, copy)
    return found


def site_page(text: str, page: PurePosixPath, repository: str) -> str:
    """A page as the generator reads it.

    >>> print(
    ...     site_page("```input t\\na\\n```\\n[log](../CHANGELOG.md)", PurePosixPath("docs/a.md"), "https://host/panes")
    ... )
    ``` {.text title="rows of t"}
    a
    ```
    [log](https://host/panes/blob/main/CHANGELOG.md)
    """
    return "\n".join(_lines(text.split("\n"), page, repository))


def _lines(lines: Iterable[str], page: PurePosixPath, repository: str) -> Iterator[str]:
    fence = ""
    for line in lines:
        found = FENCE.fullmatch(line)
        if fence:
            fence = "" if line.strip() == fence else fence
            yield line
        elif found is not None:
            fence = found[1]
            yield opened(*found.groups())
        else:
            yield LINK.sub(lambda link: _outward(link[1], page, repository), line)


def opened(fence: str, language: str, rest: str) -> str:
    """The first line of a block: the language that is highlighted, and a title.

    >>> opened("```", "sql", "file=a.sql"), opened("```", "sql", ""), opened("```", "plan", "physical")
    ('``` {.sql title="a.sql"}', '```sql', '``` {.text title="plan"}')
    """
    file = re.search(r"\b(?:file|script)=(\S+)", rest)
    title = TITLES.get(language, "").format(rest.partition(" ")[0]) or (file[1] if file is not None else "")
    shown = "text" if language in TITLES else language
    return f'{fence} {{.{shown} title="{title}"}}' if title else f"{fence}{shown}"


def _outward(target: str, page: PurePosixPath, repository: str) -> str:
    """A link to a page stays; one that leaves `docs` leads to the repository."""
    parts: list[str] = []
    for part in (page.parent / target).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return target if parts[:1] == ["docs"] else f"{repository}/blob/main/{'/'.join(parts)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
