"""Facts about the connections of all buckets that the second pass over a bucket needs, besides `Cluster`.

The main process gathers them from the spills of all buckets, once for each cluster, and has the flow of records counted
by tasks; the second pass over every bucket gets the same facts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_analyzer.resolve.cluster.claims import gather_claims
from kafkascope_analyzer.resolve.connections.near_closes import CLOSE_COLUMNS, near_closes
from kafkascope_analyzer.resolve.cut_at_uncovered import without_unknown_idle
from kafkascope_analyzer.resolve.flow.checkpoint import SAVED_FLOW
from kafkascope_analyzer.resolve.flow.claimed_waits import claimed_waits
from kafkascope_analyzer.resolve.flow.facts import FlowWork, Reader, gather_flow
from kafkascope_analyzer.resolve.flow.fetch_facts import FetchRunEnds, fetch_runs, sorted_runs
from kafkascope_analyzer.resolve.flow.produce_facts import produce_waits, producer_clocks
from kafkascope_analyzer.resolve.flow.shares import shares_of
from kafkascope_analyzer.resolve.groups.lag import LagPoints, lag_points, last_commits
from kafkascope_analyzer.resolve.requests.failure_times import FailureTimes, failure_times, with_codes
from kafkascope_analyzer.resolve.requests.partition_failures import PartitionFailures, partition_failures
from kafkascope_analyzer.resolve.servers.activity import gather_server_rows
from kafkascope_analyzer.resolve.servers.add_up import SAVED_SERVERS, SumWork
from kafkascope_analyzer.resolve.servers.hosts import CONTACT_COLUMNS
from kafkascope_analyzer.resolve.servers.rows import ServerRows
from kafkascope_analyzer.resolve.tasks import RunTasks
from kafkascope_analyzer.resolve.transactions.facts import TransactionFacts, gather_transaction_facts
from kafkascope_analyzer.scan.failed_requests import FAILED_REQUESTS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.unanswered import UNANSWERED_PARTITIONS

_CONNECTION_COLUMNS = sorted({"conn_id", "client_ip", *CLOSE_COLUMNS, *CONTACT_COLUMNS})
_SUBJECT = pa.schema(
    [
        ("client_ip", pa.string()),
        ("api_key", pa.int16()),
        ("group_id", pa.string()),
        ("transactional_id", pa.string()),
        ("ts_ns", pa.int64()),
    ]
)
_ERROR_COLUMNS = ["conn", "api_key", "topic", "topic_id", "partition", "error_code", "ts_ns"]


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """Facts about all connections of a cluster.

    near_closes: other closes and refusals at each server around the end of its connections (near_closes.near_closes).
    request_failures: times of failed requests of STEADY_APIS, by client_ip, api_key, group_id and transactional_id.
    partition_failures: times at which topics and topic-partitions failed. transactions: facts about transactional ids.
    lag_points: the last offset that each generation of a group committed for each topic-partition, and the high
    watermark of that time (LAG_POINTS). fetch_runs, produce_waits: Fetch runs of consumers and waits of
    producers (fetch_facts.RUNS, produce_facts.WAITS; of encrypted producers by claimed_waits). servers: activity of
    servers as seen by their hosts. claims: inferred jobs of encrypted connections (claims.CLAIMS).
    slice_ns: length of the slices of time in which the flow through topic-partitions is counted.
    n_flow_left_out: responses about topic-partitions that were not counted because of the limits of flow.counts.
    uncovered: the times between the files that none of them covers.
    network_times: network times of connections between several capture points (network_times.NETWORK_TIMES).
    """

    near_closes: pa.Table
    request_failures: FailureTimes
    partition_failures: PartitionFailures
    transactions: TransactionFacts
    lag_points: pa.Table
    fetch_runs: pa.Table
    produce_waits: pa.Table
    servers: ServerRows
    claims: pa.Table
    slice_ns: int
    n_flow_left_out: int
    uncovered: Uncovered = NOTHING_UNCOVERED
    network_times: pa.Table | None = None


def gather_shared_facts(
    spills: Sequence[Path],
    cluster: Cluster,
    run: RunTasks,
    uncovered: Uncovered = NOTHING_UNCOVERED,
    saved: Path | None = None,
) -> SharedFacts:
    """Gathers the facts from the spills of the buckets, which belong to one cluster. cluster: has the names of topics;
    run: runs tasks over the spills; uncovered: the times that no file covers; saved: the folder of what
    earlier runs have added up; None where nothing is saved."""
    found = {spill: list(read_spill(spill, "connections", _CONNECTION_COLUMNS)) for spill in spills}
    connections = {spill: pa.concat_tables(tables) for spill, tables in found.items() if tables}
    connections = {spill: without_unknown_idle(rows, uncovered) for spill, rows in connections.items()}
    errors = (
        rows.filter(pc.not_equal(rows["error_code"], 0))
        for rows in _with_clients(connections, "errors", _ERROR_COLUMNS)
    )
    unanswered = _with_clients(connections, UNANSWERED_PARTITIONS)
    clocks = producer_clocks(connections)
    saved_flow, saved_servers = (None if saved is None else saved / name for name in (SAVED_FLOW, SAVED_SERVERS))
    work = FlowWork(run, _readers(connections, cluster.topics), saved_flow)
    flow = gather_flow(connections, cluster.topics, clocks, work)
    claims = gather_claims(connections, cluster.encrypted)
    waits = [produce_waits(flow.candidates, connections, clocks), claimed_waits(connections, claims)]
    offsets = pa.array(clocks.least_ns, mask=~clocks.is_usable)
    return SharedFacts(
        near_closes(connections.values()),
        _request_failures(connections),
        partition_failures(errors, unanswered, cluster.topics),
        gather_transaction_facts(spills, cluster.topics),
        lag_points([lag for lag, _ in flow.tables]),
        sorted_runs([runs for _, runs in flow.tables]),
        pa.concat_tables(waits),
        gather_server_rows(connections, cluster, uncovered, offsets, claims, SumWork(run, saved_servers)),
        claims,
        flow.slice_ns,
        flow.n_left_out,
        uncovered,
    )


def _readers(connections: Mapping[Path, pa.Table], topics: TopicNames) -> list[tuple[Reader, Reader]]:
    """Returns what each share of the topic-partitions looks for in responses, beside its flow: the high watermarks at
    the times of commits, and the ends of Fetch runs."""
    n, commits = len(connections), last_commits(connections, topics)
    runs, is_committed = fetch_runs(connections, topics)
    of_commits, of_runs = (
        shares_of(flat(rows["topic"]).dictionary_encode(), rows["partition"].to_numpy(), n) for rows in (commits, runs)
    )
    return [
        (
            LagPoints(commits.filter(pa.array(of_commits == share))),
            FetchRunEnds(runs.filter(pa.array(of_runs == share)), is_committed[of_runs == share]),
        )
        for share in range(n)
    ]


def _request_failures(connections: Mapping[Path, pa.Table]) -> FailureTimes:
    rows = (rows.select(_SUBJECT.names) for rows in _with_clients(connections, FAILED_REQUESTS))
    return failure_times(with_codes(each) for each in (_SUBJECT.empty_table(), *rows))


def _with_clients(
    connections: Mapping[Path, pa.Table], name: str, columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """Yields spilled rows of all buckets with client_ip, the address of their connection's client."""
    for spill, known in connections.items():
        for rows in read_spill(spill, name, columns):
            yield rows.append_column("client_ip", known["client_ip"].take(rows["conn"]).fill_null(""))
