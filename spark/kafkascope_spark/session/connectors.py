"""Connectors: jars and settings with which the embedded Spark session opens a dataset in an object store.

Spark opens local files and HDFS by itself. For an object store it needs a Hadoop connector, which the pyspark package
does not contain: SparkSubmit downloads it from Maven Central into its cache (~/.ivy2.5.2) when the session's JVM is
launched, and takes it from there later. A connector whose jar lies in the folder `jars` of the pyspark package is not
downloaded.

Only the embedded session gets a connector. A cluster has its own, or gets one with Spark's usual options. Credentials
are not part of a connector: Hadoop reads them from the same environment as pyarrow.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kafkascope_analyzer.dataset.object_stores import S3Settings
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_spark.session.gateway import spark_home

AWS_SDK = "2.35.4"
"""Version of the AWS SDK for which Hadoop 3.5.0 was built (hadoop-project-3.5.0.pom, aws-java-sdk-v2.version)."""
DEFAULT_REGION = "us-east-1"
"""Region of a custom endpoint, such as MinIO, if none is given."""


@dataclass(frozen=True, slots=True)
class StorageConnector:
    """Jars and settings of the embedded session for one kind of storage.

    scheme: scheme of the dataset's URI; packages: Maven coordinates to download, empty if the jars are installed;
    excluded: dependencies that are not downloaded; settings: Spark settings of the session.
    """

    scheme: str
    packages: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ConnectorKind:
    """Hadoop's connector for a scheme. artifact: artifact of org.apache.hadoop, in Hadoop's own version; others:
    packages that it needs; settings: returns the settings for a dataset's storage."""

    artifact: str
    others: tuple[str, ...]
    excluded: tuple[str, ...]
    settings: Callable[[Storage], dict[str, str]]


def connector_for(storage: Storage) -> StorageConnector | None:
    """Returns the connector for a dataset's storage; None if Spark needs none, or there is none for the scheme."""
    kind = _KINDS.get(storage.scheme)
    if kind is None:
        return None
    settings = kind.settings(storage)
    if any((spark_home() / "jars").glob(f"{kind.artifact}-*.jar")):
        return StorageConnector(storage.scheme, settings=settings)
    packages = (f"org.apache.hadoop:{kind.artifact}:{hadoop_version()}", *kind.others)
    return StorageConnector(storage.scheme, packages, kind.excluded, settings)


def hadoop_version() -> str:
    """Returns the version of Hadoop in the pyspark package; a connector must have the same."""
    names = (jar.name for jar in (spark_home() / "jars").glob("hadoop-client-api-*.jar"))
    return next(match[1] for match in map(re.compile(r"hadoop-client-api-(.+)\.jar").fullmatch, names) if match)


def _s3a_settings(storage: Storage) -> dict[str, str]:
    """Returns Hadoop's settings for the endpoint, region and credentials that pyarrow uses."""
    s3 = storage.s3 or S3Settings()
    settings = {"aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"}
    if s3.endpoint:
        url = s3.endpoint if "://" in s3.endpoint else f"https://{s3.endpoint}"
        settings |= {
            "endpoint": url,
            "path.style.access": "true",
            "connection.ssl.enabled": str(urlsplit(url).scheme != "http").lower(),
        }
    region = s3.region or (DEFAULT_REGION if s3.endpoint else None)
    if region:
        settings["endpoint.region"] = region
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}


_KINDS = {
    "s3": _ConnectorKind(
        artifact="hadoop-aws",
        others=tuple(f"software.amazon.awssdk:{name}:{AWS_SDK}" for name in ("s3", "s3-transfer-manager", "sts")),
        excluded=("software.amazon.awssdk:bundle",),
        settings=_s3a_settings,
    )
}
"""Scheme -> connector. hadoop-aws depends on the AWS SDK as one jar of all services, 686 MB; the parts that it uses
have 19 MB."""
