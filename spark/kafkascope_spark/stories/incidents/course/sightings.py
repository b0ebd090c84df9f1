"""`Packets`: answers questions about the requests of a dataset, and finds the packets that show new leaders.

A new leader is shown by a follower that fetches from it with the new leader epoch, by a response that reports it to a
client (Metadata, or an error with the current leader: KIP-951), or by requests that it serves. Only the first row of
each connection, kind and epoch after each loss is kept: memory grows with the lost topic-partitions and the connections
that request them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS, PARTITIONS, REQUESTS
from kafkascope_parsers.api_keys import FETCH, JOIN_GROUP, METADATA, PRODUCE, SYNC_GROUP
from kafkascope_spark.stories.incidents.course.losses import Loss
from kafkascope_spark.stories.incidents.packets.broker_processes import BrokerProcesses, broker_processes
from kafkascope_spark.stories.incidents.packets.connection_waits import Unreached, connection_waits
from kafkascope_spark.stories.incidents.packets.contrast import Contrast, Question, contrasts
from kafkascope_spark.stories.incidents.packets.deleted_topics import Deletions, deletions_in
from kafkascope_spark.stories.incidents.packets.fetch_counts import FetchedBy, fetch_counts
from kafkascope_spark.stories.incidents.packets.late_leaders import SyncRequest
from kafkascope_spark.stories.incidents.packets.latencies import Asked, Latencies, latencies
from kafkascope_spark.stories.incidents.packets.long_polls import HeldRequest, held_requests
from kafkascope_spark.stories.incidents.packets.meanwhile import within
from kafkascope_spark.stories.incidents.packets.other_clusters import clusters_of_topics
from kafkascope_spark.stories.incidents.packets.replicas import Replicas
from kafkascope_spark.stories.incidents.packets.requested_partitions import Named, named_partitions
from kafkascope_spark.stories.incidents.packets.successes import Before, last_successes
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest, unanswered_requests
from kafkascope_spark.stories.incidents.packets.unused_member_ids import JoinRequest

R = TypeVar("R", bound=Row)
How = Literal["followed", "named", "served"]
_SHOWN = (
    "conn_id",
    "api_key",
    "direction",
    "leader_id",
    "leader_epoch",
    "current_leader_id",
    "current_leader_epoch",
)
"""Columns of `partitions` by which the rows of a topic-partition are grouped."""
_COLUMNS = ["request_id", "ts_ns", "topic", "partition", "error_code", *_SHOWN]


class _Seen(NamedTuple):
    """First row of a group of rows with the same topic-partition, the same values of _SHOWN and the same window of
    time."""

    name: str
    conn_id: str
    api_key: int
    direction: str
    leader_id: int | None
    leader_epoch: int | None
    current_leader_id: int | None
    current_leader_epoch: int | None
    window: int
    ts_ns: int
    request_id: str

    @property
    def group(self) -> tuple[str | int | None, ...]:
        """Returns the values that the rows of the group share."""
        return self[: -len(("ts_ns", "request_id"))]


@dataclass(frozen=True, slots=True)
class RequestPackets(Row):
    """A request with its client, its server, and the packets of the request and of its response."""

    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    client_ip: str | None
    client_id: str | None
    node_id: int | None
    replica_id: int | None
    response_ns: int | None
    response_last_ns: int | None
    request_packet_no: int | None
    response_packet_no: int | None

    @property
    def is_of_client(self) -> bool:
        """Whether a client sent the request, and not a broker."""
        return self.replica_id is None or self.replica_id < 0


@dataclass(frozen=True, slots=True)
class _ServerRoles(Row):
    """The roles of a connection."""

    TABLE: ClassVar[Table] = CONNECTIONS
    server_ip: str
    server_port: int
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Spoken(Row):
    """The protocol of a connection."""

    TABLE: ClassVar[Table] = CONNECTIONS
    client_ip: str
    server_ip: str
    server_port: int
    protocol: str | None


@dataclass(frozen=True, slots=True)
class ReportedError(Row):
    """An error in a response, with its message and the topic-partition that it is about."""

    TABLE: ClassVar[Table] = ERRORS
    request_id: str
    message: str | None
    topic: str | None
    partition: int | None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A packet that shows the new leader of a topic-partition: a replica follows it, a response reports it to a client
    (named), or it serves a client. node_id: the new leader."""

    loss: Loss
    how: How
    ts_ns: int
    node_id: int
    epoch: int | None
    request: RequestPackets

    @property
    def packet_no(self) -> int | None:
        """Number of the packet that shows it."""
        return self.request.request_packet_no if self.how == "followed" else self.request.response_packet_no


