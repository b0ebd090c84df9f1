"""What was read: files, times, packets, how much of the streams was decoded, and what the connections speak."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from kafkascope_analyzer.dataset.capture_time import since_start
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import CAPTURES
from kafkascope_analyzer.report.formatting import absolute, span
from kafkascope_analyzer.report.rows import read, select
from kafkascope_analyzer.sql.database import Database


@dataclass(frozen=True, slots=True)
class FileRead(Row):
    """A file that was read."""

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
    """A time that no file covers."""

    from_ns: Annotated[int, "last packet before it"]
    to_ns: Annotated[int, "first packet after it"]
    text: Annotated[str, "the same for people, since the capture's start"]


@dataclass(frozen=True, slots=True)
class ByteTotals:
    """Where the bytes of the streams went."""

    stream_bytes: Annotated[int, "bytes of all TCP directions: decoded_bytes + undecoded_bytes"]
    decoded_bytes: Annotated[int, "bytes in decoded frames"]
    undecoded_bytes: Annotated[int, "bytes that did not decode; `unread` says why"]
    missing_bytes: Annotated[int, "bytes that the capture lacks"]
    zookeeper_bytes: Annotated[int, "bytes of ZooKeeper's protocol, which are among undecoded_bytes"]

    @property
    def kafka_bytes(self) -> int:
        """Stream bytes that may be Kafka's."""
        return self.stream_bytes - self.zookeeper_bytes


@dataclass(frozen=True, slots=True)
class Capture:
    """What was read."""

    files: Annotated[tuple[FileRead, ...], "the files read, in order"]
    start_ns: Annotated[int | None, "first packet"]
    end_ns: Annotated[int | None, "last packet"]
    start: Annotated[str | None, "first packet, for people (UTC)"]
    duration_us: Annotated[int | None, "first to last packet"]
    n_packets: Annotated[int, "packets"]
    n_truncated: Annotated[int, "packets that the snap length cut"]
    n_duplicates: Annotated[int, "packets that show another once more"]
    n_dropped: Annotated[int | None, "packets that the capturing program dropped; null where no file says it"]
    uncovered: Annotated[tuple[UncoveredTime, ...], "times between the files that none of them covers"]
    ledger: Annotated[ByteTotals, "where the bytes of the streams went"]

    @property
    def begin_ns(self) -> int:
        """The first packet; 0 where there is none."""
        return self.start_ns or 0


@dataclass(frozen=True, slots=True)
class ProtocolCount:
    """Connections that speak a protocol."""

    protocol: Annotated[str | None, "what they speak"]
    n: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class CloseCount:
    """Connections that ended in one way."""

    close_kind: Annotated[str | None, "how they ended"]
    n: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class OpeningCount:
    """Connections whose client was known in one way."""

    opened_by: Annotated[str | None, "what showed which end is the client"]
    n: Annotated[int, "how many"]


@dataclass(frozen=True, slots=True)
class Connections:
    """How many TCP connections there are, what they speak, how they began and ended."""

    n: Annotated[int, "TCP connections"]
    by_protocol: Annotated[tuple[ProtocolCount, ...], "what they speak"]
    by_close: Annotated[tuple[CloseCount, ...], "how they ended"]
    by_opening: Annotated[tuple[OpeningCount, ...], "what showed which end is the client"]


_COUNTED = """
select {column}, count(*) as n from connections group by {column} order by n desc, coalesce({column}, 'None')
"""
_ZOOKEEPER = """
select coalesce(sum(coalesce(client_bytes, 0) + coalesce(server_bytes, 0)), 0)::bigint from connections
where protocol = 'zookeeper'
"""


def capture(database: Database) -> Capture:
    """Files, times, packets, and how much of the streams was decoded."""
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
        ledger=byte_totals(database),
    )


def _uncovered_time(time: tuple[int, int], start_ns: int) -> UncoveredTime:
    begin, end = time
    when = f"{since_start(begin - start_ns)} to {since_start(end - start_ns)}"
    return UncoveredTime(begin, end, f"not captured from {when} ({span((end - begin) // 1000)})")


def byte_totals(database: Database) -> ByteTotals:
    """The manifest's ledger, with the bytes of ZooKeeper's protocol, which nobody expects to be decoded as Kafka."""
    totals = database.dataset.manifest.ledger
    ((zookeeper_bytes,),) = database.query(_ZOOKEEPER)[1]
    return ByteTotals(
        stream_bytes=totals.get("stream_bytes", 0),
        decoded_bytes=totals.get("decoded_bytes", 0),
        undecoded_bytes=totals.get("undecoded_bytes", 0),
        missing_bytes=totals.get("missing_bytes", 0),
        zookeeper_bytes=zookeeper_bytes,
    )


def connections(database: Database) -> Connections:
    """How many connections, what they speak, how they began and ended, the most frequent first."""
    by_protocol = select(database, _COUNTED.format(column="protocol"), ProtocolCount)
    return Connections(
        n=sum(row.n for row in by_protocol),
        by_protocol=tuple(by_protocol),
        by_close=tuple(select(database, _COUNTED.format(column="close_kind"), CloseCount)),
        by_opening=tuple(select(database, _COUNTED.format(column="opened_by"), OpeningCount)),
    )
