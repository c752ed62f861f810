"""The wheel, in an empty environment: without PySpark, then with it, where the README's commands and SQL run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import panes

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ORDER = re.compile(r"^\| (\d\d:\d\d:\d\d) \| (\w+) \| ([\d.]+) \|", re.MULTILINE)
TOTAL = re.compile(r"\| (\w+) \| (\d\d:\d\d:\d\d) \| (\d+) \| ([\d.]+) \|$", re.MULTILINE)
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
        hidden = ("PYTHONPATH", "PYSPARK_PYTHON", "SPARK_HOME")
        env = {name: value for name, value in os.environ.items() if name not in hidden}
        program, *arguments = command
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
        )


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
def orders(tmp_path: Path) -> Path:
    """A folder with the README's script and its rows."""
    script = re.search(r"```sql\n(.*?)```", README, re.DOTALL)
    assert script is not None
    (tmp_path / "orders.sql").write_text(script[1], encoding="utf-8")
    (tmp_path / "orders").mkdir()
    rows = [{"ts": f"2024-01-01T{at}Z", "shop": shop, "amount": float(n)} for at, shop, n in ORDER.findall(README)]
    assert len(rows) == 4
    (tmp_path / "orders" / "0.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_what_is_in_them(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        text = wheel.read(metadata).decode()
    assert {"panes/py.typed", "panes/cli/demo.sql"} <= set(names)
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


def test_without_pyspark(installed: Installed, orders: Path) -> None:
    assert installed.run(orders, "panes", "--version").stdout == f"panes {panes.__version__}\n"
    checked = installed.run(orders, "panes", "check", "orders.sql")
    assert "OK (1 query)" in checked.stdout, checked.stderr
    assert "Window" in installed.run(orders, "panes", "explain", "orders.sql").stdout
    refused = installed.run(orders, "panes", "run", "orders.sql")
    assert (refused.returncode, refused.stderr.partition(":")[0]) == (1, "missing-spark")
    assert "pip install 'panes[spark]'" in refused.stderr


def test_the_readme_with_pyspark(installed: Installed, orders: Path) -> None:
    installed.pip(f"{installed.wheel}[spark]")
    done = installed.run(orders, "panes", "run", "orders.sql", "--flush", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = [event["row"] for event in events if event["event"] == "row"]
    totals = {(shop, closes): (int(n), float(total)) for shop, closes, n, total in TOTAL.findall(README)}
    assert len(totals) == 2
    shown = {(one["shop"], one["closes"][11:19]): (one["orders"], one["total"]) for one in found}
    assert shown.items() >= totals.items()
    for command in re.findall(r"^(panes [a-z]+)", README, re.MULTILINE):
        done = installed.run(orders, *command.split())
        assert done.returncode == 0, done.stderr