class Packets:
    """Questions about the packets of a dataset. dataset: None if there is none; then all answers are empty."""

    def __init__(self, dataset: Dataset | None = None) -> None:
        self._dataset = dataset

    def replicas(self, topics: Mapping[str, str]) -> Replicas:
        """Returns the changes of in-sync replicas. topics: names by topic id. Raises UsageError where a table cannot be
        read."""
        return Replicas() if self._dataset is None else Replicas.of(self._dataset, topics)

    def requests(self, request_ids: Collection[str]) -> dict[str, RequestPackets]:
        """Returns the requests by their ids. Raises UsageError where a table cannot be read."""
        if self._dataset is None or not request_ids:
            return {}
        rows = read(self._dataset, RequestPackets, one_of("request_id", sorted(request_ids)))
        return {row.request_id: row for row in rows}

    def contrasts(self, questions: Sequence[Question]) -> list[Contrast]:
        """Returns whose requests were answered, for each question. Raises UsageError where a table cannot be read."""
        return contrasts(self._dataset, questions)

    def connection_waits(self, questions: Sequence[Unreached]) -> list[int]:
        """Returns how long hosts waited for connections, for each question. Raises UsageError where a table cannot be
        read."""
        return connection_waits(self._dataset, questions)

    def latencies(self, questions: Sequence[Asked]) -> list[Latencies]:
        """Returns how long responses took, for each question. Raises UsageError where a table cannot be read."""
        return latencies(self._dataset, questions)

    def last_successes(self, questions: Sequence[Before]) -> list[int | None]:
        """Returns when one of the requests last succeeded, for each question. Raises UsageError where a table cannot be
        read."""
        return last_successes(self._dataset, questions)

    def fetches(self, questions: Sequence[FetchedBy]) -> list[int]:
        """Returns the number of Fetch requests, for each question. Raises UsageError where a table cannot be read."""
        return fetch_counts(self._dataset, questions)

    def unanswered(self, until_ns: int, keys: Collection[int]) -> list[UnansweredRequest]:
        """Returns the unanswered requests of some APIs that clients sent by a time. Raises UsageError where a table
        cannot be read."""
        return unanswered_requests(self._dataset, until_ns, keys)

    def held(self, request_ids: Collection[str]) -> list[HeldRequest]:
        """Returns those of the requests that waited behind a long poll. Raises UsageError where a table cannot be
        read."""
        return held_requests(self._dataset, request_ids)

    def named(self, request_ids: Collection[str], from_ns: int, to_ns: int) -> Named:
        """Returns the topic-partitions that requests name, sent in this time. Raises UsageError where a table cannot be
        read."""
        return named_partitions(self._dataset, request_ids, from_ns, to_ns)

    def deletions(self) -> Deletions:
        """Returns the topics that clients deleted. Raises UsageError where a table cannot be read."""
        return {} if self._dataset is None else deletions_in(self._dataset)

    def clusters_of_topics(self, topics: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Returns the other clusters that have a topic of that name. Raises UsageError where a table cannot be read."""
        return clusters_of_topics(self._dataset, topics)

    def processes(self) -> BrokerProcesses:
        """Returns when processes of brokers ended and started. Raises UsageError where a table cannot be read."""
        return BrokerProcesses() if self._dataset is None else broker_processes(self._dataset)

    def roles(self, servers: Collection[str]) -> dict[str, frozenset[str]]:
        """Returns the roles of all connections to each of the servers, by `address:port`. Raises UsageError where a
        table cannot be read."""
        found: dict[str, frozenset[str]] = defaultdict(frozenset)
        if self._dataset is not None and servers:
            addresses = sorted({server.rpartition(":")[0] for server in servers})
            for row in read(self._dataset, _ServerRoles, one_of("server_ip", addresses)):
                found[f"{row.server_ip}:{row.server_port}"] |= frozenset(row.roles)
        return found

    def encrypted(self, servers: Collection[str]) -> set[tuple[str, str]]:
        """Returns the pairs of host and server (`address:port`) whose connections are encrypted, none of them
        decrypted. Raises UsageError where a table cannot be read."""
        if self._dataset is None or not servers:
            return set()
        found: dict[tuple[str, str], set[str | None]] = defaultdict(set)
        for row in read(self._dataset, _Spoken, one_of("server_ip", sorted({s.rpartition(":")[0] for s in servers}))):
            found[row.client_ip, f"{row.server_ip}:{row.server_port}"].add(row.protocol)
        return {pair for pair, protocols in found.items() if "tls" in protocols and "kafka" not in protocols}

    def joins(self, group_ids: Collection[str]) -> list[JoinRequest]:
        """Returns the JoinGroup requests of the groups. Raises UsageError where a table cannot be read."""
        return self._of_groups(JoinRequest, JOIN_GROUP, group_ids)

    def syncs(self, group_ids: Collection[str]) -> list[SyncRequest]:
        """Returns the SyncGroup requests of the groups. Raises UsageError where a table cannot be read."""
        return self._of_groups(SyncRequest, SYNC_GROUP, group_ids)

    def _of_groups(self, kind: type[R], api_key: int, group_ids: Collection[str]) -> list[R]:
        """Returns the requests of an API that name one of the groups. Memory: these requests."""
        if self._dataset is None or not group_ids:
            return []
        chosen = one_of("group_id", sorted(group_ids)) & (ds.field("api_key") == api_key)
        return list(read(self._dataset, kind, chosen))

    def reported_errors(self, request_ids: Collection[str]) -> list[ReportedError]:
        """Returns the errors in responses to these requests. Raises UsageError where a table cannot be read."""
        if self._dataset is None or not request_ids:
            return []
        return list(read(self._dataset, ReportedError, one_of("request_id", sorted(request_ids))))

    def sightings(self, losses: Sequence[Loss]) -> dict[Loss, list[Sighting]]:
        """Returns the sightings of new leaders for each loss, in order of time. Raises UsageError where a table cannot
        be read."""
        if self._dataset is None or not losses:
            return {}
        by_name: dict[str, list[Loss]] = defaultdict(list)
        for loss in losses:
            by_name[loss.name].append(loss)
        rows = list(_first_rows(self._dataset, losses))
        requests = self.requests({row.request_id for row in rows})
        found: dict[Loss, list[Sighting]] = defaultdict(list)
        for row in sorted(rows, key=lambda r: (r.ts_ns, r.request_id)):
            request = requests.get(row.request_id)
            if request is None:
                continue
            for loss in by_name[row.name]:
                sighting = _sighting(row, loss, request) if loss.from_ns <= row.ts_ns <= loss.until_ns else None
                if sighting is not None:
                    found[loss].append(sighting)
        return found


def _sighting(row: _Seen, loss: Loss, request: RequestPackets) -> Sighting | None:
    """Returns the sighting that a row shows; None if it shows no new leader."""
    how: How = "named"
    if row.direction == "request":
        how, node_id, epoch = "followed", request.node_id, row.current_leader_epoch
    elif row.api_key == METADATA:
        node_id, epoch = row.leader_id, row.leader_epoch
    elif row.current_leader_id is not None and row.current_leader_id >= 0:
        node_id, epoch = row.current_leader_id, row.current_leader_epoch
    else:
        how, node_id, epoch = "served", request.node_id, None
    if request.is_of_client == (how == "followed") or node_id is None or node_id < 0:
        return None
    if node_id == loss.node_id or not loss.is_newer(epoch):
        return None
    return Sighting(loss, how, row.ts_ns, node_id, epoch, request)


def _first_rows(dataset: Dataset, losses: Sequence[Loss]) -> Iterable[_Seen]:
    """Returns the first row of each group in each window of time in which the same losses are looked for."""
    names = pa.array(sorted({loss.name for loss in losses}), pa.string())
    bounds = np.unique(np.array([loss.from_ns for loss in losses], np.int64))
    in_time = within("ts_ns", ((loss.from_ns, loss.until_ns) for loss in losses))
    chosen = in_time & ds.field("api_key").isin([PRODUCE, FETCH, METADATA])
    found: dict[tuple[str | int | None, ...], _Seen] = {}
    for batch in scan(dataset, PARTITIONS, _COLUMNS, chosen):
        for row in _firsts_of(batch, names, bounds):
            first = found.setdefault(row.group, row)
            if row.ts_ns < first.ts_ns:
                found[row.group] = row
    return found.values()


def _firsts_of(batch: pa.RecordBatch, names: pa.Array, bounds: NDArray[np.int64]) -> Iterator[_Seen]:
    """Yields the first row of each group of a batch. names: lost topic-partitions; bounds: times from which they are
    lost."""
    table = pa.Table.from_batches([batch])
    name = pc.binary_join_element_wise(table["topic"], pc.cast(table["partition"], pa.string()), "-")
    table = table.append_column("name", name).filter(pc.is_in(name, names))
    table = table.filter(_is_of_leader(table))
    window = np.searchsorted(bounds, table["ts_ns"].to_numpy(), "right")
    table = table.append_column("window", pa.array(window, pa.int64())).sort_by("ts_ns")
    grouped = table.group_by(["name", *_SHOWN, "window"], use_threads=False)
    firsts = grouped.aggregate([("ts_ns", "first"), ("request_id", "first")])
    return map(
        _Seen,
        *(firsts[column].to_pylist() for column in ("name", *_SHOWN, "window")),
        firsts["ts_ns_first"].to_pylist(),
        firsts["request_id_first"].to_pylist(),
    )


def _is_of_leader(table: pa.Table) -> pa.ChunkedArray:
    """Returns, for each row, whether it reports a leader, follows one, or was served by one."""
    is_request = pc.equal(table["direction"], "request")
    follows = pc.and_(is_request, pc.greater_equal(pc.fill_null(table["current_leader_epoch"], -1), 0))
    is_named = pc.or_(pc.is_valid(table["leader_id"]), pc.is_valid(table["current_leader_id"]))
    is_served = pc.equal(pc.fill_null(table["error_code"], -1), 0)
    return pc.or_(follows, pc.and_(pc.invert(is_request), pc.or_(is_named, is_served)))


NO_PACKETS = Packets()
