"""The input of a report: files, times, packets, how much of the streams was decoded, and the connections' protocols."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from kafkascope_analyzer.dataset.capture_time import since_start
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import CAPTURES
from kafkascope_analyzer.report.formatting import absolute, count, span
from kafkascope_analyzer.report.model.restricted import Restricted, restricted_to
from kafkascope_analyzer.report.rows import read, select
from kafkascope_analyzer.sql.database import Database


@dataclass(frozen=True, slots=True)
class FileRead(Row):
    """A capture file that was read."""

    TABLE: ClassVar[Table] = CAPTURES
    path: str | None
    format: str | None
    linktype: str | None
    snaplen: int | None
    n_packets: int | None
    n_truncated: int | None
    n_dropped: int | None
    n_duplicates: int | None
    size_bytes: int | None
    cut_at_byte: int | None
    cut_why: str | None
    unread_bytes: int | None
    n_wrong_times: int | None
    n_leaps: int | None
    first_ns: int | None
    last_ns: int | None
    capture_point: str | None
    clock_reference: str | None
    clock_kind: str | None
    clock_ahead_ns: int | None
    clock_uncertainty_ns: int | None


@dataclass(frozen=True, slots=True)
class UncoveredTime:
    """A span of time that no file covers."""

    from_ns: Annotated[int, "last packet before it"]
    to_ns: Annotated[int, "first packet after it"]
    text: Annotated[str, "both times after the capture's start, as text"]


@dataclass(frozen=True, slots=True)
class OfCluster:
    """The cluster that a report is about, where the dataset has several."""

    cluster: Annotated[str, "name of the cluster in all tables"]
    number: Annotated[int, "its number among the dataset's clusters, by name, from 1"]
    n_clusters: Annotated[int, "clusters of the dataset"]

    @property
    def place(self) -> str:
        """The position of the cluster among all clusters: `1 of 2`."""
        return f"{self.number:,} of {self.n_clusters:,}"


@dataclass(frozen=True, slots=True)
class ByteTotals:
    """The bytes of the streams by what became of them: decoded, undecoded, missing, other protocols."""

    stream_bytes: Annotated[int, "bytes of all TCP directions: decoded_bytes + undecoded_bytes"]
    decoded_bytes: Annotated[int, "bytes in decoded frames"]
    undecoded_bytes: Annotated[int, "bytes that did not decode; `unread` says why"]
    missing_bytes: Annotated[int, "bytes that the capture lacks"]
    tls_bytes: Annotated[int, "TLS overhead of decrypted data, which is part of undecoded_bytes"]
    zookeeper_bytes: Annotated[int, "bytes of ZooKeeper's protocol, which are part of undecoded_bytes"]

    @property
    def kafka_bytes(self) -> int:
        """Stream bytes that may belong to Kafka."""
        return self.stream_bytes - self.tls_bytes - self.zookeeper_bytes


@dataclass(frozen=True, slots=True)
class Capture:
    """Input files, times and packets of the capture. They are those of the whole capture, also where the report is
    about one of its clusters; the bytes of the streams are the cluster's."""

    files: Annotated[tuple[FileRead, ...], "the files read, in order"]
    start_ns: Annotated[int | None, "first packet"]
    end_ns: Annotated[int | None, "last packet"]
    start: Annotated[str | None, "first packet, as text (UTC)"]
    duration_us: Annotated[int | None, "first to last packet"]
    n_packets: Annotated[int, "packets"]
    n_truncated: Annotated[int, "packets that the snap length cut"]
    n_duplicates: Annotated[int, "copies of packets"]
    n_dropped: Annotated[int | None, "packets that the capturing program dropped; null where no file has the count"]
    uncovered: Annotated[tuple[UncoveredTime, ...], "times between the files that none of them covers"]
    ledger: Annotated[
        ByteTotals | None,
        "bytes of the streams by what became of them; null where the report is restricted to parts of connections",
    ]
    of_cluster: Annotated[
        OfCluster | None, "the one cluster that the report is about; null where it is about the whole capture"
    ]
    restricted_to: Annotated[Restricted | None, "restriction of the report; null without one"]

    @property
    def begin_ns(self) -> int:
        """Time of the first packet, ns; 0 where there is none."""
        return self.start_ns or 0

    @property
    def packets(self) -> str:
        """The number of packets in words."""
        return count(self.n_packets, "packet") + (
            " in the whole capture" if self.of_cluster or self.restricted_to else ""
        )


