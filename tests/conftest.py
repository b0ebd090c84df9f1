"""How two processes share the tests (`make test`: pytest-xdist, -n 2); any other number does the same work.

A module's tests stay together, so that its fixtures are made once; and those that need the embedded Spark session are
two groups, as its start and first queries take as long as many tests. The order is random (pytest-randomly) but for:

- first come two groups that between them compile all kernels of the parsers: each process compiles half of them, and
  finds the other half on disk; then a module that reads captures by one process, which compiles the analyzer's: where
  several share a capture that nobody has compiled for, each of them compiles;
- then what takes longest, by processor time, lest one process be left with it when the other is done: the Spark groups
  and the modules of LONG;
- last everything else.
"""

import fcntl
import gc
import logging
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.kernel_calls import check_kernel_calls

settings.register_profile("untimed", settings(deadline=None, suppress_health_check=[HealthCheck.too_slow]))
settings.load_profile("untimed")
"""No test depends on how fast the machine is, or whether a kernel has to be compiled first."""

os.environ.setdefault("NUMBA_CACHE_DIR", str(Path.home() / ".cache" / "kafkascope"))
"""What compiled kernels are kept in, also for processes that a test gives another home or cache folder."""

COMPILING = {
    "packets": ("capture/test_formats.py", "link/test_link.py", "link/test_fragments.py", "tcp/test_streams.py"),
    "messages": ("framing/test_framer.py", "machine/test_golden.py", "records/test_batches.py"),
}
"""Group -> the modules of tests/parsers/ that between them call its kernels."""
GROUPS = {f"tests/parsers/{module}": group for group, modules in COMPILING.items() for module in modules}
SPARK, SPARK_FINDINGS = "spark", "spark: findings"
"""The groups of tests that need the embedded Spark session, one for each of two processes: those of the rules of
findings, and all others."""
LONG = (
    "tests/test_recipes.py",
    "tests/spark/test_failures.py",
    "tests/analyzer/report/html/test_browser.py",
    "tests/analyzer/cli/test_analyze.py",
    "tests/analyzer/ingest/test_append.py",
    "tests/analyzer/cli/test_report.py",
    "tests/analyzer/ingest/test_on_s3.py",
    "tests/analyzer/ingest/test_same_rows.py",
    "tests/analyzer/cut/test_cut.py",
    "tests/analyzer/report/test_incidents.py",
    "tests/analyzer/dataset/test_commands_on_s3.py",
    "tests/analyzer/report/html/test_screenshots.py",
    "tests/analyzer/cli/test_inputs.py",
    "tests/analyzer/ingest/test_two_clusters.py",
    "tests/analyzer/report/test_explain.py",
    "tests/analyzer/ingest/test_capture_points.py",
    "tests/analyzer/dataset/test_new_dataset.py",
    "tests/analyzer/report/html/test_hostile_text.py",
)
"""Modules that take ten seconds of processor time or more; first those of `make slow` that take a minute and more, with
which one process would otherwise be left alone at the end."""
FIRST = (*COMPILING, "tests/analyzer/ingest/test_pieces.py", SPARK, SPARK_FINDINGS, *LONG)


def group_of(nodeid: str) -> str:
    """The group in which a test runs: its module's, unless it shares more than a module's fixtures."""
    module, _, _ = nodeid.partition("::")
    if module.startswith("tests/spark/") and module not in OWN_SPARK and starts_spark(module):
        return SPARK_FINDINGS if module.startswith("tests/spark/stories/findings/") else SPARK
    return GROUPS.get(module, module)


OWN_SPARK = ("tests/spark/test_failures.py", "tests/spark/test_connectors.py", "tests/spark/test_cluster.py")
"""Modules that start Spark in processes of their own: they share a dataset at most."""
EARLY = "tests/spark/test_stories.py"
"""The first of the Spark group: most tests of the group need its datasets."""


@cache
def starts_spark(module: str) -> bool:
    """Whether a module has tests that start Spark: they are marked, and no other waits for those of the Spark group.

    By its text, as the process that hands out groups knows nothing of a test but its id.
    """
    return "mark.spark" in (Path(__file__).parents[1] / module).read_text("utf-8")


def rank(item: pytest.Item) -> int:
    """What comes first, and after that."""
    group = group_of(item.nodeid)
    return FIRST.index(group) if group in FIRST else len(FIRST)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--list-kernels", action="store_true", help="list the kernels that the program calls anew")


