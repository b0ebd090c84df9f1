"""Opens pyarrow's file system for a URI: S3, Google Cloud Storage, Azure, HDFS, and others through fsspec.

Credentials and endpoints come from the usual environment of each store, never from the URI. Functions raise the
exceptions of pyarrow, fsspec and the storage; `reason` turns them into a part of a sentence.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

S3_SCHEMES = ("s3", "s3a", "s3n")
GCS_SCHEMES = ("gs", "gcs")
AZURE_SCHEMES = ("abfs", "abfss")
CONNECT_SECONDS = 10
"""Timeout of the first response of an S3 endpoint."""
RETRY_SECONDS = 20
"""Time for which a failing request to Google Cloud Storage is repeated; the library's default is 15 minutes."""
_ATTEMPTS = 3
"""Number of attempts of a request to S3."""
_AZURE_PROBE_SECONDS = 60
_LONGEST_REASON = 200
"""Most characters of a storage library's message that are shown: some of them quote whole HTTP responses."""


@dataclass(frozen=True, slots=True)
class S3Settings:
    """Endpoint and region of S3 from the environment: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION or
    AWS_DEFAULT_REGION."""

    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def from_environment(cls) -> "S3Settings":
        """Returns the settings of this process."""
        return cls(
            _first_set("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), _first_set("AWS_REGION", "AWS_DEFAULT_REGION")
        )


def _first_set(*names: str) -> str | None:
    """Returns the first of these environment variables that has a value."""
    return next((value for value in map(os.environ.get, names) if value), None)


def open_store(uri: str, scheme: str, path: str, s3: S3Settings | None) -> tuple[Any, str]:
    """Returns the file system of a URI, and the path in it. path: the URI after the scheme; s3: the
    settings of its S3."""
    if s3 is not None:
        return open_s3(path.partition("/")[0], s3), path
    if scheme in GCS_SCHEMES:
        return open_gcs(), path
    if scheme in AZURE_SCHEMES:
        return open_azure(uri)
    return open_with_pyarrow_or_fsspec(uri)


def open_s3(bucket: str, settings: S3Settings) -> Any:
    """Opens S3 with the usual credentials (AWS_ACCESS_KEY_ID, ..., profiles, instance roles). A custom endpoint, such
    as MinIO's, may be http and is addressed by path.
    """
    from pyarrow import fs

    options: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        "background_writes": False,  # otherwise parts that wait for a slow network would pile up in memory
    }
    region = settings.region
    if settings.endpoint:
        parts = urlsplit(settings.endpoint if "://" in settings.endpoint else f"https://{settings.endpoint}")
        options |= {"endpoint_override": parts.netloc + parts.path.rstrip("/"), "scheme": parts.scheme}
        region = region or "us-east-1"
    elif region is None:
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(region=region, **options)


def open_gcs() -> Any:
    """Opens Google Cloud Storage with the application default credentials (GOOGLE_APPLICATION_CREDENTIALS, ...)."""
    from pyarrow import fs

    return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=RETRY_SECONDS))


def open_azure(uri: str) -> tuple[Any, str]:
    """Returns Azure's file system and the path in it, for `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`, or for
    `abfs://CONTAINER/PATH` with AZURE_STORAGE_ACCOUNT. The key or token is AZURE_STORAGE_KEY or
    AZURE_STORAGE_SAS_TOKEN; without them Azure's default credentials are used. Raises OSError where there are none.
    """
    from pyarrow import fs

    account, path = azure_account_and_path(uri)
    key, token = _first_set("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"), _first_set("AZURE_STORAGE_SAS_TOKEN")
    if key is None and token is None:
        _check_azure_credentials(account)
    return fs.AzureFileSystem(account, account_key=key, sas_token=None if key else token), path


def azure_account_and_path(uri: str) -> tuple[str, str]:
    """Returns the storage account in a URI, and the container with the path in it. Raises OSError without account."""
    parts = urlsplit(uri)
    container, _, host = parts.netloc.rpartition("@")
    account = host.partition(".")[0] if container else _first_set("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME")
    if not account:
        raise OSError("the URI names no storage account: write CONTAINER@ACCOUNT, or set AZURE_STORAGE_ACCOUNT")
    return account, f"{container or host}{parts.path}".rstrip("/")


def _check_azure_credentials(account: str) -> None:
    """Raises OSError where Azure's default credentials are missing. They are tried in a separate process, because
    Azure's library ends the process where there are none.
    """
    code = "import sys; from pyarrow import fs; fs.AzureFileSystem(sys.argv[1]).get_file_info('kafkascope-probe')"
    probe = subprocess.run(
        [sys.executable, "-c", code, account], capture_output=True, timeout=_AZURE_PROBE_SECONDS, check=False
    )
    if probe.returncode < 0:
        raise OSError("there are no Azure credentials: set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or log in")


def open_with_pyarrow_or_fsspec(uri: str) -> tuple[Any, str]:
    """Returns the file system and the path in it for any other scheme: pyarrow's own, else fsspec's. Raises ImportError
    where fsspec or its package for the scheme is missing, ValueError where the scheme is unknown.
    """
    from pyarrow import ArrowInvalid, fs

    try:
        opened, path = fs.FileSystem.from_uri(uri)
    except ArrowInvalid as error:
        if "Unrecognized filesystem" not in str(error):
            raise
    else:
        return opened, path.rstrip("/")
    from fsspec.core import url_to_fs

    opened, path = url_to_fs(uri)
    return fs.PyFileSystem(fs.FSSpecHandler(opened)), path.rstrip("/")


_REASONS: Mapping[str, str] = {
    "AWS Error NO_SUCH_BUCKET": "there is no such bucket",
    "Bucket '": "there is no such bucket",
    "AWS Error ACCESS_DENIED": "access is denied: check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)",
    "AWS Error INVALID_ACCESS_KEY_ID": "the access key is not known: check AWS_ACCESS_KEY_ID",
    "AWS Error SIGNATURE_DOES_NOT_MATCH": "the secret key is wrong: check AWS_SECRET_ACCESS_KEY",
    "AWS Error NETWORK_CONNECTION": "the storage cannot be reached: check the network and AWS_ENDPOINT_URL",
    "OAuth2 access token": "there are no Google credentials: set GOOGLE_APPLICATION_CREDENTIALS",
    "Unable to load libjvm": "HDFS needs Java: set JAVA_HOME, and HADOOP_HOME and CLASSPATH for Hadoop's libhdfs",
    "Unable to load libhdfs": "HDFS needs Hadoop's libhdfs: set HADOOP_HOME and CLASSPATH",
    "Protocol not known": "no file system is known for this scheme",
    "No module named 'fsspec'": "this scheme needs fsspec: install it, and its package for the scheme",
}
"""Part of a storage library's message -> its meaning for the user."""


def reason(error: Exception, verb: str) -> str:
    """Returns the part of a sentence that says why a storage failed, in one line. verb: `read` or `written`."""
    text = str(error)
    for part, meaning in _REASONS.items():
        if part in text:
            return meaning
    if isinstance(error, OSError) and error.strerror and "AWS" not in text:
        text = error.strerror
    first = " ".join(text.split())[:_LONGEST_REASON]
    return f"cannot be {verb}: {first}" if first else f"cannot be {verb} ({type(error).__name__})"
