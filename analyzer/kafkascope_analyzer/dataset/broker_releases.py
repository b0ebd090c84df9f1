"""The release of Kafka that each broker ran over time, and how the cluster keeps its metadata: ZooKeeper, KRaft, or a
migration between them.

The versions that an address offered (ApiVersions) show its release at that time. Of several listeners of a broker, the
one with the most precise offer counts; listeners of controllers offer few APIs. After a restart a broker may have no
client that requests its versions for a long time, but with KRaft it opens a connection to the controller at once and
sends its release there: that counts for a release that it offered to no client. Memory grows with the brokers and their
offers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.addresses import address
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_parsers.broker_clients import BROKER_CLIENT_ID, broker_of
from kafkascope_parsers.broker_release import (
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    BrokerRelease,
    named_release,
    parse_offer,
    release_of,
)

MIGRATION = "migration from ZooKeeper to KRaft"
_BY = "by what the brokers offer (ApiVersions)"
_SEPARATOR = ","
_FROM_CONTROLLER_TO_BROKERS = (
    "messages/LeaderAndIsr/request",
    "messages/UpdateMetadata/request",
    "messages/StopReplica/request",
)
"""Messages in which a controller announces leaders to brokers that use ZooKeeper."""
_OF_MIGRATION = (
    *((message, "is_k_raft_controller") for message in _FROM_CONTROLLER_TO_BROKERS),
    ("messages/BrokerRegistration/request", "is_migrating_zk_broker"),
    ("messages/ControllerRegistration/request", "zk_migration_ready"),
    ("messages/ApiVersions/response", "zk_migration_ready"),
)
"""Messages and their fields that are true only while a cluster migrates to KRaft (KIP-866, Kafka 3.4 to 3.9): a KRaft
controller that still announces leaders to brokers with ZooKeeper, such a broker that registers with it, and a
controller that has zookeeper.metadata.migration.enable set."""


@dataclass(frozen=True, slots=True)
class ReleaseSpan:
    """A span of time in which a broker had one release, from first_ns (the first connection that shows it) to last_ns
    (the last one)."""

    node_id: int | None
    address: str
    release: BrokerRelease
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class ClusterReleases:
    """spans: by node and time. mode: ZOOKEEPER_MODE, KRAFT_MODE, MIGRATION, or None where nothing shows it."""

    spans: tuple[ReleaseSpan, ...]
    mode: str | None

    @property
    def sentence(self) -> str | None:
        """A sentence about how the cluster keeps its metadata and the releases of its brokers; None where nothing shows
        them."""
        latest = {span.node_id: span for span in self.spans}
        nodes: dict[str, list[str]] = {}
        for node_id, span in latest.items():
            nodes.setdefault(span.release.text, []).append("?" if node_id is None else str(node_id))
        mode = None if self.mode is None else self.mode if self.mode == MIGRATION else f"{self.mode} mode"
        kafka = None
        if len(nodes) == 1:
            kafka = f"Kafka {next(iter(nodes))} {_BY}"
        elif nodes:
            each = "; ".join(f"Kafka {release} on {_nodes(ids)}" for release, ids in sorted(nodes.items()))
            kafka = f"{each}, {_BY}"
        said = [part for part in (mode, kafka) if part]
        return ", ".join(said) if said else None

    def of_node(self, node_id: int) -> list[ReleaseSpan]:
        """Returns the node's releases by time."""
        return [span for span in self.spans if span.node_id == node_id]


def upgrades(spans: Sequence[ReleaseSpan]) -> Iterator[tuple[ReleaseSpan, ReleaseSpan]]:
    """Yields each change of a broker's release: the spans before and after. Spans that overlap are two processes of
    one node, and a release that is not known is none that a known one can differ from. spans: by node and time."""
    for before, after in pairwise(spans):
        is_known = bool(before.release.releases) == bool(after.release.releases)
        is_other = before.release != after.release and before.last_ns <= after.first_ns
        if before.node_id == after.node_id and is_known and is_other:
            yield before, after


def _nodes(ids: list[str]) -> str:
    return ("node " if len(ids) == 1 else "nodes ") + ", ".join(ids)


@cache
def _release(offered: str) -> BrokerRelease:
    return release_of(parse_offer(offered.split(_SEPARATOR)))


def cluster_releases(dataset: Dataset) -> ClusterReleases:
    """Returns the releases of a capture's brokers, and the mode. Raises UsageError where a table cannot be read."""
    spans = release_spans(dataset)
    return ClusterReleases(spans, _mode(dataset, spans))


