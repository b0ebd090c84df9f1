"""Starts MinIO, puts a capture into it, analyzes it into a dataset in MinIO, and compares the tables with those that
the same command writes on the local disk. Exits with 1 if a table differs.

    python scripts/minio_analyze.py MINIO [--capture FILE] [--port 9000] [--master URL | --remote URL]

MINIO: the server's program (go install github.com/minio/minio@latest). A cluster's workers must have been started with
CREDENTIALS in their environment, and its Spark needs the S3A connector: docs/storage.md.
"""

import argparse
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyarrow import fs

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import CAPTURES

CAPTURE = pathlib.Path(__file__).parents[1] / "fixtures" / "captures" / "leader_move.pcap.zst"
ADDRESS = "127.0.0.1"
BUCKET = "captures"
START_TIMEOUT_S = 30
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "kafkascope", "AWS_SECRET_ACCESS_KEY": "only-for-this-test"}


def main() -> int:
    """Returns the exit code."""
    options = _arguments()
    os.environ |= CREDENTIALS | {
        "AWS_ENDPOINT_URL": f"http://{ADDRESS}:{options.port}",
        "AWS_REGION": "us-east-1",
    }
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        os.environ.pop(name, None)
    where = [
        x for name in ("master", "remote") if getattr(options, name) for x in (f"--{name}", getattr(options, name))
    ]
    with tempfile.TemporaryDirectory() as folder, _minio(options.minio, options.port, folder):
        local, uri = pathlib.Path(folder) / "local.kscope", f"s3://{BUCKET}/dataset.kscope"
        _kafkascope("analyze", str(options.capture), "-o", str(local))
        _kafkascope("analyze", _upload(options.capture, options.port), "-o", uri, *where)
        return _differences(Dataset.open(uri), Dataset.open(local))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minio")
    parser.add_argument("--capture", type=pathlib.Path, default=CAPTURE)
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--master")
    parser.add_argument("--remote")
    return parser.parse_args()


@contextmanager
def _minio(program: str, port: int, folder: str) -> Iterator[None]:
    """A MinIO server with an empty store, while the block runs."""
    keys = {"MINIO_ROOT_USER": CREDENTIALS["AWS_ACCESS_KEY_ID"]}
    keys["MINIO_ROOT_PASSWORD"] = CREDENTIALS["AWS_SECRET_ACCESS_KEY"]
    address = ("--address", f"{ADDRESS}:{port}", "--console-address", f"{ADDRESS}:0")
    command = [program, "server", f"{folder}/store", *address, "--quiet"]
    server = subprocess.Popen(command, env=os.environ | keys)
    try:
        _wait_for(server, port)
        yield
    finally:
        server.terminate()
        server.wait()


def _wait_for(server: "subprocess.Popen[bytes]", port: int) -> None:
    patience_ends = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < patience_ends and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((ADDRESS, port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("MinIO does not start")


def _upload(capture: pathlib.Path, port: int) -> str:
    """Puts the capture into a new bucket. Returns its URI."""
    store = fs.S3FileSystem(
        endpoint_override=f"{ADDRESS}:{port}", scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    store.create_dir(BUCKET)
    place = f"{BUCKET}/in/{capture.name}"
    fs.copy_files(str(capture), place, fs.LocalFileSystem(), store)
    return f"s3://{place}"


def _kafkascope(*arguments: str) -> None:
    print("kafkascope", *arguments, flush=True)
    command = [sys.executable, "-m", "kafkascope_analyzer.cli", *arguments, "-q"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def _differences(written: Dataset, expected: Dataset) -> int:
    """Print for each table whether its rows are the same; 1 where those of one are not. (The rows of `captures` hold
    the place of the capture.)"""
    different = int(written.tables != expected.tables)
    for table in expected.tables:
        if table == CAPTURES.name:
            continue
        mine, theirs = (sorted(map(repr, d.read(table).to_pylist())) for d in (written, expected))
        print(f"{table}: {len(mine)} rows, {'the same' if mine == theirs else 'DIFFERENT'}")
        different |= mine != theirs
    return different


if __name__ == "__main__":
    sys.exit(main())
