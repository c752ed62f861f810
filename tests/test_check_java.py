"""`scripts/check_java.sh` finds the Java that Spark would use, and says first what is wrong with it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "check_java.sh"
SH = shutil.which("sh") or "/bin/sh"


@pytest.fixture
def on_path(tmp_path: Path) -> Path:
    """A folder that is all of PATH, so that the machine's own Java and package manager stay out."""
    folder = tmp_path / "path"
    folder.mkdir()
    return folder


def executable(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"#!{SH}", *lines, ""]))
    path.chmod(0o755)
    return path


def java(folder: Path, version: str, vendor: str = "openjdk", before: str = "") -> Path:
    """A `java` that prints to standard error, as the real one does, whatever it is asked."""
    lines = [before, f'{vendor} version "{version}" 2025-04-15', "OpenJDK Runtime Environment (build 1.2.3)"]
    return executable(folder / "java", *(f"echo '{line}' >&2" for line in lines if line))


def check(on_path: Path, java_home: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.fspath(on_path)} | ({"JAVA_HOME": os.fspath(java_home)} if java_home else {})
    return subprocess.run([SH, SCRIPT], env=env, capture_output=True, text=True)


def problem(result: subprocess.CompletedProcess[str]) -> str:
    """The first line of a refusal."""
    assert result.returncode == 1
    assert result.stdout == ""
    return result.stderr.splitlines()[0]


@pytest.mark.parametrize("version", ["17.0.15", "17", "21", "21.0.2", "25-ea"])
def test_new_enough(on_path: Path, version: str) -> None:
    found = java(on_path, version)
    result = check(on_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"Java {version}: {found}\n", "")


@pytest.mark.parametrize(("version", "vendor"), [("11", "openjdk"), ("16.0.2", "openjdk"), ("1.8.0_392", "java")])
def test_too_old(on_path: Path, version: str, vendor: str) -> None:
    found = java(on_path, version, vendor)
    assert problem(check(on_path)) == f"Java is too old: {found} is version {version}."


def test_missing(on_path: Path) -> None:
    assert problem(check(on_path)) == "Java is missing: there is no java on PATH, and JAVA_HOME is not set."


def test_does_not_start(on_path: Path) -> None:
    """macOS has a `java` that only says that there is none."""
    found = executable(on_path / "java", "echo 'Unable to locate a Java Runtime.' >&2", "exit 1")
    result = check(on_path)
    assert problem(result) == f"Java is missing or broken: {found} does not start."
    assert "Unable to locate a Java Runtime." in result.stderr


def test_does_not_say_its_version(on_path: Path) -> None:
    found = executable(on_path / "java", "echo 'good day'")
    assert problem(check(on_path)) == f"Java is unknown: {found} does not say its version."


@pytest.mark.parametrize(("version", "code"), [("17.0.15", 0), ("11.0.2", 1)])
def test_other_lines_before_the_version(on_path: Path, version: str, code: int) -> None:
    java(on_path, version, before='Picked up JAVA_TOOL_OPTIONS: -Dapp.version="99" -Xmx1g')
    assert check(on_path).returncode == code


def test_java_home_comes_before_path(on_path: Path, tmp_path: Path) -> None:
    java(on_path, "21")
    old = java(tmp_path / "old jdk" / "bin", "11.0.2")
    result = check(on_path, tmp_path / "old jdk")
    assert problem(result) == f"Java is too old: {old} is version 11.0.2."
    assert "unset JAVA_HOME" in result.stderr


def test_java_home_is_enough(on_path: Path, tmp_path: Path) -> None:
    java(on_path, "11")
    java(tmp_path / "jdk" / "bin", "17.0.15")
    assert check(on_path, tmp_path / "jdk").returncode == 0


def test_java_home_without_java(on_path: Path, tmp_path: Path) -> None:
    """Spark does not fall back to PATH, so neither does the check."""
    java(on_path, "21")
    assert "there is no bin/java in it" in problem(check(on_path, tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("tool", "advice"),
    [
        (("apt-get", ""), "sudo apt install openjdk-17-jre-headless"),
        (("dnf", ""), "sudo dnf install java-21-openjdk-headless"),
        (("uname", "echo Darwin"), "brew install openjdk@17"),
        (("uname", "echo MINGW64_NT-10.0"), "winget install EclipseAdoptium.Temurin.17.JDK"),
    ],
)
def test_advice_fits_the_system(on_path: Path, tool: tuple[str, str], advice: str) -> None:
    name, body = tool
    executable(on_path / name, body)
    assert advice in check(on_path).stderr