def pytest_configure(config: pytest.Config) -> None:
    check_kernel_calls(adds=config.getoption("list_kernels"))


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the garbage collector need not look through it each time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # extensions complain of objects that the end of the process leaves


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        needs_session = {"spark", "dataset_of"}.intersection(getattr(item, "fixturenames", ()))
        if needs_session and item.get_closest_marker("spark") is None:
            raise pytest.UsageError(f"{item.nodeid} needs the Spark session: mark it with pytest.mark.spark")
    items.sort(key=lambda item: (rank(item), not item.nodeid.startswith(EARLY)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands out groups in their order. Marks would do (--dist loadgroup), but pytest 9.2 no longer takes them: the ids
    that xdist marks are fixed there."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.fixture(scope="session")
def load_module() -> Callable[[Path], ModuleType]:
    """Imports a module that no package holds: a helper beside tests (their folders are not on the path), a script."""

    def load(path: Path) -> ModuleType:
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def ingested(shared_folder: Path) -> Callable[..., Path]:
    """The dataset of a fixture capture, without stories; made once, by that process which asks first. It is only read.

    detail: how much of the records it has (RecordDetail); by default as much as `ingest` writes by itself.
    """
    from kafkascope_analyzer.ingest.options import IngestOptions
    from kafkascope_analyzer.ingest.run import ingest
    from kafkascope_analyzer.scan.record_detail import RecordDetail

    def make(capture: Path, detail: RecordDetail = RecordDetail.COUNTS) -> Path:
        name = capture.name.partition(".")[0]
        folder = shared_folder / f"{capture.parent.name}-{capture.name}-{detail.name}"
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "done").exists():
                ingest([capture], folder / f"{name}.kscope", IngestOptions(jobs=1, detail=detail))
                (folder / "done").touch()
        return folder / f"{name}.kscope"

    return make


@pytest.fixture(scope="session")
def told_leader_move(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of fixtures/captures/leader_move.pcap.zst with its stories; of messages it has Metadata alone. It is
    only read."""
    folder = tmp_path_factory.mktemp("told")
    with tarfile.open(Path(__file__).parents[1] / "fixtures" / "datasets" / "leader_move.kscope.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "leader_move.kscope"


@pytest.fixture(scope="session")
def unpack(told_leader_move: Path) -> Callable[[Path], Path]:
    """Puts a copy of that dataset into a folder, to be changed."""

    def unpacked(folder: Path) -> Path:
        return Path(shutil.copytree(told_leader_move, folder / "leader_move.kscope"))

    return unpacked


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The endpoint of an S3 server (moto) in this process.

    It is S3 alone: moto's server of all services lists their 200 folders at each request, behind one lock.
    """
    from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = create_backend_app("s3")
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join()


class Bucket:
    """An empty bucket of the S3 server. uri: `s3://NAME`; client: boto3's."""

    def __init__(self, client: Any, name: str) -> None:
        self.client, self.name, self.uri = client, name, f"s3://{name}"
        client.create_bucket(Bucket=name)

    def upload(self, folder: Path, prefix: str) -> str:
        """Puts every file of a local folder under the prefix; gives the URI."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"{self.uri}/{prefix}"

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)

    def get(self, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=self.name, Key=key)["Body"].read())

    def remove(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)

    def keys(self, prefix: str = "") -> list[str]:
        return [key for key in self.all_keys(prefix) if not key.endswith("/")]

    def all_keys(self, prefix: str = "") -> list[str]:
        """Also of the empty objects with which Arrow marks folders."""
        found = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix).get("Contents", ())
        return sorted(entry["Key"] for entry in found)


@pytest.fixture(scope="session")
def bucket_numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture(scope="session")
def new_bucket(s3_server: str, bucket_numbers: Iterator[int]) -> Callable[[], Bucket]:
    """Makes a bucket. Whatever else is to reach it needs `s3_environment`."""
    import boto3

    access = {"aws_access_key_id": "tester", "aws_secret_access_key": "not-a-secret", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=s3_server, **access)
    return lambda: Bucket(client, f"captures-{next(bucket_numbers)}")


@pytest.fixture
def s3_environment(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the server, its region and credentials that it takes."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    settings = {"ENDPOINT_URL": s3_server, "ACCESS_KEY_ID": "tester", "SECRET_ACCESS_KEY": "not-a-secret"}
    for name, value in (settings | {"REGION": "us-east-1"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.fixture
def bucket(new_bucket: Callable[[], Bucket], s3_environment: None) -> Callable[[], Bucket]:
    """Makes a bucket, in an environment that names its server."""
    return new_bucket


@pytest.fixture(scope="session", autouse=True)
def _no_compilation_notes() -> Iterator[None]:
    """Commands in this process do not say that they compile: whether they do depends on what ran before."""
    from contextlib import nullcontext

    from kafkascope_analyzer.cli import exits

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exits, "compilation_notes", lambda messages: nullcontext())
        yield
