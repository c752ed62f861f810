"""House rules that no linter knows. Prints each place that breaks one, and the way out; `make check` runs it.

files      no file in src has more than 400 lines
matches    a `match` that tells classes or enum members apart ends in `case _`
mirror     each kernel module has its own test file, which needs no Spark
names      the names of functions are compared with nothing outside the registries
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from panes.functions import Functions

LONGEST = 400
# Names of functions that are also words of everyday code.
EVERYDAY = frozenset("any avg count every first last last_row latest max mean min some std sum var".split())


@dataclass(frozen=True)
class Finding:
    path: PurePath
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}\n    {self.remedy}"


def long_files(path: PurePath, text: str) -> Iterator[Finding]:
    lines = text.count("\n")
    if lines > LONGEST:
        what = f"{lines} lines, and {LONGEST} are the most"
        yield Finding(path, LONGEST + 1, what, "Split it where a part has an idea of its own.")


def open_matches(path: PurePath, tree: ast.Module) -> Iterator[Finding]:
    """Strings and sequences are open by nature: what none of their cases takes passes by."""
    for match in (node for node in ast.walk(tree) if isinstance(node, ast.Match)):
        last = match.cases[-1]
        takes_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
        patterns = [part for case in match.cases for part in _alternatives(case.pattern)]
        if not takes_all and any(isinstance(part, ast.MatchClass) or _is_member(part) for part in patterns):
            subject = ast.unparse(match.subject)
            what = f"match {subject} tells classes or enum members apart, and does not end in case _"
            remedy = f"Write case _: assert_never({subject}) where all are listed, else what becomes of the rest."
            yield Finding(path, match.lineno, what, remedy)


def _alternatives(pattern: ast.pattern) -> Iterator[ast.pattern]:
    """The patterns that `|` and `as` put together."""
    match pattern:
        case ast.MatchOr(patterns=patterns):
            for one in patterns:
                yield from _alternatives(one)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            yield from _alternatives(inner)
        case _:
            yield pattern


def _is_member(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchValue) and isinstance(pattern.value, ast.Attribute)


def kernels_without_tests(kernels: Iterable[PurePath], tests: Iterable[PurePath]) -> Iterator[Finding]:
    """Both relative to src/panes/kernels and tests/kernels."""
    known = set(tests)
    for module in kernels:
        mirrored = module.with_name(f"test_{module.name}")
        if module.name != "__init__.py" and mirrored not in known:
            remedy = f"Write tests/kernels/{mirrored.as_posix()}: a definition of a dozen lines, or a law."
            yield Finding(PurePath("src/panes/kernels", module), 1, "has no test file of its own", remedy)


def kernel_tests_with_spark(path: PurePath, tree: ast.Module) -> Iterator[Finding]:
    """A test that is handed a session names its type, so imports it."""
    for node in ast.walk(tree):
        if _imports_pyspark(node) or (isinstance(node, ast.Attribute) and ast.unparse(node).endswith("mark.spark")):
            remedy = "Move what needs Spark to tests/spark."
            yield Finding(path, getattr(node, "lineno", 1), "a kernel is tested without Spark", remedy)


def _imports_pyspark(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            modules = [one.name for one in names]
        case ast.ImportFrom(module=str(module), level=0):
            modules = [module]
        case _:
            return False
    return any(module.split(".")[0] == "pyspark" for module in modules)


def function_names() -> frozenset[str]:
    functions = Functions()
    return frozenset((*functions.stateful.names(), *functions.aggregates, *functions.over))


def compared_names(path: PurePath, tree: ast.Module, names: frozenset[str]) -> Iterator[Finding]:
    """In `==` and `in`, in cases, and in constants that are lists of names; a dict by name is a registry."""
    found = [part for node in ast.walk(tree) for part in _compared(node)]
    found += [part for statement in tree.body for part in _listed(statement, names)]
    lines: dict[int, list[str]] = {}
    for part in found:
        if isinstance(part, ast.Constant) and part.value in names - EVERYDAY:
            lines.setdefault(part.lineno, []).append(str(part.value))
    for line, here in sorted(lines.items()):
        remedy = "Let the function's row in its registry say what makes it different, and ask for that."
        yield Finding(path, line, f"tests for functions by their names: {', '.join(here)}", remedy)


def _compared(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=others):
            return [part for side in (left, *others) for part in _elements(side) or [side]]
        case ast.MatchValue(value=value):
            return [value]
        case _:
            return []


def _listed(statement: ast.stmt, names: frozenset[str]) -> list[ast.expr]:
    """`RANKS = ("row_number", "rank")`, and the same inside `frozenset(…)`."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]
    parts = _elements(value)
    return parts if all(isinstance(part, ast.Constant) and part.value in names for part in parts) else []


def _elements(node: ast.expr | None) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []


def findings(root: Path) -> Iterator[Finding]:
    """Everything in a checkout that breaks a rule."""
    names = function_names()
    for path, text in _files(root, "src"):
        tree = ast.parse(text)
        yield from long_files(path, text)
        yield from open_matches(path, tree)
        if not path.is_relative_to("src/panes/functions"):
            yield from compared_names(path, tree, names)
    kernels, tests = (
        [file.relative_to(folder) for file in sorted(folder.rglob("*.py"))]
        for folder in (root / "src/panes/kernels", root / "tests/kernels")
    )
    yield from kernels_without_tests(kernels, tests)
    for path, text in _files(root, "tests/kernels"):
        yield from kernel_tests_with_spark(path, ast.parse(text))


def _files(root: Path, folder: str) -> Iterator[tuple[PurePath, str]]:
    for file in sorted((root / folder).rglob("*.py")):
        yield file.relative_to(root), file.read_text(encoding="utf-8")


def main() -> int:
    found = [str(one) for one in findings(Path(sys.argv[1] if len(sys.argv) > 1 else "."))]
    print(*found or ["The house rules are kept."], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
