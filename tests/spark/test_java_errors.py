"""What exceptions of Java say. No Spark."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from panes.spark.java_errors import said


def throwable(name: str, message: str | None, cause: Mock | None = None) -> Mock:
    """One of Java's, as Py4J shows it."""
    error = Mock()
    error.getCause.return_value, error.getMessage.return_value = cause, message
    error.getClass().getSimpleName.return_value = name
    return error


FAILED = "The connection attempt failed."
REFUSED = throwable("ConnectException", "Connection refused\n  by 127.0.0.1:1")
UNKNOWN = throwable("UnknownHostException", "nowhere")
URL = "jdbc:x://db?user=me&password={}&a=b"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (throwable("SQLException", FAILED, REFUSED), "Connection refused by 127.0.0.1:1"),
        (throwable("SQLException", FAILED, UNKNOWN), "UnknownHostException: nowhere"),
        (throwable("TimeoutException", None), "TimeoutException"),
        (throwable("TimeoutException", " "), "TimeoutException"),
        (throwable("AuthException", "no login with hunter2"), "no login with ***"),
        (throwable("AuthException", f"cannot use {URL.format('other')}"), f"cannot use {URL.format('***')}"),
        (throwable("AuthException", "bad token correct horse in JAAS"), "bad token *** in JAAS"),
    ],
)
def test_the_deepest_cause_speaks(error: Mock, text: str) -> None:
    jaas = 'x.LoginModule required username="me" password="correct horse";'
    assert said(error, {"url": "jdbc:x://db?password=hunter2", "kafka.sasl.jaas.config": jaas}) == text