def release_spans(dataset: Dataset) -> tuple[ReleaseSpan, ...]:
    """Returns the releases of a capture's brokers, by node and time. Raises UsageError where a table cannot be read."""
    by_address: dict[tuple[int | None, str], list[ReleaseSpan]] = {}
    for span in sorted(_spans(dataset), key=lambda span: (span.first_ns, span.address)):
        known = by_address.setdefault((span.node_id, span.address), [])
        if known and known[-1].release == span.release:
            last_ns = max(known[-1].last_ns, span.last_ns)
            known[-1] = ReleaseSpan(span.node_id, span.address, span.release, known[-1].first_ns, last_ns)
        else:
            known.append(span)
    chosen: dict[object, list[ReleaseSpan]] = {}
    for (node_id, place), spans in sorted(by_address.items(), key=lambda item: item[0][1]):
        key = place if node_id is None else node_id
        if key not in chosen or _precision(spans) < _precision(chosen[key]):
            chosen[key] = spans
    for span in _named_spans(dataset):
        known = chosen.setdefault(span.node_id, [])
        if not any(set(span.release.releases) <= set(other.release.releases) for other in known):
            known.append(span)
            known.sort(key=lambda span: span.first_ns)
    ordered = sorted(chosen.values(), key=lambda spans: (spans[0].node_id is None, spans[0].node_id, spans[0].address))
    return tuple(span for spans in ordered for span in spans)


def _precision(spans: list[ReleaseSpan]) -> int:
    """Returns how many releases the first offer leaves open; no offer is the least precise."""
    return len(spans[0].release.releases) or 1000


def _spans(dataset: Dataset) -> Iterator[ReleaseSpan]:
    """Yields the offers of each address on the connections of a batch, as spans."""
    columns = ["node_id", "server_ip", "server_port", "api_versions_offered", "first_ns"]
    for batch in scan(dataset, CONNECTIONS, columns):
        offered = pc.binary_join(batch.column("api_versions_offered"), _SEPARATOR)
        table = pa.Table.from_batches([batch]).drop_columns(["api_versions_offered"]).append_column("offer", offered)
        grouped = table.filter(pc.is_valid(table["offer"])).group_by([*columns[:3], "offer"], use_threads=False)
        for row in grouped.aggregate([("first_ns", "min"), ("first_ns", "max")]).to_pylist():
            where = address(row["server_ip"], row["server_port"]) or ""
            times = row["first_ns_min"], row["first_ns_max"]
            yield ReleaseSpan(row["node_id"], where, _release(row["offer"]), *times)


def _named_spans(dataset: Dataset) -> Iterator[ReleaseSpan]:
    """Yields the versions that brokers sent on connections that they opened themselves, as spans."""
    columns = ["client_ids", "client_ip", "software_version", "first_ns"]
    for batch in scan(dataset, CONNECTIONS, columns):
        clients = pc.binary_join(batch.column("client_ids"), _SEPARATOR)
        of_brokers = pc.match_substring_regex(clients, f"^({BROKER_CLIENT_ID.pattern})$")
        table = pa.Table.from_batches([batch]).drop_columns(["client_ids"]).append_column("client", clients)
        named = table.filter(pc.and_(of_brokers, pc.is_valid(table["software_version"])))
        grouped = named.group_by(["client", "client_ip", "software_version"], use_threads=False)
        for row in grouped.aggregate([("first_ns", "min"), ("first_ns", "max")]).to_pylist():
            release = named_release(row["software_version"])
            times = row["first_ns_min"], row["first_ns_max"]
            if release.releases:
                yield ReleaseSpan(broker_of(row["client"]), row["client_ip"], release, *times)


def _mode(dataset: Dataset, spans: tuple[ReleaseSpan, ...]) -> str | None:
    if any(any(_values(dataset, message, flag)) for message, flag in _OF_MIGRATION):
        return MIGRATION
    modes = {span.release.mode for span in spans} - {None}
    if ZOOKEEPER_MODE in modes or any(dataset.rows(message) for message in _FROM_CONTROLLER_TO_BROKERS):
        return ZOOKEEPER_MODE
    return KRAFT_MODE if modes else None


def _values(dataset: Dataset, message: str, field: str) -> Iterator[bool | None]:
    """Yields the distinct values of a field of a message; none where the capture has no such message."""
    if dataset.rows(message) and field in dataset.arrow(message).schema.names:
        for batch in dataset.batches(message, [field]):
            yield from pc.unique(batch.column(field)).to_pylist()
