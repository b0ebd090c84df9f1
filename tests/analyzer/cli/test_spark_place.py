"""Whose tasks do the work of ingest: options and SPARK_REMOTE name a cluster; without them it is this machine."""

import pytest

from kafkascope_analyzer.cli.ingest import SparkPlace


@pytest.mark.parametrize(
    ("master", "remote", "environment", "expected"),
    [
        (None, None, None, None),
        (None, None, "", None),
        ("spark://a:7077", None, None, SparkPlace("spark://a:7077", None)),
        (None, "sc://b:15002", None, SparkPlace(None, "sc://b:15002")),
        (None, None, "sc://c:15002", SparkPlace(None, None)),
    ],
)
def test_where_ingest_is_done(
    monkeypatch: pytest.MonkeyPatch,
    master: str | None,
    remote: str | None,
    environment: str | None,
    expected: SparkPlace | None,
) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    if environment is not None:
        monkeypatch.setenv("SPARK_REMOTE", environment)
    assert SparkPlace.of(master, remote) == expected