@dataclass(frozen=True, slots=True)
class ProtocolCount:
    """Connections that speak a protocol."""

    protocol: Annotated[str | None, "their protocol"]
    n: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class CloseCount:
    """Connections by how they ended."""

    close_kind: Annotated[str | None, "how the connections ended"]
    n: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class OpeningCount:
    """Connections by how their client was determined."""

    opened_by: Annotated[str | None, "how the client end was determined"]
    n: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class Connections:
    """The number of TCP connections, their protocols, and how they began and ended."""

    n: Annotated[int, "TCP connections"]
    by_protocol: Annotated[tuple[ProtocolCount, ...], "connections by protocol"]
    by_close: Annotated[tuple[CloseCount, ...], "connections by how they ended"]
    by_opening: Annotated[tuple[OpeningCount, ...], "connections by how their client was determined"]


_COUNTED = """
select {column}, count(*) as n from connections group by {column} order by n desc, coalesce({column}, 'None')
"""
_TOTALS = """
with sizes as (
    select coalesce(client_bytes, 0) + coalesce(server_bytes, 0) as seen, coalesce(undecoded_bytes, 0) as unread,
        coalesce(tls_bytes, 0) as tls, coalesce(missing_bytes, 0) as missing, protocol
    from connections
)
select coalesce(sum(seen), 0)::bigint as stream_bytes, coalesce(sum(seen - unread), 0)::bigint as decoded_bytes,
    coalesce(sum(unread), 0)::bigint as undecoded_bytes, coalesce(sum(missing), 0)::bigint as missing_bytes,
    coalesce(sum(tls), 0)::bigint as tls_bytes,
    coalesce(sum(seen) filter (protocol = 'zookeeper'), 0)::bigint as zookeeper_bytes
from sizes
"""


def capture(database: Database) -> Capture:
    """Returns files, times, packets, and how much of the streams was decoded."""
    files = tuple(read(database.dataset, FileRead))
    starts = [file.first_ns for file in files if file.first_ns is not None]
    ends = [file.last_ns for file in files if file.last_ns is not None]
    start_ns, end_ns = (min(starts), max(ends)) if starts and ends else (None, None)
    dropped = [file.n_dropped for file in files if file.n_dropped is not None]
    return Capture(
        files=files,
        start_ns=start_ns,
        end_ns=end_ns,
        start=None if start_ns is None else absolute(start_ns),
        duration_us=None if start_ns is None or end_ns is None else (end_ns - start_ns) // 1000,
        n_packets=sum(file.n_packets or 0 for file in files),
        n_truncated=sum(file.n_truncated or 0 for file in files),
        n_duplicates=sum(file.n_duplicates or 0 for file in files),
        n_dropped=sum(dropped) if dropped else None,
        uncovered=tuple(_uncovered_time(time, start_ns or 0) for time in database.dataset.manifest.uncovered.times),
        ledger=byte_totals(database) if database.dataset.has_whole_connections else None,
        of_cluster=of_cluster(database.dataset),
        restricted_to=restricted_to(database.dataset, start_ns or 0),
    )


def of_cluster(dataset: Dataset) -> OfCluster | None:
    """Returns the cluster whose rows are read, where the dataset has several clusters; None where all are read."""
    clusters = () if dataset.cluster is None else dataset.whole.clusters
    if dataset.cluster is None or len(clusters) < 2:
        return None
    return OfCluster(dataset.cluster, clusters.index(dataset.cluster) + 1, len(clusters))


def _uncovered_time(time: tuple[int, int], start_ns: int) -> UncoveredTime:
    begin, end = time
    when = f"{since_start(begin - start_ns)} to {since_start(end - start_ns)}"
    return UncoveredTime(begin, end, f"not captured from {when} ({span((end - begin) // 1000)})")


def byte_totals(database: Database) -> ByteTotals:
    """Returns the bytes of all connections. Bytes of ZooKeeper's protocol are counted apart, because they are not
    expected to decode as Kafka."""
    return select(database, _TOTALS, ByteTotals)[0]


def connections(database: Database) -> Connections:
    """Returns the number of connections, their protocols, and how they began and ended, the most frequent first."""
    by_protocol = select(database, _COUNTED.format(column="protocol"), ProtocolCount)
    return Connections(
        n=sum(row.n for row in by_protocol),
        by_protocol=tuple(by_protocol),
        by_close=tuple(select(database, _COUNTED.format(column="close_kind"), CloseCount)),
        by_opening=tuple(select(database, _COUNTED.format(column="opened_by"), OpeningCount)),
    )
