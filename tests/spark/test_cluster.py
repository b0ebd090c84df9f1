"""The same tables and stories on a cluster: a standalone master and two workers from the pyspark package, on loopback,
reached as `--master` and, through a Spark Connect server on it, as SPARK_REMOTE. `make slow` runs these tests."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pyspark
import pytest

from kafkascope_analyzer.cli.executor_archive import write_executor_archive
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_spark.stories.tables import CLIENT_TABLES, STORY_TABLES

pytestmark = [pytest.mark.spark, pytest.mark.lab]

HOME = pathlib.Path(pyspark.__file__).parent
PIECES = pathlib.Path(__file__).parents[2] / "fixtures" / "captures" / "pieces"
PATIENCE_S = 120
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Every JVM lives for some seconds: the second compiler would take longer than it saves."""
SPARK_OPTIONS = {"spark.sql.shuffle.partitions": "3", "spark.ui.enabled": "false"}
SUBMIT = " ".join((*(f"--conf {name}={value}" for name, value in SPARK_OPTIONS.items()), "pyspark-shell"))
CAPTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "captures"
DatasetOf = Callable[..., pathlib.Path]


class Daemons:
    """Spark's own daemons, each with its log; all are stopped at the end."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = os.environ | {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            "SPARK_DAEMON_MEMORY": "640m",
            "SPARK_WORKER_DIR": str(folder / "work"),
            "JDK_JAVA_OPTIONS": JVM_OPTIONS,
        }
        self.environment.pop("SPARK_REMOTE", None)

    def start(self, name: str, *command: str, until: str) -> re.Match[str]:
        """Start a daemon and wait for a line in its log."""
        log = self._folder / f"{name}.log"
        with log.open("wb") as out:
            daemon = subprocess.Popen(
                [str(HOME / "bin" / command[0]), *command[1:]],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self._folder,
                start_new_session=True,
            )
        self._running[name] = daemon
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends and daemon.poll() is None:
            found = re.search(until, log.read_text(errors="replace"))
            if found:
                return found
            time.sleep(0.2)
        raise AssertionError(f"{name} did not start: {log.read_text(errors='replace')[-2000:]}")

    def stop(self, *names: str) -> None:
        """Stop these, or all."""
        stopped = [self._running.pop(name) for name in names or reversed([*self._running])]
        for daemon in stopped:
            daemon.terminate()
        for daemon in stopped:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def start_cluster(daemons: Daemons) -> str:
    """A master and two workers of one core each; gives the master's URL."""
    deploy = "org.apache.spark.deploy"
    loopback = ("--host", "127.0.0.1", "--webui-port", "0")
    master = daemons.start(
        "master",
        "spark-class",
        f"{deploy}.master.Master",
        *loopback,
        "--port",
        "0",
        until=r"Starting Spark master at (spark://\S+)",
    ).group(1)
    for name in ("one", "two"):
        daemons.start(
            name,
            "spark-class",
            f"{deploy}.worker.Worker",
            *loopback,
            *("-c", "1", "-m", "1g"),
            master,
            until="Successfully registered with master",
        )
    return master


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemons, str]]:
    daemons = Daemons(tmp_path_factory.mktemp("cluster"))
    try:
        yield daemons, start_cluster(daemons)
    finally:
        daemons.stop()


def stories_of(daemons: Daemons, dataset: pathlib.Path, place: pathlib.Path, where: dict[str, str]) -> pathlib.Path:
    """A copy of the dataset with stories made there: by options (--master, --remote) or by environment."""
    shutil.copytree(dataset, place, ignore=shutil.ignore_patterns("stories"))
    options = [x for name, value in where.items() if name.startswith("--") for x in (name, value)]
    environment = daemons.environment | {n: v for n, v in where.items() if not n.startswith("--")}
    environment["PYSPARK_SUBMIT_ARGS"] = SUBMIT
    command = [sys.executable, "-m", "kafkascope_analyzer.cli", "stories", str(place), "-q", "--format", "json"]
    made = subprocess.run(
        [*command, *options], env=environment, capture_output=True, text=True, check=False, timeout=3 * PATIENCE_S
    )
    assert made.returncode == 0, made.stderr[-3000:]
    return place


def assert_same_rows(found: pathlib.Path, expected: pathlib.Path) -> None:
    for table in STORY_TABLES:
        mine, theirs = (Dataset.open(d).read(f"stories/{table.name}") for d in (found, expected))
        assert theirs.num_rows or table not in CLIENT_TABLES, table.name
        assert sorted(map(repr, mine.to_pylist())) == sorted(map(repr, theirs.to_pylist())), table.name


def test_a_master_with_two_workers_writes_the_same_stories(
    cluster: tuple[Daemons, str], dataset_of: DatasetOf, tmp_path: pathlib.Path
) -> None:
    daemons, master = cluster
    dataset = dataset_of("healthy_basic", rules=None)
    assert_same_rows(stories_of(daemons, dataset, tmp_path / "there.kscope", {"--master": master}), dataset)


