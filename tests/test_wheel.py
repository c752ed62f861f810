"""The wheel, in an empty environment: without PySpark, then with it, where the README's commands and SQL run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import urllib.parse
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import panes

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
(SQL,) = re.findall(r"```sql\n(.*?)```", README, re.DOTALL)
(PYTHON,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^(panes [a-z]+)", README, re.MULTILINE)
BESIDE = re.compile(r"\]\((?!https?:)[^)]+\)")  # a link to a file of the repository


@dataclass(frozen=True)
class Installed:
    """An environment in which there is nothing but the wheel and what it asks for."""

    folder: Path
    wheel: Path

    def pip(self, *arguments: str) -> None:
        command = [str(self.folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *arguments]
        done = subprocess.run([*command, "--disable-pip-version-check"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]

    def run(self, cwd: Path, *command: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = command
        found = [str(self.folder / "bin" / program), *arguments]
        return subprocess.run(found, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=600)

    def start(self, cwd: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
        found = [str(self.folder / "bin" / program), *arguments]
        return subprocess.Popen(found, cwd=cwd, env=environment(), stdout=subprocess.PIPE, text=True)


def environment() -> dict[str, str]:
    hidden = ("PYTHONPATH", "PYSPARK_PYTHON", "SPARK_HOME")
    return {name: value for name, value in os.environ.items() if name not in hidden}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and the wheel, which is made from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Without PySpark, at first."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    found = Installed(folder, next(built.glob("*.whl")))
    found.pip(str(found.wheel))
    return found


@pytest.fixture
def project(installed: Installed, tmp_path: Path) -> Path:
    """What `panes init` makes, with the README's query as its script."""
    done = installed.run(tmp_path, "panes", "init", "visits")
    assert done.returncode == 0, done.stderr
    (tmp_path / "visits" / "readme.sql").write_text(SQL, encoding="utf-8")
    return tmp_path / "visits"


def test_what_is_in_them(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        text = wheel.read(metadata).decode()
    assert {"panes/py.typed", "panes/cli/project/data/events-1.json"} <= set(names)
    assert all(name.startswith(("panes/", f"panes-{panes.__version__}.dist-info/")) for name in names)
    assert f"\nVersion: {panes.__version__}\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text
    assert not re.search(r"^Requires-Dist: pyspark[^;]*$", text, re.MULTILINE)
    assert "\nAuthor: Panes developers\n" in text
    addresses = dict(re.findall(r"^Project-URL: (\w+), (https://\S+)$", text, re.MULTILINE))
    assert set(addresses) == {"Repository", "Documentation", "Changelog", "Issues"}
    links = [written.replace("](", f"]({addresses['Repository']}/blob/main/") for written in BESIDE.findall(README)]
    assert links and all(link in text for link in links)
    assert not BESIDE.search(text)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout says what belongs to it")
def test_the_sdist_is_the_whole_tree(built: Path) -> None:
    """Whoever has it can run all that a checkout can."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    assert {name for name in listed.splitlines() if not name.startswith(".")} <= inside
    assert not any(name.startswith(("build/", "dist/", ".venv")) for name in inside)


def test_without_pyspark(installed: Installed, project: Path) -> None:
    assert installed.run(project, "panes", "--version").stdout == f"panes {panes.__version__}\n"
    checked = installed.run(project, "panes", "check", "readme.sql")
    assert "OK (1 query)" in checked.stdout, checked.stderr
    assert "Window" in installed.run(project, "panes", "explain", "readme.sql").stdout
    refused = installed.run(project, "panes", "run", "readme.sql")
    assert (refused.returncode, refused.stderr.partition(":")[0]) == (1, "missing-spark")
    assert "pip install 'panes[spark]'" in refused.stderr


def test_the_readme_with_pyspark(installed: Installed, project: Path) -> None:
    installed.pip(f"{installed.wheel}[spark]")
    done = installed.run(project, "panes", "run", "readme.sql", "--flush", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    visits = sorted(
        (row["who"], row["events"], row["spent"]) for row in (e["row"] for e in events if e["event"] == "row")
    )
    assert visits == [("ann", 3, 20), ("ann", 3, 30), ("bob", 4, 17), ("cat", 3, 8)]
    assert COMMANDS == ["panes demo"]
    done = installed.run(project, "panes", "demo")
    assert done.returncode == 0, done.stderr
    assert "came_after" in done.stdout

    (project / "ticks.py").write_text(PYTHON, encoding="utf-8")
    process = installed.start(project, "python", "ticks.py")
    try:
        watchdog = threading.Timer(300, process.kill)
        watchdog.start()
        assert process.stdout is not None
        before = re.compile(r"\| +(\d+)\| +(\d+)\|")
        found = next((row for row in map(before.search, process.stdout) if row is not None), None)
        watchdog.cancel()
    finally:
        process.kill()
    assert found is not None and int(found[1]) == int(found[2]) + 3


def test_the_page_of_panes_play(installed: Installed, project: Path) -> None:
    """Its assets are in the wheel; it answers whoever has the token."""
    installed.pip(f"{installed.wheel}[spark,play]")
    process = installed.start(project, "panes", "play", "script.sql", "--no-browser")
    try:
        assert process.stdout is not None
        address = next(found[0] for line in process.stdout if (found := re.search(r"http://127\.0\.0\.1:\S+", line)))
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        page = opener.open(address, timeout=60).read().decode()
        assert "<title>" in page
        for asset in re.findall(r'(?:src|href)="([^"]+\.(?:js|css|svg))"', page):
            assert opener.open(urllib.parse.urljoin(address, asset), timeout=60).status == 200
    finally:
        process.kill()
