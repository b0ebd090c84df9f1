"""The rows of a dataset do not depend on how many processes read the capture, nor on how much they read at a time.

Of every table: no other module shares out the reading of a capture to compare its own table's rows.
"""

import json
from multiprocessing import get_context

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.memory.limits import Limits
from kafkascope_analyzer.scan.record_detail import RecordDetail

CAPTURES = {
    "leader_move": "leader_move.pcap.zst",
    "follower_fetch": "pieces/follower_fetch_start.pcap.zst",
    "mid_stream": "mid_stream-any.pcap.zst",
    "snaplen": "mid_stream-snap96.pcap.zst",
    "first_response": "pieces/mid_stream_cut.pcap.zst",
    "tls": "pieces/tls_hellos.pcap.zst",
    "dns": "pieces/dns_names.pcap.zst",
    "groups": "../groups/rebalance.pcap.zst",
    "path_cut": "pieces/path_cut.pcap.zst",
    "frozen_broker": "pieces/frozen_broker.pcap.zst",
    "late_reports": "pieces/late_reports.pcap.zst",
}
FAST = ("first_response", "groups", "path_cut")
"""Those of `make test`: a capture that begins in the middle of a response, one with groups, one with lost packets. The
others are behind `make slow`."""
SERVER_EVENTS = {"server_host", "server_wait", "life_sign"}
EVENTS = {
    "groups": {"group_member", "group_request", "group_lag"},
    "path_cut": SERVER_EVENTS,
    "frozen_broker": SERVER_EVENTS,
}
"""Events that these captures are here for."""


def small(block_bytes):
    """Limits by which a block is decoded in many batches, too."""
    return Limits(block_bytes=block_bytes, batch_bytes=4096)


SHARED_OUT = [(3, small(64 << 10))]
"""(jobs, limits); compared with one job and its usual limits."""
SHARED_OUT_OF = {
    "late_reports": [(2, small(4 << 10)), (1, small(16 << 10))],
    "first_response": [(1, small(2 << 10)), (2, small(16 << 10))],
    "leader_move": [(3, small(256 << 10))],
    "groups": [(3, small(256 << 10))],
}
"""Likewise, for a capture that is smaller than those blocks, and for those that would make a hundred of them."""


def rows_of(place):
    """Every table's rows, sorted; the ledger, and how many rows the manifest says there are."""
    opened = Dataset.open(place)
    rows = {table: sorted(map(repr, opened.read(table).to_pylist())) for table in opened.tables}
    manifest = json.loads((place / "_dataset.json").read_text())
    counts = {name: sum(file["rows"] for file in files) for name, files in manifest["files"].items()}
    return rows, manifest["ledger"], counts


def values_of(place, table, *columns):
    return Dataset.open(place).read(table, list(columns)).to_pylist()


@pytest.fixture
def dataset_with(fixtures_captures, tmp_path, monkeypatch):
    def dataset(name, jobs, limits):
        monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
        monkeypatch.setattr("kafkascope_analyzer.ingest.run.limits_within", lambda _: limits)
        out = tmp_path / f"{jobs}-{limits.block_bytes}.kscope"
        ingest([fixtures_captures / CAPTURES[name]], out, IngestOptions(jobs=jobs, detail=RecordDetail.BATCHES))
        assert json.loads((out / "_dataset.json").read_text())["options"]["buckets"] == jobs
        return out

    return dataset


@pytest.fixture
def fixtures_captures(request):
    return request.config.rootpath / "fixtures" / "captures"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.lab) for name in CAPTURES]
)
def test_jobs_and_blocks_change_nothing(dataset_with, fixtures_captures, ingested, name):
    """Of each kind of traffic a small capture; leader_move, which has all of them at ten times the size, is slow."""
    by_one = ingested(fixtures_captures / CAPTURES[name], RecordDetail.BATCHES)
    whole, ledger, counts = rows_of(by_one)
    assert len(whole["connections"]) > 2
    assert ledger["stream_bytes"] > 10_000
    assert EVENTS.get(name, set()) <= {row["kind"] for row in values_of(by_one, "events", "kind")}
    for jobs, limits in SHARED_OUT_OF.get(name, SHARED_OUT):
        rows, other_ledger, other_counts = rows_of(dataset_with(name, jobs, limits))
        assert set(rows) == set(whole)
        for table in whole:
            assert rows[table] == whole[table], (table, jobs, limits)
        assert (other_ledger, other_counts) == (ledger, counts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "jobs", "group_connections"),
    [("late_reports", 1, 2), ("groups", 2, 15), ("path_cut", 1, 20), ("dns", 1, 8)],
)
def test_groups_of_connections_change_nothing(
    dataset_with, fixtures_captures, ingested, monkeypatch, name, jobs, group_connections
):
    """The second pass over a bucket with many connections takes some of them at a time; here it takes a few."""
    whole, ledger, counts = rows_of(ingested(fixtures_captures / CAPTURES[name], RecordDetail.BATCHES))
    assert len(whole["connections"]) > jobs * group_connections
    monkeypatch.setattr("kafkascope_analyzer.workers.worker.GROUP_CONNECTIONS", group_connections)
    divided = dataset_with(name, jobs, small(1 << 20))
    assert {path.name[:7] for path in (divided / "connections").rglob("*.parquet")} >= {"part-g0", "part-g1"}
    rows, other_ledger, other_counts = rows_of(divided)
    for table in whole:
        assert rows[table] == whole[table], table
    assert (other_ledger, other_counts) == (ledger, counts)


@pytest.mark.parametrize("block_bytes", [4 << 10, 64 << 10])
def test_late_reports_of_leaders_contradict_no_advertised_address(dataset_with, block_bytes):
    """Every Metadata response says that node 1 is 10.77.0.11:9092, the server of all connections (tshark). Leaders of
    emails-leader76 moved to it before any response on them named it: OffsetForLeaderEpoch is answered in frame 78, and
    the next Metadata response is frame 134.
    """
    out = dataset_with("late_reports", 1, small(block_bytes))
    found = [tuple(row.values()) for row in values_of(out, "connections", "server_ip", "node_id", "node_id_why")]
    assert found == [("10.77.0.11", 1, "advertised as 10.77.0.11:9092")] * 4


@pytest.mark.slow
def test_workers_that_are_not_forked_write_the_same(dataset_with, monkeypatch):
    """As on macOS: processes start anew, share no memory, and blocks go through pipes."""
    forked = rows_of(dataset_with("follower_fetch", 2, small(1 << 20)))
    monkeypatch.setattr("kafkascope_analyzer.workers.processes._can_fork", lambda: False)
    started = []

    def seen(method):
        started.append(method)
        return get_context(method)

    monkeypatch.setattr("kafkascope_analyzer.workers.processes.get_context", seen)
    assert rows_of(dataset_with("follower_fetch", 2, small(1 << 20))) == forked
    assert started == ["spawn"]