def assert_ingests_the_same_tables(
    daemons: Daemons, out: pathlib.Path, where: dict[str, str], one: pathlib.Path
) -> None:
    """Ingest of healthy_basic there, by --master or by environment, writes the tables of the dataset `one`, but for the
    name of the capture: it and the dataset are named relative to a directory in which no worker runs."""
    name, place = "healthy_basic.pcap.zst", os.path.relpath(out, CAPTURES)
    command = ["-m", "kafkascope_analyzer.cli", "ingest", name, "-o", place]
    options = [x for name, value in where.items() if name.startswith("--") for x in (name, value)]
    made = subprocess.run(
        [sys.executable, *command, "--jobs", "2", *options, "-q", "--format", "json"],
        env=daemons.environment
        | {"PYSPARK_SUBMIT_ARGS": SUBMIT}
        | {name: value for name, value in where.items() if not name.startswith("--")},
        cwd=CAPTURES,
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * PATIENCE_S,
    )
    assert made.returncode == 0, made.stderr[-3000:]
    assert "[Stage" not in made.stderr, "Spark draws its progress although -q was given"
    found, expected = Dataset.open(out), Dataset.open(one)
    assert found.manifest.options["buckets"] == 2
    for table in INGEST_TABLES:
        mine, theirs = (dataset.read(table.name).to_pylist() for dataset in (found, expected))
        if table.name == "captures":
            assert [row.pop("path") for row in mine] == [name]
            assert [pathlib.Path(row.pop("path")).name for row in theirs] == [name]
        assert sorted(map(repr, mine)) == sorted(map(repr, theirs)), table.name


def test_a_master_with_two_workers_ingests_the_same_tables(
    cluster: tuple[Daemons, str], dataset_of: DatasetOf, tmp_path: pathlib.Path
) -> None:
    daemons, master = cluster
    assert_ingests_the_same_tables(
        daemons, tmp_path / "a.kscope", {"--master": master}, dataset_of("healthy_basic", rules=None)
    )


@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect needs pyspark[connect]")
def test_a_connect_server_writes_the_same_tables_and_stories(
    cluster: tuple[Daemons, str], dataset_of: DatasetOf, tmp_path: pathlib.Path
) -> None:
    daemons, master = cluster
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemons.start(
        "connect",
        "spark-submit",
        *("--master", master, "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *(part for name, value in SPARK_OPTIONS.items() for part in ("--conf", f"{name}={value}")),
        *("--conf", "spark.cores.max=1"),  # several executors are tested above
        "spark-internal",
        until="Spark Connect server started at",
    )
    url = f"sc://127.0.0.1:{port}"
    dataset = dataset_of("healthy_basic", rules=None)
    try:
        assert_same_rows(stories_of(daemons, dataset, tmp_path / "there.kscope", {"SPARK_REMOTE": url}), dataset)
        assert_ingests_the_same_tables(daemons, tmp_path / "ingested.kscope", {"SPARK_REMOTE": url}, dataset)
    finally:
        daemons.stop("connect")  # it keeps the workers' cores


READ_WITH_THE_ARCHIVE = """
import json, sys
from pathlib import Path
from pyspark.sql import functions as fn
from kafkascope_spark.data_source import KafkascopeDataSource
from kafkascope_spark.session import open_session

session = open_session(master=sys.argv[1])
session.conf.set("spark.sql.python.filterPushdown.enabled", True)
session.dataSource.register(KafkascopeDataSource)
frame = session.read.format("kafkascope").option("table", "requests").load(sys.argv[2:])
rows = sorted(map(repr, frame.toArrow().to_pylist()))

def place(number):
    import kafkascope_parsers, pyarrow
    from kafkascope_parsers.kernel_files import SHIPPED
    packages = Path(kafkascope_parsers.__file__).parents[1]
    return json.dumps([str(packages), str(Path(pyarrow.__file__).parents[1]), len([*SHIPPED.iterdir()])])

places = session.range(0, 8, 1, 8).select(fn.udf(place)("id")).distinct().collect()
print(json.dumps({"rows": rows, "places": [json.loads(row[0]) for row in places]}))
"""


def test_the_packed_archive_is_all_that_executors_need(tmp_path: pathlib.Path) -> None:
    """The workers know nothing of this installation: neither its Python nor its path."""
    captures = [str(PIECES / f"{name}.pcap.zst") for name in ("path_cut", "sasl_users")]
    expected: list[str] = []
    for number, capture in enumerate(captures):
        ingest([capture], tmp_path / f"{number}.kscope", IngestOptions(jobs=1))
        expected += map(repr, Dataset.open(tmp_path / f"{number}.kscope").read("requests").to_pylist())
    content = write_executor_archive(tmp_path / "executors.tar.gz")
    (tmp_path / "env").mkdir()
    subprocess.run(["tar", "-xzf", tmp_path / "executors.tar.gz", "-C", tmp_path / "env"], check=True)
    daemons = Daemons(tmp_path)
    driver = daemons.environment | {
        "PYSPARK_PYTHON": "./env/bin/python",
        "PYSPARK_SUBMIT_ARGS": f"--archives {tmp_path / 'executors.tar.gz'}#env pyspark-shell",
    }
    for name in ("PYTHONPATH", "PYSPARK_PYTHON", "HOME", "NUMBA_CACHE_DIR"):
        daemons.environment.pop(name, None)
    daemons.environment["PATH"] = f"{sys.base_prefix}/bin:/usr/bin:/bin"
    try:
        master = start_cluster(daemons)
        command = [sys.executable, "-c", READ_WITH_THE_ARCHIVE, master, *captures]
        made = subprocess.run(
            command, check=False, capture_output=True, text=True, env=driver, cwd=tmp_path, timeout=PATIENCE_S * 3
        )
        assert made.returncode == 0, made.stderr[-3000:]
        found = json.loads(made.stdout.splitlines()[-1])
        assert found["rows"] == sorted(expected)
        assert len(found["places"]) == 2
        for ours, numba, n_kernels in found["places"]:
            assert ours == numba
            assert ours.startswith(str(tmp_path / "work"))
            assert n_kernels == content.n_kernels > 0  # none was compiled there
    finally:
        daemons.stop()
