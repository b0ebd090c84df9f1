"""What flows through topic-partitions, of real captures: against what tshark lists of a producer's batches, and against
the lines that producers and consumers wrote about each record."""

import gzip
import json
import math
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.latency_histogram import LatencyClass, added_up, percentile_us
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.resolve.flow.clients import CONSUMERS, GROUP_CLIENTS, readers
from kafkascope_analyzer.resolve.flow.facts import slice_length_ns
from kafkascope_analyzer.scan.spill import Spill

FIXTURES = Path(__file__).parents[4] / "fixtures"
MS, SECOND = 1_000_000, 1_000_000_000


def ingested(capture, folder):
    ingest([capture], folder / "of.kscope", IngestOptions(jobs=1))
    return folder / "of.kscope"


def events(dataset, kind):
    table = Dataset.open(dataset).read("events", filter=pc.field("kind") == kind)
    return [row | row[kind] for row in table.select(["conn_id", "client_ip", "ts_ns", kind]).to_pylist()]


def in_class(us):
    """A latency as near to it as a class can name it."""
    return pytest.approx(us, rel=0.0626, abs=1)


def test_accepted_records_are_those_that_tshark_lists(tmp_path):
    dataset = ingested(FIXTURES / "captures" / "leader_move.pcap.zst", tmp_path)
    connections = pq.read_table(dataset / "connections", partitioning=None, columns=["conn_id", "client_port"])
    ports = dict(zip(*connections.to_pydict().values(), strict=True))
    lines = [line.split("\t") for line in (FIXTURES / "flow" / "leader_move.tsv").read_text().splitlines()]
    rows = [(int(port), topic, *map(int, rest)) for port, _, topic, *rest in lines]
    clock_ns = min(int(line[1]) - int(line[5]) * MS for line in lines)
    expected = defaultdict(lambda: ([], 0))
    for port, topic, partition, n, first_ms, last_ms, answered_ns, error, offset in rows:
        assert n == 1 or first_ms == last_ms or n <= 8
        if error == 0:
            key = port, topic, partition, answered_ns // SECOND
            steps = [(2 * k + 1) / (2 * n) for k in range(n)]
            created = [first_ms + (last_ms - first_ms) * step for step in steps]
            latencies, end = expected[key]
            ages = [(answered_ns - clock_ns - ms * MS) / 1000 for ms in created]
            expected[key] = latencies + ages, max(end, offset + n)
    mine = {(key[0], key[3]) for key in expected}
    found = {
        (ports[row["conn_id"]], row["topic"], row["partition"], row["ts_ns"] // SECOND): row
        for row in events(dataset, "produce_slice")
        if (ports[row["conn_id"]], row["ts_ns"] // SECOND) in mine
    }
    assert set(found) == set(expected)
    assert len(found) > 100
    for key, (latencies, end) in expected.items():
        counts = added_up([[LatencyClass(**each) for each in found[key]["latencies"] or ()]])
        assert (found[key]["n_records"], found[key]["end_offset"]) == (len(latencies), end)
        values = [us for us, n in sorted(counts.items()) for _ in range(n)]
        assert values == [pytest.approx(us, rel=0.126, abs=2) for us in sorted(latencies)]
        assert percentile_us(counts, 0.5) == in_class(sorted(latencies)[math.ceil(len(latencies) / 2) - 1])


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    return ingested(FIXTURES / "service" / "frozen_broker.pcap.zst", tmp_path_factory.mktemp("frozen"))


@pytest.fixture(scope="module")
def lines():
    with gzip.open(FIXTURES / "service" / "frozen_broker.deliveries.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def test_each_record_is_accepted_once_and_fetched_once_by_each_group(frozen, lines):
    acked = Counter((row["topic"], row["partition"]) for row in lines if row["event"] == "acked")
    accepted, fetched = Counter(), Counter()
    for row in events(frozen, "produce_slice"):
        accepted[row["topic"], row["partition"]] += row["n_records"]
    for row in events(frozen, "fetch_slice"):
        fetched[row["topic"], row["partition"]] += row["n_records"]
    assert accepted == acked
    assert fetched == Counter({place: 2 * n for place, n in acked.items()})  # there are two groups


def test_slices_are_of_a_round_length():
    minute, hour = 60 * SECOND, 3600 * SECOND
    lengths = [
        slice_length_ns(of) // SECOND for of in (0, 40 * SECOND, minute, 61 * SECOND, 10 * minute, hour, 20 * hour)
    ]
    assert lengths == [1, 1, 1, 2, 10, 60, 1800]
    assert slice_length_ns(90 * 24 * hour) == 24 * hour


def test_members_of_a_group_are_one_reader(tmp_path):
    """Clients 0 and 1 fetch, for the groups for which they join on connections 3 and 4. Client 2 has no group, and the
    one on connection 5 acts for two groups."""
    spill = Spill(tmp_path)
    spill.gather(CONSUMERS, pa.table({"conn": [0, 1, 2, 5], "client_id": ["a", "b", "c", "d"]}))
    acts = {"conn": [3, 4, 5, 5], "client_id": ["a", "b", "d", "d"], "group_id": ["g", "g", "g", "h"]}
    spill.gather(GROUP_CLIENTS, pa.table(acts))
    spill.close()
    addresses = pa.chunked_array([["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"]])
    numbers = readers({tmp_path: pa.table({"client_ip": addresses})}).tolist()
    assert numbers[0] == numbers[1]
    assert len({numbers[place] for place in (0, 2, 5)}) == 3


def test_a_client_id_at_another_address_is_another_client(tmp_path):
    spill = Spill(tmp_path)
    spill.gather(CONSUMERS, pa.table({"conn": [0, 1], "client_id": ["rdkafka", "rdkafka"]}))
    spill.gather(GROUP_CLIENTS, pa.table({"conn": [2], "client_id": ["rdkafka"], "group_id": ["g"]}))
    spill.close()
    addresses = pa.chunked_array([["10.0.0.1", "10.0.0.2", "10.0.0.1"]])
    numbers = readers({tmp_path: pa.table({"client_ip": addresses})}).tolist()
    assert numbers[0] != numbers[1]


@pytest.mark.slow
def test_what_is_beyond_a_limit_is_counted(frozen, tmp_path, monkeypatch):
    monkeypatch.setattr("kafkascope_analyzer.resolve.flow.rows.MOST_PLACES", 2)
    few = ingested(FIXTURES / "service" / "frozen_broker.pcap.zst", tmp_path)
    hit = json.loads((few / "_dataset.json").read_text())["limits_hit"]
    assert hit["partition_flow"] > 100
    assert "partition_flow" not in json.loads((frozen / "_dataset.json").read_text())["limits_hit"]
    followed = {row["partition"] for row in events(few, "produce_slice")}
    assert len(followed) == 2
    of_followed = [row for row in events(frozen, "fetch_slice") if row["partition"] in followed]
    assert events(few, "fetch_slice") == of_followed


def test_committed_offsets_are_the_last_that_were_accepted_in_each_slice(tmp_path):
    """Against SQL over requests and partitions."""
    dataset = ingested(FIXTURES / "service" / "member_evicted.pcap.zst", tmp_path)
    query = f"""
        select conn_id, group_id, topic, partition, p.ts_ns // slice_ns * slice_ns as slice, max(p.ts_ns),
            max_by(partition_offset, p.ts_ns)
        from '{dataset}/partitions/**/*.parquet' p join '{dataset}/requests/**/*.parquet' using (request_id, conn_id),
            (select {SECOND} as slice_ns)
        where p.api_key in (8, 28) and direction = 'request' and n_errors = 0 and status = 'ok'
        group by all"""
    found = [
        (r["conn_id"], r["group_id"], r["topic"], r["partition"], r["ts_ns"], r["last_ns"], r["committed_offset"])
        for r in events(dataset, "commit_slice")
    ]
    ((refused,),) = duckdb.sql(f"select count(*) from '{dataset}/errors/**/*.parquet' where api_key = 8").fetchall()
    assert refused, "the capture has commits that were refused"
    assert sorted(found) == sorted(duckdb.sql(query).fetchall())
    assert found
