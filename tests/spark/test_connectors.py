"""Spark opens a dataset on S3: the connector, its settings, and the stories of a dataset that is only there."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.tables import CAPTURES
from kafkascope_parsers.errors import SparkError, UsageError
from kafkascope_spark.session import connectors, open_session, session
from kafkascope_spark.session.connectors import connector_for, hadoop_version
from kafkascope_spark.session.gateway import connect, launch, launch_options, spark_home
from kafkascope_spark.session.java import find_java
from kafkascope_spark.stories.tables import CLIENT_TABLES

CAPTURE = pathlib.Path(__file__).parents[2] / "fixtures" / "captures" / "healthy_basic.pcap.zst"
S3A = "spark.hadoop.fs.s3a."
TIMEOUT_S = 900
NO_REPOSITORY = """
<ivysettings>
  <settings defaultResolver="none"/>
  <resolvers><filesystem name="none"><artifact pattern="{folder}/[artifact]-[revision].[ext]"/></filesystem></resolvers>
</ivysettings>
"""


@pytest.fixture(autouse=True)
def _no_settings_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)


def test_the_version_is_that_of_the_hadoop_in_pyspark() -> None:
    """Oracle: what Hadoop says of itself."""
    jar = next((spark_home() / "jars").glob("hadoop-client-api-*.jar"))
    with zipfile.ZipFile(jar) as archive:
        described = archive.read("common-version-info.properties").decode()
    version = re.search(r"^version=(.+)$", described, re.MULTILINE)
    assert version is not None
    assert hadoop_version() == version[1].strip()
    assert hadoop_version() == "3.5.0", "AWS_SDK is the version of the AWS SDK that Hadoop 3.5.0 was built for"


def test_an_endpoint_and_its_region_are_given_to_hadoop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    connector = connector_for(Storage.of("s3://captures/x.kscope"))
    assert connector is not None
    assert connector.settings.items() >= {
        (f"{S3A}endpoint", "http://127.0.0.1:9000"),
        (f"{S3A}path.style.access", "true"),
        (f"{S3A}connection.ssl.enabled", "false"),
        (f"{S3A}endpoint.region", "us-east-1"),
    }
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "minio.example:9000")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    connector = connector_for(Storage.of("s3a://captures/x.kscope"))
    assert connector is not None
    assert connector.settings[f"{S3A}endpoint"] == "https://minio.example:9000"
    assert connector.settings[f"{S3A}connection.ssl.enabled"] == "true"
    assert connector.settings[f"{S3A}endpoint.region"] == "eu-west-1"


def test_amazons_own_s3_needs_no_endpoint_and_no_setting_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    connector = connector_for(Storage.of("s3://captures/x.kscope"))
    assert connector is not None
    assert connector.packages[0] == f"org.apache.hadoop:hadoop-aws:{hadoop_version()}"
    assert set(connector.settings) == {f"{S3A}aws.credentials.provider"}
    assert "not-a-secret" not in repr(connector)


@pytest.mark.parametrize("uri", ["x.kscope", "file:///data/x.kscope", "hdfs://namenode:8020/x.kscope", "gs://b/x"])
def test_what_spark_opens_by_itself_and_what_we_cannot_help_with_has_no_connector(uri: str) -> None:
    assert connector_for(Storage.of(uri)) is None


def test_jars_that_are_installed_are_not_downloaded(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "hadoop-aws-3.5.0.jar").touch()
    monkeypatch.setattr(connectors, "spark_home", lambda: tmp_path)
    connector = connector_for(Storage.of("s3://captures/x.kscope"))
    assert connector is not None
    assert connector.packages == ()
    assert connector.settings


@pytest.mark.parametrize(("opened_for", "refused"), [(None, True), ("s3", False)])
def test_a_session_that_was_opened_without_the_connector_is_refused(
    opened_for: str | None, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = MagicMock()
    ours.conf.get.side_effect = {session.EMBEDDED: "true", session.CONNECTOR: opened_for}.get
    monkeypatch.setattr(session, "active_session", lambda: ours)
    connector = connector_for(Storage.of("s3://captures/x.kscope"))
    if refused:
        with pytest.raises(UsageError, match="without the connector for s3://: write these stories in a new process"):
            open_session(connector=connector)
    else:
        assert open_session(connector=connector) is ours


def test_a_jvm_that_was_launched_without_the_connector_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session was stopped; its JVM would serve the next one."""
    monkeypatch.setattr(session, "active_session", lambda: None)
    monkeypatch.setattr(session, "current_jvm", lambda: MagicMock(packages=()))
    with pytest.raises(UsageError, match="write these stories in a new process"):
        open_session(connector=connector_for(Storage.of("s3://captures/x.kscope")))


@pytest.mark.spark
def test_a_connector_that_cannot_be_downloaded_is_one_sentence(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SparkSubmit reads spark-defaults.conf, where a user names a repository; here it is an empty folder."""
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(NO_REPOSITORY.format(folder=tmp_path / "nothing"))
    (tmp_path / "spark-defaults.conf").write_text(f"spark.jars.ivySettings {settings}\nspark.jars.ivy {tmp_path}/ivy\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    connector, java = connector_for(Storage.of("s3://captures/x.kscope")), find_java()
    assert connector is not None
    assert java is not None
    with pytest.raises(SparkError, match=r"Spark cannot download org.apache.hadoop:hadoop-aws:\S+, which") as failed:
        connect(launch(java, launch_options(), connector.packages, connector.excluded))
    assert "\n" not in str(failed.value)
    assert "--master" in str(failed.value)


@pytest.mark.spark
@pytest.mark.lab
def test_a_capture_on_s3_is_analyzed_into_a_dataset_on_s3(
    dataset_of: Callable[..., pathlib.Path], bucket: Callable[[], Any]
) -> None:
    """The rows of all tables and stories are those of the local disk, written there by `ingest` and the stories."""
    local, made = dataset_of("healthy_basic", rules=None), bucket()
    made.put("in/healthy_basic.pcap.zst", CAPTURE.read_bytes())
    uri = f"{made.uri}/x.kscope"
    command = [sys.executable, "-m", "kafkascope_analyzer.cli", "analyze", f"{made.uri}/in", "-o", uri, "-q"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if "Spark cannot download" in done.stderr and not os.environ.get("CI"):
        pytest.skip("Maven Central, which has Hadoop's connector for S3, is not reachable and nothing is cached")
    assert done.returncode == 0, done.stderr[-3000:]
    written, expected = Dataset.open(uri), Dataset.open(local)
    assert written.tables == expected.tables
    for table in (name for name in written.tables if name != CAPTURES.name):
        mine, theirs = (dataset.read(table) for dataset in (written, expected))
        assert sorted(map(repr, mine.to_pylist())) == sorted(map(repr, theirs.to_pylist())), table
    for table in CLIENT_TABLES:
        assert written.rows(f"stories/{table.name}"), table.name
    assert "x.kscope/report.json" in made.keys("x.kscope/")
