import fcntl
import pathlib
import shutil
from collections.abc import Callable, Collection, Iterator
from typing import Any
from zlib import crc32

import pytest
from scripts.stories_in_process import write_stories_in_process

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_spark.session import class_archive, open_session
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.identity.kinds import kind_of
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.write_stories import write_stories

MS = 1_000_000
FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
FOLDERS = tuple(
    FIXTURES / name for name in ("captures", "starts", "findings", "service", "captures/pieces", "reported", "tls")
)
WHOLLY_ON_SPARK = ("healthy_basic", "leader_move", "txn")
"""The captures of test_stories.py."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The embedded session. Its JVM uses an archive of Spark's classes and writes none: writing takes longer than the
    start, and this JVM ends when nothing follows."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(class_archive, "_claim", lambda claim: False)
        session = open_session()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def every_rule() -> tuple[str, ...]:
    """The names of all rules. Stories that ignore them take a third of the processor time of those with findings."""
    from kafkascope_spark.stories.findings.registry import RULES

    return tuple(rule.name for rule in RULES)


@pytest.fixture(scope="session")
def dataset_of(
    request: Any, shared_folder: pathlib.Path, ingested: Callable[..., pathlib.Path], every_rule: tuple[str, ...]
) -> Callable[..., pathlib.Path]:
    """The dataset of a fixture capture, with its stories; made once, by that process which asks first.

    rules: those whose findings a test reads, as few as it needs, since to ask every rule (None) takes Spark seconds.
    Without rules the dataset has no findings, and Spark has no part in it. Of the captures WHOLLY_ON_SPARK it asks
    every rule then, and writes all stories.
    """
    folder = shared_folder / "dataset_of"
    folder.mkdir(exist_ok=True)

    def make(name: str, rules: Collection[str] | None = ()) -> pathlib.Path:
        rules = every_rule if rules is None or (rules and name in WHOLLY_ON_SPARK) else rules
        place = folder / f"{crc32(' '.join(sorted(rules)).encode()):08x}"
        place.mkdir(exist_ok=True)
        dataset, done = place / f"{name}.kscope", place / f"{name}.done"
        with (place / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                capture = next(p for p in (folder / f"{name}.pcap.zst" for folder in FOLDERS) if p.exists())
                shutil.copytree(ingested(capture), dataset)
                # A session only where one is needed: the cluster needs none of its own.
                session = request.getfixturevalue("spark") if rules else None
                if rules and name in WHOLLY_ON_SPARK:
                    write_stories(dataset)
                else:
                    write_stories_in_process(dataset, session, set(every_rule).difference(rules))
                done.touch()
        return dataset

    return make


@pytest.fixture(scope="session")
def as_dataset() -> Callable[[pathlib.Path, tuple[int, int]], Dataset]:
    """A folder of tables as a dataset of a capture between these two times."""

    def make(place: pathlib.Path, capture_ns: tuple[int, int]) -> Dataset:
        inputs = [{"path": "a.pcap", "first_ns": capture_ns[0], "last_ns": capture_ns[1]}]
        (place / MANIFEST).write_text(Manifest(written_files(place), {}, inputs).to_json())
        return Dataset.open(place)

    return make


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
            broker_us=None if answered is None else (answered - at) * 1_000,
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
            client_id=None,
            response_last_ns=None,
            throttle_ms=None,
            in_flight=None,
            n_errors=None,
            n_partitions=None,
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
