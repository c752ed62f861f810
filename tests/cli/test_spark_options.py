"""Options of commands that start Spark."""

import pytest
import typer

from panes.cli.spark_options import packages_of, settings_of


def test_a_value_may_hold_an_equals_sign() -> None:
    assert settings_of(["spark.a=1", "spark.b = x=y "]) == {"spark.a": "1", "spark.b": "x=y"}


def test_master_is_a_setting_that_wins() -> None:
    assert settings_of(["spark.master=yarn"], master="local[1]") == {"spark.master": "local[1]"}
    assert settings_of(None, remote="sc://here") == {"spark.remote": "sc://here"}
    assert settings_of(None) == {}


@pytest.mark.parametrize("conf", ["spark.a", "=1", " = 1"])
def test_what_is_no_setting_is_refused(conf: str) -> None:
    with pytest.raises(typer.BadParameter):
        settings_of([conf])


def test_a_session_cannot_be_in_two_places() -> None:
    with pytest.raises(typer.BadParameter):
        settings_of(None, master="local[1]", remote="sc://here")


def test_packages_have_commas_between_them() -> None:
    assert packages_of("a:b:1, c:d:2,") == ["a:b:1", "c:d:2"]
    assert packages_of(None) == []
