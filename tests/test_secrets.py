"""Secrets: written as references, resolved late, never printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from present import present
from typer.testing import CliRunner

from panes import Engine
from panes.catalog import Catalog
from panes.cli.main import app
from panes.cli.output.json_lines import error_document
from panes.errors import PanesError
from panes.functions import Functions
from panes.options import shown_options
from panes.script import Listing, Step, steps
from panes.secrets import masked, resolved
from panes.source import shown


@pytest.fixture(autouse=True)
def _forgotten_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panes.secrets._handed_out", set())


def test_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANES_TEST_USER", "anna")
    monkeypatch.setenv("PANES_TEST_WORD", "hunter2")
    given = {"jaas": 'user="${ENV:PANES_TEST_USER}" password="${ENV:PANES_TEST_WORD}"', "path": "x"}
    assert resolved(given) == {"jaas": 'user="anna" password="hunter2"', "path": "x"}


def test_a_file(tmp_path: Path) -> None:
    for text in ("s3cret word", "s3cret word\n", "s3cret word\r\n"):
        (tmp_path / "word").write_bytes(text.encode())
        assert resolved({"password": f"${{FILE:{tmp_path}/word}}"}) == {"password": "s3cret word"}
    (tmp_path / "word").write_text("two\nlines\n\n")
    assert resolved({"password": f"${{FILE:{tmp_path}/word}}"}) == {"password": "two\nlines\n"}


def test_what_a_secret_holds_is_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANES_TEST_WORD", "${ENV:HOME}")
    assert resolved({"password": "${ENV:PANES_TEST_WORD}"}) == {"password": "${ENV:HOME}"}


def test_missing(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff")
    for reference, named in (
        ("${ENV:PANES_TEST_NOBODY}", "variable PANES_TEST_NOBODY"),
        (f"${{FILE:{tmp_path}/nothing}}", f"file {tmp_path}/nothing"),
        (f"${{FILE:{tmp_path}/binary}}", f"file {tmp_path}/binary"),
    ):
        with pytest.raises(PanesError) as caught:
            resolved({"password": reference})
        assert caught.value.code == "missing-secret"
        assert named in caught.value.message
        assert "option password" in caught.value.message


@pytest.mark.parametrize("value", ["${VAULT:x}", "a ${env:x}", "${FILE:}"])
@pytest.mark.parametrize("statement", ["CREATE STREAM s (a INT)", "CREATE SINK s"])
def test_references_that_nobody_can_resolve(value: str, statement: str) -> None:
    with pytest.raises(PanesError) as caught:
        list(steps(f"{statement} WITH (connector = 'json', password = '{value}')", Catalog(), Functions()))
    assert caught.value.code == "stream-options"
    assert present(caught.value.span).text.startswith(statement)


def test_they_are_described_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANES_TEST_WORD", "hunter2")
    sql = """
        CREATE SINK s WITH (connector = 'x', url = '${ENV:PANES_TEST_WORD}', password = '${ENV:PANES_TEST_WORD}',
                            token = 'a${ENV:PANES_TEST_WORD}', pin = '1234');
        DESCRIBE s;
    """
    catalog = Catalog()
    catalog.redacted = re.compile("(?i)PIN")
    (_, listing) = steps(sql, catalog, Functions())
    assert isinstance(listing, Listing)
    reference = "${ENV:PANES_TEST_WORD}"
    assert {row[0]: row[1] for row in listing.rows} == {
        "connector": "x", "url": reference, "password": reference, "token": "***", "pin": "***",
    }  # fmt: skip
    assert reference in present(catalog.sinks.get("s")).options["token"]  # and kept so


def test_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANES_TEST_WORD", "correct horse/battery")
    monkeypatch.setenv("PANES_TEST_LONGER", "correct horse/battery staple")
    monkeypatch.setenv("PANES_TEST_SHORT", "ab")
    monkeypatch.setenv("PANES_TEST_EMPTY", "")
    resolved({name: f"${{ENV:PANES_TEST_{name}}}" for name in ("WORD", "LONGER", "SHORT", "EMPTY")})
    assert masked("x=correct horse/battery, y") == "x=***, y"
    assert masked("x=correct horse/battery staple, y") == "x=***, y"
    assert masked("url?password=correct%20horse%2Fbattery&x") == "url?password=***&x"
    assert masked("about ab.") == "about ***."


def test_a_line_of_a_secret(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nQ==\n")
    resolved({"kafka.ssl.keystore.key": f"${{FILE:{tmp_path}/key.pem}}"})
    assert masked("bad line MIIEvQIBADANBgkqhkiG9w0B in Q==") == "bad line *** in Q=="


def test_settings_of_a_session_that_is_yet_to_start() -> None:
    """What they call secret is hidden before Spark is there to ask."""
    for pattern, said in (("(?i)pin", "***"), ("only Java \\p{Lu}", "***"), ("xyz", "1234")):
        engine = Engine(settings={"spark.redaction.regex": pattern})
        found: list[Step] = []
        engine.run("CREATE SINK s WITH (connector = 'x', PIN = '1234'); DESCRIBE s", show=found.append)
        listing = found[-1]
        assert isinstance(listing, Listing)
        assert {row[0]: row[1] for row in listing.rows}["PIN"] == said


MISTAKES = [
    "CREATE SINK s WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'h:9', kafka.my.pin = '1234', a = '')",
    "CREATE STREAM s (a INT) WITH (connector = 'json', pin = '1234') WITH",
    "SELECT pin = '1234' FROM nowhere",
    "CREATE STREAM s (pin STRING); SELECT pin = '1234' FROM s GROUP BY tumblingwindow('xx', 1)",
]


@pytest.mark.parametrize("sql", MISTAKES)
def test_the_line_of_a_mistake_hides_what_settings_call_secret(sql: str) -> None:
    with pytest.raises(PanesError) as caught:
        Engine(settings={"spark.redaction.regex": "pin"}).run(sql)
    assert present(caught.value.span).source.text == sql
    assert "1234" not in str(caught.value)
    assert "1234" not in json.dumps(error_document(caught.value))


def test_a_query_in_a_view_and_one_of_its_own_hide_it_too() -> None:
    engine = Engine(settings={"spark.redaction.regex": "pin"})
    with pytest.raises(PanesError) as caught:
        engine.explain("SELECT pin = '1234' FROM nowhere")
    assert "1234" not in str(caught.value)
    engine.run("CREATE STREAM t (pin STRING); CREATE VIEW v AS SELECT pin = '1234' AS same FROM t; DROP STREAM t")
    with pytest.raises(PanesError) as caught:
        engine.compile("SELECT same FROM v")
    assert present(caught.value.span).source.name == "view v"
    assert "1234" not in str(caught.value)
    assert not any("1234" in shown(text) for text in engine.catalog.view_texts())


def test_a_run_hides_it_where_variables_were_replaced(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("SELECT pin = '1234' FROM ${t}", encoding="utf-8")
    conf = ["--conf", "spark.redaction.regex=pin"]
    for options in (["--set", "t=nowhere"], []):
        done = CliRunner().invoke(app, ["run", str(script), *options, *conf])
        assert done.exit_code == 1
        assert "FROM ${t}" in done.output
        assert "1234" not in done.output


def test_users_of_a_registry_are_not_shown() -> None:
    assert shown_options({"kafka.basic.auth.user.info": "me:hunter2"}) == {"kafka.basic.auth.user.info": "***"}


def test_urls_with_passwords() -> None:
    assert shown_options({"url": "s3a://key:word@bucket/x"}) == {"url": "s3a://key:***@bucket/x"}
