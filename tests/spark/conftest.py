import fcntl
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS, PARTITIONS
from kafkascope_spark.identity.grouping import Group
from kafkascope_spark.identity.instances import Instance
from kafkascope_spark.identity.kinds import kind_of
from kafkascope_spark.session import open_session
from kafkascope_spark.storms.mentions import followed, mentions_work
from kafkascope_spark.storms.packs import SORT, packer
from kafkascope_spark.storms.storm import Storm, broken_by, packs_of
from kafkascope_spark.wire import Connection, Request

MS = 1_000_000
Rows = list[dict[str, Any]]
FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
FOLDERS = (FIXTURES / "captures", FIXTURES / "starts", FIXTURES / "findings")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = open_session()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def told(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pathlib.Path]:
    """The dataset of a fixture capture, with its stories; made once, by that process which asks first."""
    from kafkascope_analyzer.ingest.options import IngestOptions
    from kafkascope_analyzer.ingest.run import ingest
    from kafkascope_spark.stories import write_stories

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "told"
    folder.mkdir(exist_ok=True)

    def make(name: str) -> pathlib.Path:
        dataset, done = folder / f"{name}.kscope", folder / f"{name}.done"
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                request.getfixturevalue("spark")  # only here: the cluster needs none of its own
                place = next(p for p in (folder / f"{name}.pcap.zst" for folder in FOLDERS) if p.exists())
                ingest([place], dataset, IngestOptions(jobs=1))
                write_stories(dataset)
                done.touch()
        return dataset

    return make


@pytest.fixture
def touches_apart(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[dict[str, Any]]]:
    """The touches that storms' workers make of rows of partitions, errors and connections, in this process; vain: ids
    of the requests that failed with their connection. All addresses have a storm."""

    def make(
        mentions: Rows, errors: Rows, connections: Rows, vain: Sequence[str], n_files: int = 1
    ) -> list[dict[str, Any]]:
        dataset = tmp_path_factory.mktemp("apart.kscope")
        packs_of(dataset).mkdir(parents=True)
        for table, rows in ((PARTITIONS, mentions), (ERRORS, errors), (CONNECTIONS, connections)):
            (dataset / table.name).mkdir()
            schema = pa.schema([field.with_nullable(True) for field in table.schema])
            for k in range(n_files):
                some = pa.Table.from_pylist(list(rows[k::n_files]), schema)
                pq.write_table(some, dataset / table.name / f"part-{k}.parquet")
        addresses = {str(row["client_ip"]) for row in connections}
        storm = Storm(dataset, tuple(addresses), broken_by(dataset, tuple(addresses)), packs_of(dataset))
        work = mentions_work(storm, pa.array(vain, pa.string()))
        named = [row for reader, path in work for b in packer(storm.packs, reader.read(path)) for row in b.to_pylist()]
        touched = followed(storm.packs)([pa.RecordBatch.from_pylist(sorted(named, key=_sort_key))]) if named else []
        packed = sorted((row for batch in touched for row in batch.to_pylist()), key=_sort_key)
        packs = [pa.ipc.open_file(row["packed"]).read_all().to_pylist() for row in packed]
        return [row | row["touch"][0] for rows in packs for row in rows]

    return make


def _sort_key(row: dict[str, Any]) -> list[Any]:
    return [row[name] for name in SORT]


@pytest.fixture
def connection() -> Callable[..., Connection]:
    """A connection; times in milliseconds: opened at `at`, closed by the client at `until` (None: not closed)."""

    def make(conn_id: str, at: int = 0, until: int | None = 1_000, **changes: Any) -> Connection:
        made = Connection(
            conn_id=conn_id,
            client_port=40_000,
            server="10.0.0.1:9092",
            node_id=1,
            protocol="kafka",
            first_ns=at * MS,
            last_ns=(until if until is not None else at + 1_000) * MS,
            syn_ns=at * MS,
            up_ns=at * MS + MS // 2,
            close_kind="open" if until is None else "fin_client",
            close_ns=None if until is None else until * MS,
            idle_ms=0,
            tls=False,
            sasl_mechanism=None,
            principal=None,
            software_name="apache-kafka-java",
            software_version="4.1.0",
            n_requests=1,
            n_errors=0,
            near_idle_ms=None,
            refused_after=0,
            client_id="app",
            first_request_ns=at * MS + MS,
            last_request_ns=at * MS + 2 * MS,
        )
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    return make


@pytest.fixture
def request_row() -> Callable[..., Request]:
    """A request; times in milliseconds: sent at `at`, answered at `answered` (None: never)."""

    def make(api_key: int, at: int, answered: int | None = None, **changes: Any) -> Request:
        made = Request(
            request_id=f"{changes.get('conn_id', 'c1')}-{api_key}-{at}",
            conn_id="c1",
            node_id=1,
            api_key=api_key,
            api_name="?",
            api_version=1,
            correlation_id=at,
            ts_ns=at * MS,
            request_last_ns=at * MS,
            response_ns=None if answered is None else answered * MS,
            latency_us=None if answered is None else (answered - at) * 1_000,
            error_code=0,
            error_name=None,
            status="unanswered" if answered is None else "ok",
            group_id=None,
            member_id=None,
            group_instance_id=None,
            generation_or_epoch=None,
            transactional_id=None,
            max_wait_ms=None,
            coordinator_type=None,
            coordinator_key=None,
            sasl_mechanism=None,
            n_records=None,
        )
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    return make


@pytest.fixture
def instance() -> Callable[..., Instance]:
    """An instance of these connections."""

    def make(*connections: Connection) -> Instance:
        group = Group(list(connections))
        return Instance("ci-1", "10.0.0.9", "app", kind_of(group.connections), group, group.connections)

    return make
