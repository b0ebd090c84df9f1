"""Events of groups, against SQL over the tables and messages that ingest writes beside them."""

import io
import json
import pathlib
import struct
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.memory.limits import Limits

FIXTURES = pathlib.Path(__file__).parents[4] / "fixtures"
CAPTURES = {
    "rebalance": FIXTURES / "groups" / "rebalance.pcap.zst",
    "healthy_basic": FIXTURES / "captures" / "healthy_basic.pcap.zst",
    "txn": FIXTURES / "captures" / "txn.pcap.zst",
}
Row = dict[str, Any]
Ingested = Callable[..., pathlib.Path]


@pytest.fixture(scope="module", params=CAPTURES)
def dataset(request: pytest.FixtureRequest, ingested: Ingested) -> pathlib.Path:
    return ingested(CAPTURES[request.param])


def sql(dataset: pathlib.Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query in which {name} is a table of the dataset."""
    opened = Dataset.open(dataset)
    names = {table.name: table.name for table in INGEST_TABLES}
    with duckdb.connect() as connection:
        for name in names:
            connection.register(name, opened.arrow(name))
        rows: list[tuple[Any, ...]] = connection.execute(query.format(**names)).fetchall()
    return rows


def test_members_are_rolled_up_by_generation_api_and_connection(dataset: pathlib.Path) -> None:
    want = sql(
        dataset,
        """select group_id, api_key, member_id, generation_or_epoch, conn_id, min(ts_ns), max(ts_ns), count(*),
                  arg_min(request_id, ts_ns)
           from {requests}
           where api_name in ('Heartbeat', 'OffsetCommit', 'ConsumerGroupHeartbeat') and group_id is not null
             and coalesce(error_code, 0) = 0 and member_id != '' and generation_or_epoch >= 0
             and status != 'orphan_response'
           group by all order by all""",
    )
    got = sql(
        dataset,
        """select key, m.api_key, m.member_id, m.generation_or_epoch, conn_id, ts_ns, m.last_ns, m.n, m.request_id
           from (select *, group_member as m from {events} where kind = 'group_member') order by all""",
    )
    assert got == want
    assert len(want) > 1


def test_requests_that_form_groups_are_events_with_their_bodies(dataset: pathlib.Path) -> None:
    want = sql(
        dataset,
        """select coalesce(group_id, coordinator_key), request_id, api_name, ts_ns, status, error_name, r.client_ip,
                  greatest(response_ns, response_last_ns), close_ns, close_kind
           from {requests} r join (select conn_id, close_ns, close_kind from {connections}) using (conn_id)
           where status != 'orphan_response' and (
             api_name in ('JoinGroup', 'SyncGroup', 'LeaveGroup') and group_id is not null
             or api_name = 'Heartbeat' and error_name != 'NONE'
             or api_name = 'FindCoordinator' and coordinator_type = 'group' and status = 'ok'
             or api_name in ('OffsetCommit', 'TxnOffsetCommit') and error_name in ('REBALANCE_IN_PROGRESS',
                'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_INSTANCE_ID'))
           order by all""",
    )
    got = sql(
        dataset,
        """select key, q.request_id, r.api_name, e.ts_ns, q.status, q.error_name, e.client_ip, q.response_ns,
                  q.close_ns, q.close_kind
           from (select *, group_request as q from {events} where kind = 'group_request') e
           join {requests} r on r.request_id = q.request_id order by all""",
    )
    assert got == want
    assert len(want) > 1
    for api, direction, fields in (
        ("JoinGroup", "request", ("member_id", "session_timeout_ms", "protocol_type", "reason")),
        ("JoinGroup", "response", ("member_id", "generation_id", "protocol_name", "leader")),
        ("SyncGroup", "response", ("assignment",)),
    ):
        if (dataset / "messages" / api / direction).is_dir():
            messages = f"'{dataset}/messages/{api}/{direction}/**/*.parquet'"
            ours = ", ".join(f"group_request.{direction}.{name}" for name in fields)
            where = f"group_request.request_id in (select request_id from {messages})"
            bodies = sql(dataset, f"select group_request.request_id, {ours} from {{events}} where {where} order by all")
            kafkas = sql(dataset, f"select request_id, {', '.join(fields)} from {messages} order by all")
            assert bodies == kafkas, (api, direction)


def test_lag_is_the_last_commit_against_the_end_that_fetch_had_reported(dataset: pathlib.Path) -> None:
    want = sql(
        dataset,
        """with commits as (
             select group_id, generation_or_epoch as generation, topic, partition,
               max((p.ts_ns, p.partition_offset)) as last
             from {partitions} p join {requests} r using (request_id)
             where p.api_key in (8, 28) and p.direction = 'request' and p.partition_offset >= 0 and topic is not null
               and status = 'ok' and coalesce(n_errors, 0) = 0 and generation_or_epoch >= 0
             group by all),
           ends as (select topic, partition, ts_ns, high_watermark from {partitions}
                    where api_key = 1 and direction = 'response' and high_watermark >= 0)
           select group_id, generation, c.topic, c.partition, last[1], last[2], max(high_watermark)
           from commits c join ends e on c.topic = e.topic and c.partition = e.partition
             and e.ts_ns // 1000000000 <= c.last[1] // 1000000000
           group by all order by all""",
    )
    got = sql(
        dataset,
        """select key, l.generation_or_epoch, l.topic, l.partition, ts_ns, l.committed_offset, l.high_watermark
           from (select *, group_lag as l from {events} where kind = 'group_lag') order by all""",
    )
    assert got == want
    assert want


def events_of(place: pathlib.Path) -> list[str]:
    """The events of groups, sorted, without the numbers of packets, which begin anew with each file."""
    rows = Dataset.open(place).read("events", filter=pc.field("key_kind") == "group").to_pylist()
    return sorted(json.dumps(row | {"packet_no": 0}, default=str, sort_keys=True) for row in rows)


@pytest.mark.slow
def test_rotated_files_change_nothing(
    ingested: Ingested, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(CAPTURES["rebalance"].read_bytes())).read()
    header, records, at = data[:24], [], 24
    order = "<" if struct.unpack("<I", data[:4])[0] in (0xA1B2C3D4, 0xA1B23C4D) else ">"
    while at < len(data):
        size = 16 + struct.unpack_from(f"{order}I", data, at + 8)[0]
        records.append(data[at : at + size])
        at += size
    files = []
    for number, first in enumerate(range(0, len(records), len(records) // 3 + 1)):
        files.append(tmp_path / f"rotated-{number}.pcap")
        files[-1].write_bytes(header + b"".join(records[first : first + len(records) // 3 + 1]))
    assert len(files) == 3
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.limits_within", lambda _: Limits(batch_bytes=4096))
    ingest(files, tmp_path / "rotated.kscope", IngestOptions(jobs=2))
    whole = events_of(ingested(CAPTURES["rebalance"]))
    assert len(whole) > 20
    assert events_of(tmp_path / "rotated.kscope") == whole


def test_a_capture_without_groups_has_no_events_of_groups(ingested: Ingested) -> None:
    events = Dataset.open(ingested(FIXTURES / "captures" / "pieces" / "tls_hellos.pcap.zst")).read("events")
    assert "group" not in events["key_kind"].to_pylist()
    assert isinstance(events.schema.field("group_lag").type, pa.StructType)
