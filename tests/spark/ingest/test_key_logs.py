"""Tasks of Spark decrypt with the secrets of their own connections, which they read from the key log themselves: no
closure, report or file has one. The tasks run in this process, each from its pickled closure, as Spark runs them.
"""

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.ingest.append import Plan
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest, write_tables
from kafkascope_analyzer.memory.limits import limits_within
from kafkascope_analyzer.read.key_logs import key_log_places, read_key_logs
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.link import LinkReader
from kafkascope_spark.ingest.engine import ReadSizes, SparkEngine
from kafkascope_spark.ingest.session_buckets import ShownSession, key_log_of, save_sessions, shown_sessions
from kafkascope_spark.ingest.task_files import TaskRun

TLS = Path(__file__).parents[3] / "fixtures" / "tls"


class TasksHere:
    """What the engine asks of a Spark session, done in this process. sent: the closures and the reports, pickled;
    after_stage: called after each stage."""

    def __init__(self, after_stage: Callable[[], None]) -> None:
        self.sent: list[bytes] = []
        self.after_stage = after_stage

    def range(self, *bounds: int) -> Any:
        first, end = (0, 1) if len(bounds) == 1 else bounds[:2]  # of `check_reachable` one partition is enough
        return SimpleNamespace(
            mapInArrow=lambda stage, schema: SimpleNamespace(toArrow=lambda: self._run(stage, first, end))
        )

    def _run(self, stage: Any, first: int, end: int) -> pa.Table:
        self.sent.append(cloudpickle.dumps(stage))
        rows: list[pa.RecordBatch] = []
        for number in range(first, end):
            batch = pa.RecordBatch.from_pydict({"id": [number]})
            rows += pickle.loads(self.sent[-1])(iter([batch]))
        self.sent += [
            value if isinstance(value, bytes) else value.encode() for row in rows for value in row[0].to_pylist()
        ]
        self.after_stage()
        return pa.Table.from_batches(rows)


def on_tasks(session: TasksHere, capture: Path, out: Path, n_buckets: int, key_log: Path) -> Dataset:
    options = IngestOptions(jobs=n_buckets, key_logs=key_log_places([key_log]))
    with NewDataset(Storage.of(out)) as new:

        def engine_of(plan: Plan) -> SparkEngine:
            return SparkEngine(session, new, plan, options, sizes=ReadSizes(40_000))  # type: ignore[arg-type]

        new.commit(write_tables([capture], new, options, engine_of=engine_of))
    return Dataset.open(out)


def secrets_of(key_log: Path) -> set[bytes]:
    """The secrets of a key log, as text and as bytes."""
    found = set(re.findall(rb"\b[0-9a-fA-F]{64,96}$", key_log.read_bytes(), re.MULTILINE))
    return found | {bytes.fromhex(text.decode()) for text in found}


def assert_without(data: bytes, secrets: set[bytes], where: str) -> None:
    assert not any(secret in data for secret in secrets), where


@pytest.fixture
def resumed(tmp_path: Path) -> Path:
    """The key log of the fixture openssl without the line of the session of TLS 1.2 that is resumed: its secret is that
    of the session whose ticket the client sends on a connection of another bucket."""
    lines = (TLS / "openssl.keys").read_bytes().splitlines(True)
    last = [line for line in lines if line.startswith(b"CLIENT_RANDOM")][-1]
    (tmp_path / "openssl.keys").write_bytes(b"".join(line for line in lines if line != last))
    return tmp_path / "openssl.keys"


def test_tasks_decrypt_what_one_process_decrypts_and_no_secret_is_handed_around(tmp_path: Path, resumed: Path) -> None:
    capture, secrets, place = TLS / "openssl.pcap.zst", secrets_of(resumed), tmp_path / "there.kscope"
    assert len(secrets) > 10

    def look() -> None:
        for file in place.rglob("*"):
            if file.is_file():
                assert_without(file.read_bytes(), secrets, file.name)

    session = TasksHere(look)
    found = on_tasks(session, capture, place, 4, resumed)
    look()
    assert len(session.sent) > 8
    for sent in session.sent:
        assert_without(sent, secrets, "a closure or a report")
    ingest([capture], tmp_path / "here.kscope", IngestOptions(jobs=1, key_logs=key_log_places([resumed])))
    expected = Dataset.open(tmp_path / "here.kscope")
    for table in expected.tables:
        mine, theirs = (sorted(map(repr, dataset.read(table).to_pylist())) for dataset in (found, expected))
        assert mine == theirs, table
    assert found.manifest.ledger == expected.manifest.ledger
    assert sum(row["tls_decrypted"] for row in found.read("connections").to_pylist()) == 6


def test_a_task_keeps_the_secrets_of_its_own_connections_alone(tmp_path: Path, resumed: Path) -> None:
    """Also that of a session that one of its own resumes, and those that no hello names."""
    stranger, n_buckets = b"\x77" * 32, 4
    resumed.write_bytes(resumed.read_bytes() + b"CLIENT_RANDOM " + stranger.hex().encode() + b" " + b"88" * 48 + b"\n")
    logs, limits = key_log_places([resumed]), limits_within(None)
    run = TaskRun(Storage.of(tmp_path), "run", n_buckets, RecordDetail.COUNTS, limits, key_logs=logs)
    link, sessions = LinkReader(), list[ShownSession]()
    for block in iter_blocks(TLS / "openssl.pcap.zst", 1 << 20):
        sessions += shown_sessions(run, ReadBlock(0, 0, *link.read_segments(block.buf, block.packets), []))
    place = save_sessions(run, sessions)
    logged = {random for random, _ in read_key_logs(logs).unseen()} - {stranger}
    assert len(logged) == 5
    n_resumed = 0
    for bucket in range(n_buckets):
        kept = {random for random, _ in key_log_of(run, bucket, place).unseen()} - {stranger}
        own = {session.message.random for session in sessions if session.bucket == bucket}
        originals = kept - own
        assert kept - originals == own & kept
        n_resumed += len(kept - logged)
        assert len(originals) <= len(kept - logged)  # one for each that has no line of its own
        assert stranger in {random for random, _ in key_log_of(run, bucket, place).unseen()}
    assert n_resumed == 1


def test_a_task_that_cannot_read_the_key_log_says_so_without_its_text(tmp_path: Path) -> None:
    """As where the key log is removed while the run is at work."""
    key_log = tmp_path / "gone.keys"
    key_log.write_bytes((TLS / "openssl.keys").read_bytes())
    session = TasksHere(lambda: key_log.unlink(missing_ok=len(session.sent) > 2))
    with pytest.raises(UsageError, match=r"gone\.keys: the key log cannot be read: No such file") as error:
        on_tasks(session, TLS / "openssl.pcap.zst", tmp_path / "there.kscope", 1, key_log)
    assert_without(str(error.value).encode(), secrets_of(TLS / "openssl.keys"), "the error")
    assert not (tmp_path / "there.kscope").exists()
